#!/bin/sh
# levels.sh FOLDER: every FOLDER/*-ir/*.mlir prints as it was read, and stock mlir-opt takes it
# with FOLDER/zb.irdl.mlir.
set -eu
count=0
for file in "$1"/*-ir/*.mlir; do
  zb-opt --no-verify "$file" >"$1/again.mlir"
  cmp "$file" "$1/again.mlir"
  mlir-opt-22 "--irdl-file=$1/zb.irdl.mlir" "$file" >"$1/stock.mlir" || { echo "mlir-opt refuses $file"; exit 1; }
  count=$((count + 1))
done
echo "$count programs"

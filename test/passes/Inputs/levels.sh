#!/bin/sh
# levels.sh FOLDER: every FOLDER/*-ir/*.mlir prints as it was read (with an empty line behind it), and stock mlir-opt
# prints the same with FOLDER/zb.irdl.mlir.
set -eu
count=0
for file in "$1"/*-ir/*.mlir; do
  zb-opt --no-verify "$file" >"$1/again.mlir"
  { cat "$file"; echo; } | cmp - "$1/again.mlir"
  mlir-opt-22 "--irdl-file=$1/zb.irdl.mlir" "$file" >"$1/stock.mlir" || { echo "mlir-opt refuses $file"; exit 1; }
  cmp "$1/again.mlir" "$1/stock.mlir"
  count=$((count + 1))
done
echo "$count programs"

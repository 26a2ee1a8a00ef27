#!/bin/sh
# usage: same_losses.sh FOLDER CORPUS NAME...: trains loss/program.mlir with the end loss/NAME.txt on 1 and 2
# ranks; all print the same losses.
set -eu
programs=$(dirname "$0")/loss folder=$1 corpus=$2
shift 2
for name in "$@"; do
  sed -e "/LOSS/{r $programs/$name.txt" -e 'd;}' "$programs/program.mlir" >"$folder/$name.mlir"
  for ranks in 1 2; do
    zbc "$folder/$name.mlir" -o "$folder/$name.$ranks" --ranks $ranks --micro-batches 3 --schedule zb-h1 >"$folder/log"
    zb-run "$folder/$name.$ranks" --data "text:$corpus" --steps 3 --json >"$folder/log"
    sed -n 's/.*"loss":\([-+.0-9e]*\),.*/\1/p' "$folder/log" >"$folder/$name.$ranks.losses"
    [ "$(wc -l <"$folder/$name.$ranks.losses")" = 3 ]
    cmp "$folder/$1.1.losses" "$folder/$name.$ranks.losses"
  done
done

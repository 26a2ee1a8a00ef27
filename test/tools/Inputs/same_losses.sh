#!/bin/sh
# usage: same_losses.sh FOLDER CORPUS NAME...: trains FOLDER/NAME.mlir on 1 and 2 ranks; all print the same losses.
set -eu
folder=$1 corpus=$2
shift 2
for name in "$@"; do
  for ranks in 1 2; do
    zbc "$folder/$name.mlir" -o "$folder/$name.$ranks" --ranks $ranks --micro-batches 3 --schedule zb-h1 >"$folder/log"
    zb-run "$folder/$name.$ranks" --data "text:$corpus" --steps 3 --json >"$folder/log"
    sed -n 's/.*"loss":\([-+.0-9e]*\),.*/\1/p' "$folder/log" >"$folder/$name.$ranks.losses"
    [ "$(wc -l <"$folder/$name.$ranks.losses")" = 3 ]
    cmp "$folder/$1.1.losses" "$folder/$name.$ranks.losses"
  done
done

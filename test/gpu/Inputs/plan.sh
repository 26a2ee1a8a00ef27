# usage: plan.sh GPU_PY FOLDER: writes a small plan to FOLDER/thin without its weights, and
# that with weights to FOLDER/whole.
set -eu
bin=$(dirname "$(command -v zb-run)")
python3 "$1" --bin "$bin" --write-plan "$2/thin" --thin --layers 1 --dim 32 --heads 2 --seq 32 \
  --vocab 256 --batch 1 --micro-batches 2 --precision f32
python3 "$1" --bin "$bin" --plan "$2/thin" --write-plan "$2/whole"

#!/bin/sh
# Step times against PyTorch (eager and compiled, 2 threads) on GPT-2, Llama and a larger
# GPT-2: a table a graph with ratios.
#   step.sh [options of step.py, for example --steps 5 --rounds 1 --graphs gpt2]
# ZB_PYTHON: a Python with torch and transformers (default python3). ZB_CACHE: where exported graphs are kept (default:
# the user's cache folder). ZB_BIN: programs (default build/bin). Needs a quiet machine.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${ZB_PYTHON:-python3}
cache=${ZB_CACHE:-"${XDG_CACHE_HOME:-"$HOME/.cache"}/zb-bench"}
bin=${ZB_BIN:-"$here/../../build/bin"}
mkdir -p "$cache"
"$python" "$here/step.py" --list --cache "$cache" "$@" | while read -r family path options; do
  [ -f "$path" ] && continue
  # shellcheck disable=SC2086 # options are words
  "$python" "$here/../../tools/export_onnx.py" "$family" "$path" $options
done
exec "$python" "$here/step.py" --cache "$cache" --bin "$bin" --python "$python" "$@"

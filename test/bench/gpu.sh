#!/bin/sh
# GPT-2 124M in bf16 on one GPU: zb-run beside PyTorch eager and torch.compile, in one run;
# without a GPU what can be run there.
#   gpu.sh [options of gpu.py, for example --steps 20 --batch 16 --ranks 4]
# ZB_PYTHON: a Python with torch and transformers (default python3). ZB_BIN: programs (default build/bin). Prints a
# table; on a GPU machine keep it under test/gpu/results with card, driver and date.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/gpu.py" --bin "${ZB_BIN:-"$here/../../build/bin"}" --python "${ZB_PYTHON:-python3}" "$@"

#!/bin/sh
# Trains the full-size GPT-2 and Llama graphs for 50 steps and compares losses and gradient norms with PyTorch's, and
# GPT-2 in bf16 with PyTorch's autocast.
#   pytorch.sh [FOLDER of gpt2.onnx llama.onnx *.reference.json corpus.txt] [BUILD/bin]
# Takes minutes; prints a table and PASS or FAIL, and exits 1 on FAIL.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
graphs=${1:-"$here/../../../shared/graphs"}
bin=${2:-"${ZB_BIN:-"$here/../../build/bin"}"}
if [ ! -f "$graphs/gpt2.onnx" ]; then
  echo "error: no gpt2.onnx in '$graphs'" >&2
  echo "  hint: pytorch.sh FOLDER, or make them with tools/export_onnx.py and tools/reference.py" >&2
  exit 2
fi
python3 "$here/reference.py" --graphs "$graphs" --steps 50 --bin "$bin"
exec python3 "$here/precision.py" --graphs "$graphs" --bin "$bin"

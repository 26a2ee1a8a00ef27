#!/bin/sh
# Everything that needs a GPU, and its benchmark; what it prints is kept as test/gpu/results/CARD-DATE.txt with card, driver and date.
#   run.sh [options of run.py]     exit status 77, and nothing kept: there is no GPU, or zb was built without what it needs
# ZB_PYTHON: a Python with torch and transformers for the benchmark (default python3).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
card=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1 || true)
[ -n "$card" ] || { echo "SKIP: nvidia-smi finds no GPU on this machine"; exit 77; }
mkdir -p "$here/results"
file="$here/results/$(echo "$card" | tr -s ' ,/' '-')-$(date -u +%Y-%m-%d).txt"
status=0
{
  echo "card, driver: $card"
  echo "date: $(date -u +%Y-%m-%dT%H:%MZ), commit $(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)"
  python3 "$here/run.py" "$@" || echo "exit status $?"
} 2>&1 | tee "$file.part"
grep -q '^exit status' "$file.part" && status=1
mv "$file.part" "$file"
echo "kept in $file"
exit $status

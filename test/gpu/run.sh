#!/bin/sh
# Everything that needs a GPU, and its benchmark; what it prints is kept as test/gpu/results/CARD-DATE.txt with card, driver and date.
#   run.sh [options of run.py]     exit status that of run.py: 0 all is well, 1 a check failed (kept too);
#                                  77, and nothing kept: there is no GPU, or zb was built without what it needs
# ZB_PYTHON: a Python with torch and transformers for the benchmark (default python3). ZB_RESULTS: a folder instead of test/gpu/results.
# Test: test/gpu/run.test.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
results=${ZB_RESULTS:-"$here/results"}
card=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1 || true)
[ -n "$card" ] || { echo "SKIP: nvidia-smi finds no GPU on this machine"; exit 77; }
part=$(mktemp -d)
trap 'rm -rf "$part"' EXIT
trap 'exit 130' INT TERM
{
  echo "card, driver: $card"
  echo "date: $(date -u +%Y-%m-%dT%H:%MZ), commit $(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)"
  status=0
  python3 "$here/run.py" "$@" || status=$?
  echo "exit status $status"
  echo "$status" >"$part/status"
} 2>&1 | tee "$part/text"
status=$(cat "$part/status")
[ "$status" -ne 77 ] || exit 77
mkdir -p "$results"
file="$results/$(echo "$card" | tr -s ' ,/' '-')-$(date -u +%Y-%m-%d).txt"
mv "$part/text" "$file"
echo "kept in $file"
exit "$status"

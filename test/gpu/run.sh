#!/bin/sh
# Everything that needs a GPU, and its benchmark. What it prints is added to test/gpu/results/CARD-DRIVER-DATE.txt as it
# comes, so a run that is cut short keeps it; the .log beside it gets every command with all that it said.
#   run.sh [--part NAME] [options of run.py: --help]
#     exit status that of run.py: 0 all is well, 1 a check failed (kept too);
#     77, and nothing kept: there is no GPU, or zb was built without what it needs
# ZB_PYTHON: a Python with torch and transformers for the benchmark (default python3). ZB_RESULTS: a folder instead of
# test/gpu/results. Test: test/gpu/run.test.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
results=${ZB_RESULTS:-"$here/results"}
card=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1 || true)
[ -n "$card" ] || { echo "SKIP: nvidia-smi finds no GPU on this machine"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$results"
kept="$results/$(echo "$card" | tr -s ' ,/' '-')-$(date -u +%Y-%m-%d)"
touch "$kept.txt" "$kept.log"
before=$(wc -c <"$kept.txt")
{
  echo "card, driver: $card"
  echo "date: $(date -u +%Y-%m-%dT%H:%MZ), commit $(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)"
  status=0
  python3 -u "$here/run.py" --log "$kept.log" "$@" || status=$?
  echo "exit status $status"
  echo "$status" >"$folder/status"
} 2>&1 | sed -u 's/ *$//' | tee -a "$kept.txt"
status=$(cat "$folder/status")
if [ "$status" -eq 77 ]; then
  truncate -s "$before" "$kept.txt"
  find "$kept.txt" "$kept.log" -empty -delete
  exit 77
fi
echo "kept in $kept.txt, commands in $kept.log"
exit "$status"

#!/bin/sh
# Draws tools/pictures: schedules.svg, the picture in docs/schedules.md and passes/schedule/README.md, schedules on one
# scale of time and of memory; and zb-h1.svg, the step of the quickstart's plan on a virtual clock, that of README.md
# and docs/parallelism.md. The other pictures there are drawn by hand.
#
# usage: tools/draw-schedules.sh [BUILD]      (build)
#
# The setting is the 1.5B one of Zero Bubble (arXiv 2401.10241, table 5): 8 ranks, 24 micro-batches, times in ms; of a
# micro-batch's memory 0.366 stay until W. The searched order may hold 1.25 times the memory of 1F1B. Tooltips, which a
# README does not show, are left out.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-"$root/build"}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build/bin/zb-sched" --ranks 8 --micro-batches 24 --compare zb-h1,zb-v,dualpipev,search --memory-limit 1.25p \
  --costs f=18.522,b=18.086,w=9.337,comm=0.601,mem_w=0.366 --timeline "$work/schedules.svg"
"$build/bin/zbc" "$root/test/data/gpt2.onnx" --ranks 4 --micro-batches 8 --schedule zb-h1 \
  --timeline "$work/zb-h1.svg" >"$work/zb-h1.txt"
for picture in schedules zb-h1; do
  sed 's|<title>[^<]*</title>||g; s|></rect>|/>|' "$work/$picture.svg" >"$root/tools/pictures/$picture.svg"
done

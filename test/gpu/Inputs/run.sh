# usage: run.sh RUN_SH FOLDER: starts it behind an nvidia-smi that names a card; what it prints, its exit
# status, and how many files it kept.
set -eu
program=$1 folder=$2
mkdir -p "$folder/card" "$folder/none" "$folder/build"
printf '#!/bin/sh\necho "Test Card 1, 100.1"\n' >"$folder/card/nvidia-smi"
printf '#!/bin/sh\nexit 9\n' >"$folder/none/nvidia-smi"
chmod +x "$folder"/*/nvidia-smi
ln -s "$(dirname "$(command -v zb-run)")" "$folder/build/bin"

# try WHAT SMI OPTIONS...
try() {
  what=$1 smi=$2 status=0
  shift 2
  PATH="$folder/$smi:$PATH" ZB_RESULTS="$folder/results" \
    sh "$program" --build "$folder/build" --no-bench "$@" >"$folder/said" 2>&1 || status=$?
  echo "$what: exit status $status, $(find "$folder/results" -name '*.txt' 2>/dev/null | wc -l) files kept"
}
try "a card without a device" card --device missing
try "no card" none --device cpu
try "a run that fails" card --device cpu --plans "$folder/no-plans" --part sizes
try "another part of the same day" card --device cpu --plans "$folder/no-plans" --part products --part sanitizer
cat "$folder"/results/*.txt

# The bytes that `zbc --schedule search` says are enough are at most the fewest of the placements that it
# tries (other cuts may need less), and they are enough: least_memory.sh MODEL OUT
set -u
model=$1 out=$2
search="--ranks 2 --micro-batches 3 --schedule search:budget=64"
enough() {
  zbc "$@" $search --memory-limit 1K -o "$out" 2>&1 | sed -n 's/.*hint: \([0-9]*\) bytes are enough.*/\1/p'
}
least=$(for layout in plain:1 v:2 looped:2 looped:4 wave:4; do
  enough "$model" --placement "${layout%:*}" --chunks "${layout#*:}"
done | sort -n | head -1)
open=$(enough "$model")
echo "of one placement at least $least, of all $open"
test -n "$least" && test -n "$open" && test "$open" -le "$least" &&
  zbc "$model" $search --memory-limit "$open" --cut-trials 1 -o "$out" > "$out.txt"

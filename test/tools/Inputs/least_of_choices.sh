# What a rule without an order within the limit says to be enough is, with --split auto and --recompute auto, the
# fewest bytes of what these can choose: least_of_choices.sh MODEL OUT
set -u
model=$1 out=$2
takes() {
  zbc "$model" -o "$out" --ranks 4 --micro-batches 6 --memory-limit 1K "$@" 2>&1 |
    sed -n 's/.*hint: \([0-9]*\) bytes are enough.*/\1/p'
}
least() {
  option=$1
  shift
  for choice in "$@"; do takes --schedule zb "$option" "$choice"; done | sort -n | head -1
}
splits=$(least --split all products none) split=$(takes --schedule zb --split auto)
agains=$(least --recompute none all) again=$(takes --schedule zb --recompute auto)
echo "of --split $splits, auto $split; of --recompute $agains, auto $again"
test -n "$splits" && test "$split" -le "$splits" && test -n "$agains" && test "$again" -le "$agains"

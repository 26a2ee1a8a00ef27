#!/bin/sh
# From a fresh clone to a training GPT-2: installs what is missing, builds, compiles a model for 4
# ranks, trains it, draws the step.
#
# usage: tools/quickstart.sh [STEPS]
#
# A second run starts in seconds: nothing is built or compiled again that did not change. Everything it writes is
# in build/ and out/quickstart/.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
steps=${1:-40}
case $steps in
  '' | *[!0-9]* | 0)
    echo "quickstart: error: STEPS must be a number of 1 or more, got '$steps'; usage: tools/quickstart.sh [STEPS]" >&2
    exit 2
    ;;
esac

say() { printf '\n== %s\n' "$*"; }

"$root/tools/install-packages.sh"

cd "$root"
say "Building (release preset, in build/)"
if ! [ -f build/build.ninja ]; then
  cmake --preset release >build.log 2>&1 || {
    cat build.log >&2
    exit 1
  }
  mv build.log build/configure.log
fi
quiet=
[ -t 1 ] || quiet=--quiet
ninja -C build $quiet

model=test/data/gpt2.onnx
plan=out/quickstart/gpt2
if [ "$plan/plan.zb" -nt "$model" ] && [ "$plan/plan.zb" -nt build/bin/zbc ]; then
  say "$plan is newer than the model and zbc: not compiled again"
else
  say "Compiling $model for 4 ranks and 8 micro-batches"
  mkdir -p out/quickstart
  (set -x; build/bin/zbc "$model" -o "$plan" --ranks 4 --micro-batches 8 --schedule zb-h1)
fi

say "Training it for $steps steps: 4 ranks, each a thread of this process"
(set -x; build/bin/zb-run "$plan" --data text:test/data/corpus.txt --steps "$steps" \
  --timeline out/quickstart/timeline.svg)

say "Done"
cat <<END
The last step, as it ran, is drawn in  $root/out/quickstart/timeline.svg  (open it in a browser).

In $root, try next:
  build/bin/zb-run $plan --data text:test/data/corpus.txt --steps 100 --save out/quickstart/checkpoint
  build/bin/zb-run $plan --data text:test/data/corpus.txt --steps 10 --resume out/quickstart/checkpoint
  build/bin/zb-run $plan --data text:test/data/corpus.txt --steps 1 --device sim --timeline out/quickstart/simulated.svg
  build/bin/zb-sched --ranks 4 --micro-batches 8 --schedule zb-h1 --chart
  build/bin/zbc --help
END

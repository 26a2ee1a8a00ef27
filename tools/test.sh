#!/bin/sh
# Builds zbc and runs every test that this machine can run. Ends with one line "N passed, N
# failed" and exits accordingly.
#
# usage: tools/test.sh [--fast] [--filter NAME] [--preset release|dev|asan|tsan] [--jobs N] [--verbose]
#                      [--cuda-architectures LIST] [--replay]
#
#   --fast           without the tests that test/left_out.txt calls slow
#   --filter NAME    only tests whose name contains NAME
#   --preset NAME    build and test in another configuration: asan and tsan use build-asan and build-tsan
#   --jobs N         tests at the same time (default: one a processor)
#   --verbose        also what passes, one line each
#   --cuda-architectures LIST
#                    compute capabilities that CUDA kernels get machine code for, "90" (default: as configured, else
#                    "80;90;100"); nvcc takes half of a build for three. PTX, for all others, is always there
#   --replay         each compile of zbc is done again by the choice that it wrote (zbc --choice-out, --choice): where
#                    that gives other bytes, a check has failed
#
# What is counted: each CUnit test function, each lit test, each check of the scripts in
# test/layers, tidy, headers, install.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
case " $* " in
  *' --help '* | *' -h '*)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac
"$root/tools/install-packages.sh" || {
  echo "0 passed, 1 failed"
  exit 1
}
exec python3 "$root/test/run.py" "$@"

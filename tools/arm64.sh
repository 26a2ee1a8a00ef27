#!/bin/sh
# Builds the programs for AArch64 on another machine, packs them, and runs a sample of the tests under qemu-user. Ends
# with one line "N passed, N failed".
#
# usage: tools/arm64.sh [--no-tests]
#
# The libraries (MLIR, jansson, protobuf-c, CUnit) are Debian's for arm64. They are downloaded with apt, about 90 MB,
# and unpacked in build-arm64/root: nothing is installed but the cross compiler and qemu-user. Everything that is
# written is in build-arm64/.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build-arm64
sysroot=$build/root
libraries="libmlir-22-dev llvm-22-dev libjansson4 libjansson-dev libprotobuf-c-dev libcunit1 libcunit1-dev"

"$root/tools/install-packages.sh" --arm64

# Lists and state of apt of their own: this machine stays one of its architecture.
fetch() {
  apt=$build/apt
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/packages"
  : >"$apt/status"
  options="-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Debug::NoLocking=1 -o APT::Sandbox::User=root
    -o Dir::State=$apt -o Dir::State::status=$apt/status -o Dir::Cache=$apt/cache"
  # Sources that have no arm64 are named here, and do not matter.
  apt-get $options update || true
  (cd "$apt/packages" && apt-get $options download $libraries)
  for package in "$apt"/packages/*.deb; do
    dpkg-deb -x "$package" "$sysroot"
  done
  rm -rf "$apt"
}

# LLVM's own CMake files insist on all that its build made, shared libraries and programs too: empty ones will do.
stand_in() {
  sed -n 's/.*"\${_IMPORT_PREFIX}\/\([^"$]*\)".*/\1/p' "$sysroot"/usr/lib/llvm-22/lib/cmake/*/*.cmake | sort -u |
    while read -r name; do
      file=$sysroot/usr/lib/llvm-22/$name
      [ -e "$file" ] || [ -d "$file" ] || { mkdir -p "$(dirname "$file")" && rm -f "$file" && : >"$file"; }
    done
}

[ -d "$sysroot/usr/lib/llvm-22" ] || { fetch && stand_in; }
ZB_SYSROOT=$sysroot cmake -G Ninja -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_TOOLCHAIN_FILE="$root/tools/install/aarch64.cmake" -DZB_PORTABLE=ON -DZB_CUDA=OFF -DZB_MPI=OFF \
  >"$build/configure.log" || {
  cat "$build/configure.log" >&2
  exit 1
}
ninja -C "$build" ${CI:+--quiet} zb-package zb-wheel
(cd "$build" && cpack >pack.log) || {
  cat "$build/pack.log" >&2
  exit 1
}
[ "${1:-}" = --no-tests ] || exec python3 "$root/test/install/emulated.py" "$build"

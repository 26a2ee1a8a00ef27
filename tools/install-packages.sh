#!/bin/sh
# Installs the packages that zbc is built and tested with. Does nothing, quickly, when all are there.
#
# usage: tools/install-packages.sh [--list | --arm64]
#
# Debian 12 (bookworm) with LLVM's packages of version 22. Uses sudo when it is not root.
# quickstart.sh and test.sh call it. --arm64: also what tools/arm64.sh needs.
set -eu

# compiler and build (g++ for libstdc++, which MLIR needs); MLIR; libraries; MPI; tests
packages="gcc g++ cmake ninja-build pkg-config
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools
  libprotobuf-c-dev protobuf-c-compiler libjansson-dev
  libopenmpi-dev openmpi-bin
  libcunit1-dev python3 iproute2 clang-format-22 libonnx-testdata"

if [ "${1:-}" = --list ]; then
  echo $packages
  exit 0
fi
# The cross compiler; AArch64 programs on another machine.
[ "${1:-}" != --arm64 ] || packages="$packages gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user"

fail() {
  echo "install-packages: error: $1" >&2
  echo "hint: $2" >&2
  exit 1
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  fail "this system has no apt-get, so packages cannot be installed" \
    "install by hand, or use a Debian 12 container: $(echo $packages)"
fi

missing=
for package in $packages; do
  case $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true) in
    installed) ;;
    *) missing="$missing $package" ;;
  esac
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || fail "these packages are missing, and only root can install them:$missing" \
    "run as root: apt-get install --no-install-recommends$missing"
  as_root="sudo"
fi

echo "installing:$missing"
$as_root apt-get -qq update ||
  echo "install-packages: apt-get update failed; going on with the package lists that are here" >&2
unknown=
for package in $missing; do
  case $(apt-cache policy "$package" 2>/dev/null | sed -n 's/^ *Candidate: *//p') in
    '' | '(none)') unknown="$unknown $package" ;;
  esac
done
if [ -n "$unknown" ]; then
  fail "the package sources of this machine do not have:$unknown" \
    "zbc needs Debian 12 and, for names with 22, LLVM's packages of version 22. As root:
        wget -qO /etc/apt/trusted.gpg.d/apt.llvm.org.asc https://apt.llvm.org/llvm-snapshot.gpg.key
        echo 'deb http://apt.llvm.org/bookworm/ llvm-toolchain-bookworm-22 main' > /etc/apt/sources.list.d/llvm.list
      then start this again."
fi
$as_root env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes apt-get -qq -y -o Dpkg::Use-Pty=0 install \
  --no-install-recommends $missing >/dev/null ||
  fail "apt-get could not install:$missing" "its own message is above; run 'apt-get -f install', then start this again"

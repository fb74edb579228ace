#!/usr/bin/env bash
# Builds AWS's C runtime into build/deps/crt, unless it is there already. About half a minute.
# With the argument `thread`: for ThreadSanitizer, into build/deps/crt-thread. (Without it the
# sanitizer does not see the runtime's atomics, and takes what they order for races.)
#
# The sources are those that AWS ships inside its Python package awscrt, pinned by their hash. The
# libraries take the system's OpenSSL; the copy of one that the package carries is not unpacked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=0.38.1
sha256=0dcebfaa70cf079133cd2352119e3d05e9b8ca1d1621736cfb54c03f3d5fef0f
flavour=${1:-}
prefix=$PWD/build/deps/crt${flavour:+-$flavour}
if [ "$flavour" = thread ]; then
  export CC=clang-19 CFLAGS='-fsanitize=thread -g1' LDFLAGS=-fsanitize=thread
fi

download() { # INTO
  echo "awscrt==$version --hash=sha256:$sha256" >"$1/requirements.txt"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
    --require-hashes -r "$1/requirements.txt" -d "$1"
  tar xzf "$1/awscrt-$version.tar.gz" -C "$1" --exclude='*/crt/aws-lc/*'
}

build() { # WORK
  cmake -S tools/crt -B "$1/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$1/prefix" -DCRT="$1/awscrt-$version/crt" &&
    cmake --build "$1/build" --target install
}

[ "$(cat "$prefix/weir-stamp" 2>/dev/null)" != "$version" ] || exit 0

mkdir -p build/deps
work=$(mktemp -d "$PWD/build/deps/crt.XXXXXX")
trap 'rm -rf "$work"' EXIT

echo "build_crt: awscrt $version into ${prefix#"$PWD/"}, about half a minute"
download "$work"
build "$work" >"$work/log" 2>&1 || {
  cat "$work/log" >&2
  echo "build_crt: the build failed; the lines above say where" >&2
  exit 1
}

# Renamed whole at the end, so that a prefix that exists is complete.
echo "$version" >"$work/prefix/weir-stamp"
rm -rf "$prefix"
mv -T "$work/prefix" "$prefix"

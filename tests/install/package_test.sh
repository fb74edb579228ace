#!/usr/bin/env bash
# Installs the packages into a fresh Debian, runs the program, builds the examples and runs those that
# need no network.
#
# usage: package_test.sh FOLDER_OF_PACKAGES EXAMPLES        as root
set -euo pipefail

packages=$(realpath "$1")
examples=$(realpath "$2")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# The maintainer's address is given by the publisher (WEIR_MAINTAINER).
lintian --allow-root --fail-on error --tag-display-limit 0 \
  --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$packages"/*.deb

mmdebstrap --quiet --variant=apt bookworm "$root"
mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages"
cp -r "$examples" "$root/examples"
# A shell inside expands patterns there.
inside() { chroot "$root" "$@"; }

# The root has no package lists and no resolver of its own.
cp /etc/resolv.conf "$root/etc/resolv.conf"
inside apt-get update -qq

echo '== the program'
inside sh -c "apt-get install -qq -y --no-install-recommends /packages/weir_*.deb >/dev/null"
inside weir --version
inside weir --store memory: try ann search calls=1 --limits calls:2/min
inside test -s /usr/share/man/man1/weir.1.gz
inside test -s /usr/share/bash-completion/completions/weir

echo '== the library'
inside sh -c "apt-get install -qq -y --no-install-recommends g++ cmake make \
  /packages/libweir0_*.deb /packages/libweir-dev_*.deb >/dev/null"
inside cmake -S /examples -B /build >/dev/null
inside cmake --build /build --parallel 2
inside /build/in_process
inside /build/asio_scheduler
inside /build/plugin_host /build/plugin.so
echo '== good'

#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Downloads a source package: debsrc.sh SUITE PACKAGE[=VERSION] DIRECTORY [apt-get source options]. With apt lists of its own, so that the
# system's are left alone.
set -e
suite=$1 package=$2; mkdir -p "$3"; dir=$(cd "$3" && pwd); shift 3
state=$dir/apt-$suite
mkdir -p "$state/lists/partial"
mirror=$(sed -n 's/^URIs: *\([^ ]*\/debian\)\/*$/\1/p; s/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\/debian\)\/* .*/\2/p' \
	/etc/apt/sources.list /etc/apt/sources.list.d/* 2> /dev/null | head -n 1)
[ -n "$mirror" ] || { echo "no Debian mirror in the apt sources" >&2; exit 1; }
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" > "$state/sources.list"
opts="-q -o Dir::Etc::sourcelist=$state/sources.list -o Dir::Etc::sourceparts=- -o Dir::State::Lists=$state/lists"
timeout 120 apt-get $opts -o APT::Get::List-Cleanup=0 update
cd "$dir"
timeout 600 apt-get $opts source --download-only "$@" "$package"

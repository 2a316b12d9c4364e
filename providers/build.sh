#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Builds rdma-core 56.1 (Debian 13's source) with providers/frnic in it: build/rdma-core/build/lib/libfrnic-rdmav34.so and the libraries that it and
# its tests need; with --all also pyverbs, the tools and the other providers, ten times as much work.
# There is no supported build outside the tree: the folder is copied in, with one line in CMakeLists.txt and the ABI header. Incremental.
set -e
what="lib/libfrnic-rdmav34.so lib/librdmacm.so ccan/libccan.a" text="rdma-core: build"
case $1 in
--all) what=all text="rdma-core: build of everything (several minutes)" ;;
?*) echo "usage: $0 [--all]" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
top=$PWD
src=$top/build/rdma-core log=$top/build/log/rdma-core.log
mkdir -p build/log
# One at a time: `make` and a test step that needs all of it may meet.
exec 9> build/log/rdma-core.lock
flock 9
trap 'rc=$?; [ $rc = 0 ] || { echo "rdma-core: failed, see build/log/rdma-core.log" >&2; grep -aE "error|warning" "$log" | tail -n 20 >&2; tail -n 10 "$log" >&2; }' EXIT

if [ ! -e $src/.unpacked ]; then
	echo "rdma-core: source"
	tests/debsrc.sh trixie rdma-core=56.1-1 build/debsrc --tar-only > "$log" 2>&1
	rm -rf $src && mkdir -p $src
	tar -xf build/debsrc/rdma-core_56.1.orig.tar.* -C $src --strip-components=1 >> "$log" 2>&1
	# Cython's output is 17 MB of C: fully optimised it takes four times as long as all the rest together.
	sed -i '1a add_compile_options(-O1 -g0)' $src/pyverbs/CMakeLists.txt $src/pyverbs/providers/*/CMakeLists.txt
	touch $src/.unpacked
fi

put() { cmp -s "$1" "$2" || cp "$1" "$2"; }   # only what changed, so that little is compiled again
mkdir -p $src/providers/frnic
for f in providers/frnic/*; do put "$f" $src/providers/frnic/"$(basename "$f")"; done
put kernel/frnic-abi.h $src/kernel-headers/rdma/frnic-abi.h
grep -q providers/frnic $src/CMakeLists.txt || sed -i 's|^add_subdirectory(providers/efa).*|&\nadd_subdirectory(providers/frnic)|' $src/CMakeLists.txt
grep -q frnic-abi $src/kernel-headers/CMakeLists.txt || sed -i 's|^  rdma/efa-abi.h|&\n  rdma/frnic-abi.h|' $src/kernel-headers/CMakeLists.txt

if [ ! -e $src/build/build.ninja ]; then
	echo "rdma-core: configure"
	mkdir -p $src/build
	(cd $src/build && cmake -GNinja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DNO_MAN_PAGES=1 -DIN_PLACE=1 -DENABLE_WERROR=1 \
		-DPYTHON_EXECUTABLE=/usr/bin/python3 ..) >> "$log" 2>&1
fi
ninja -C $src/build -n $what | grep -q 'no work to do' || echo "$text"
timeout 1500 nice -n 5 ninja -C $src/build $what >> "$log" 2>&1

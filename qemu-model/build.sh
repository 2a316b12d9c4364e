#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds build/qemu/qemu-system-x86_64: Debian's QEMU 7.2 with device/ laid over it as hw/net/frnic. Incremental.
set -e
cd "$(dirname "$0")/.."
top=$PWD
src=$top/build/qemu-src out=$top/build/qemu log=$top/build/log/qemu.log
mkdir -p build/log
trap 'rc=$?; [ $rc = 0 ] || { echo "qemu: failed, see build/log/qemu.log" >&2; tail -n 30 "$log" >&2; }' EXIT

if [ ! -e $src/.unpacked ]; then
	echo "qemu: source"
	tests/debsrc.sh bookworm qemu build/debsrc > "$log" 2>&1
	rm -rf $src
	# dpkg-source applies Debian's patches; without them meson fails.
	dpkg-source --no-check --no-copy -x build/debsrc/qemu_*.dsc $src >> "$log" 2>&1
	touch $src/.unpacked
fi

put() { cmp -s "$1" "$2" || cp "$1" "$2"; }
# The overlay: only changed files are copied, so that ninja rebuilds no more than needed.
over=$src/hw/net/frnic
mkdir -p $over
for f in qemu-model/device/* qemu-model/include/*.h; do
	[ -e "$f" ] || continue
	put "$f" $over/"$(basename "$f")"
done
if [ -e $over/meson.build ]; then
	grep -q frnic $src/hw/net/meson.build || echo "subdir('frnic')" >> $src/hw/net/meson.build
	grep -q frnic $src/hw/net/Kconfig || echo "source frnic/Kconfig" >> $src/hw/net/Kconfig
	grep -q hw/net/frnic $src/meson.build || sed -i "s|^    'hw/net',|&\n    'hw/net/frnic',|" $src/meson.build
fi

# A wire's server must not block in send with QEMU's big lock held when its peer does not read: the accepted socket is left blocking.
grep -q frnic $src/net/stream.c || sed -i '/qio_channel_set_name(s->ioc, "stream-server");/a\
    qio_channel_set_blocking(s->ioc, false, NULL); /* added for frnic */' $src/net/stream.c

put qemu-model/device/frnic.mak $src/configs/devices/x86_64-softmmu/frnic.mak

if [ ! -e $out/build.ninja ]; then
	echo "qemu: configure"
	mkdir -p $out
	(cd $out && $src/configure --target-list=x86_64-softmmu --with-devices-x86_64=frnic --without-default-devices --without-default-features \
		--disable-debug-info --enable-tcg --enable-kvm --enable-fdt=system \
		--enable-virtfs --enable-attr --enable-cap-ng --enable-slirp --disable-docs --disable-werror --disable-install-blobs) >> "$log" 2>&1
fi
[ -e $out/qemu-system-x86_64 ] || echo "qemu: build (about three minutes)"
timeout 1500 nice -n 5 ninja -C $out qemu-system-x86_64 >> "$log" 2>&1

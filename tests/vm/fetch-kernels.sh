#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Unpacks the Debian kernel image that belongs to each installed headers package, not installing it:
#   build/kernels/<6.12|6.1>/vmlinux    build/kernels/<...>/lib/modules/VERSION    build/kernels/<...>/kbuild -> headers
# The kernel and the modules that every guest loads are unpacked here, once: doing so under emulation costs seconds at each boot. The cloud kernels lack rdma_rxe and 9p; the generic ones have all that the tests use.
set -e
cd "$(dirname "$0")/../.."
mkdir -p build/kernels build/log
log=$PWD/build/log/kernels.log

# vmlinux BZIMAGE: the ELF kernel in it. Offsets: Linux Documentation/arch/x86/boot.rst, setup_sects, payload_offset, payload_length; the
# compressed data is followed by its length in 4 bytes.
vmlinux() {
	local sectors=$(od -An -tu1 -j 497 -N 1 "$1") offset=$(od -An -tu4 -j 584 -N 4 "$1") length=$(od -An -tu4 -j 588 -N 4 "$1") unpack=zstd
	grep -q '^CONFIG_KERNEL_XZ=y' "${1/vmlinuz/config}" && unpack=xz
	tail -c +$(((sectors + 1) * 512 + offset + 1)) "$1" | head -c $((length - 4)) | $unpack -dc
}

for k in 6.12 6.1; do
	kbuild=$(ls -d /usr/src/linux-headers-$k.[0-9]*-amd64 2> /dev/null | grep -Ev 'cloud|rt-' | sort -V | tail -n 1)
	[ -n "$kbuild" ] || { echo "kernels: no headers for $k; run tests/install-deps.sh" >&2; exit 1; }
	version=${kbuild#/usr/src/linux-headers-}
	dir=build/kernels/$k
	[ "$(cat $dir/version 2> /dev/null)" = "$version" ] && continue
	echo "kernels: $version"
	rm -rf $dir && mkdir -p $dir/deb
	if ! { (cd $dir/deb && timeout 300 apt-get -q download "linux-image-$version") && dpkg -x $dir/deb/*.deb $dir && vmlinux $dir/boot/vmlinuz-* > $dir/vmlinux &&
		find $dir/lib/modules/*/kernel -name '*.ko.xz' -path '*/drivers/infiniband/*' -exec unxz {} + && depmod -b $dir "$version"; } > "$log" 2>&1; then
		tail -n 20 "$log" >&2
		echo "kernels: is there a newer one? apt-get update && apt-get install linux-headers-6.12-amd64 linux-headers-amd64" >&2
		exit 1
	fi
	rm -r $dir/deb
	ln -s "$kbuild" $dir/kbuild
	echo "$version" > $dir/version
done

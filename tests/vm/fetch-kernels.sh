#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Unpacks Debian's newest kernels of two series and their headers, installing neither: headers depend on an image that would be the machine's own next kernel.
#   build/kernels/<6.12|6.1>/vmlinux    build/kernels/<...>/lib/modules/VERSION    build/kernels/<...>/kbuild -> headers
# What is there stays; remove build/kernels for newer ones.
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

# depends PACKAGE PATTERN: what it depends on of these.
depends() { apt-cache depends "$1" | sed -n "s/^  Depends: //p" | grep -E "$2"; }

# fetch DIR VERSION: image, headers, the architecture-independent part of the headers, its tools.
fetch() {
	local dir=$1 version=$2
	(mkdir $dir/deb && cd $dir/deb && timeout 600 apt-get -q download "linux-image-$version" "linux-headers-$version" \
		$(depends "linux-headers-$version" '^linux-(headers-.*-common|kbuild-.*)$')) || return
	for deb in $dir/deb/*.deb; do dpkg -x "$deb" $dir || return; done
	rm -r $dir/deb
	ln -s "usr/src/linux-headers-$version" $dir/kbuild
	sed -i "s|^include /usr/src/|include $PWD/$dir/usr/src/|" $dir/kbuild/Makefile
	vmlinux $dir/boot/vmlinuz-* > $dir/vmlinux &&
		find $dir/lib/modules/*/kernel -name '*.ko.xz' -path '*/drivers/infiniband/*' -exec unxz {} + && depmod -b $dir "$version"
}

for k in 6.12:linux-headers-6.12-amd64 6.1:linux-headers-amd64; do
	dir=build/kernels/${k%:*}
	[ -e $dir/version ] && continue
	version=$(depends "${k#*:}" "^linux-headers-${k%:*}[.].*-amd64$" | sed 's/^linux-headers-//')
	[ -n "$version" ] || { echo "kernels: ${k#*:} is unknown; apt-get update?" >&2; exit 1; }
	echo "kernels: $version"
	rm -rf $dir && mkdir -p $dir
	if ! fetch $dir "$version" > "$log" 2>&1; then
		tail -n 20 "$log" >&2
		echo "kernels: is there a newer one? apt-get update" >&2
		exit 1
	fi
	echo "$version" > $dir/version
done

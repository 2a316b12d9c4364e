#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Unpacks the Debian kernel image that belongs to each installed headers package, not installing it:
#   build/kernels/<6.12|6.1>/vmlinuz    build/kernels/<...>/lib/modules/VERSION    build/kernels/<...>/kbuild -> headers
# The cloud kernels lack rdma_rxe and 9p; the generic ones have all that the tests use.
set -e
cd "$(dirname "$0")/../.."
mkdir -p build/kernels build/log
log=$PWD/build/log/kernels.log

for k in 6.12 6.1; do
	kbuild=$(ls -d /usr/src/linux-headers-$k.[0-9]*-amd64 2> /dev/null | grep -Ev 'cloud|rt-' | sort -V | tail -n 1)
	[ -n "$kbuild" ] || { echo "kernels: no headers for $k; run tests/install-deps.sh" >&2; exit 1; }
	version=${kbuild#/usr/src/linux-headers-}
	dir=build/kernels/$k
	[ "$(cat $dir/version 2> /dev/null)" = "$version" ] && continue
	echo "kernels: $version"
	rm -rf $dir && mkdir -p $dir/deb
	if ! { (cd $dir/deb && apt-get -q download "linux-image-$version") && dpkg -x $dir/deb/*.deb $dir && depmod -b $dir "$version"; } > "$log" 2>&1; then
		tail -n 20 "$log" >&2
		exit 1
	fi
	rm -r $dir/deb
	ln -s "boot/vmlinuz-$version" $dir/vmlinuz
	ln -s "$kbuild" $dir/kbuild
	echo "$version" > $dir/version
done

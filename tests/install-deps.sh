#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Installs the Debian 12 packages that building and testing need (or those that it is given); only those that are missing. Not root: prints the
# line to run.

PACKAGES="
 gcc g++ make cmake ninja-build meson pkg-config flex bison bc dpkg-dev git
 libglib2.0-dev libpixman-1-dev zlib1g-dev libslirp-dev libattr1-dev libcap-ng-dev libfdt-dev libelf-dev
 seabios qemu-system-data
 libnl-3-dev libnl-route-3-dev libudev-dev libsystemd-dev cython3 python3-dev python3-docutils
 python3-yaml python3-scapy tshark
 perftest ibverbs-utils rdmacm-utils infiniband-diags libibverbs-dev librdmacm-dev
 iproute2 ethtool iputils-ping kmod pciutils xz-utils zstd busybox-static cpio
 gcc-12 pahole libssl3 sparse
 valgrind iperf3
 verilator yosys z3 iverilog
"
[ $# = 0 ] || PACKAGES=$*

missing=
installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' 2> /dev/null | sed -n 's/^ii  *//p')
for p in $PACKAGES; do
	grep -qx "$p" <<< "$installed" || missing="$missing $p"
done
[ -z "$missing" ] && exit 0
if [ "$(id -u)" != 0 ]; then
	echo "Packages are missing. Run as root: apt-get install --no-install-recommends$missing" >&2
	exit 1
fi
echo "packages: installing$missing"
log=$(dirname "$0")/../build/log; mkdir -p "$log"; log=$log/packages.log
export DEBIAN_FRONTEND=noninteractive
# Servers among them (NFS, rpcbind) are for guests: nothing is started here. https://people.debian.org/~hmh/invokerc.d-policyrc.d-specification.txt
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	trap 'rm -f $policy' EXIT
	printf '#!/bin/sh\nexit 101\n' > $policy && chmod +x $policy
fi
if ! { timeout 300 apt-get -q update && timeout 1200 apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends $missing; } > "$log" 2>&1; then
	tail -n 30 "$log" >&2
	exit 1
fi

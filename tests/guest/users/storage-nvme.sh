# SPDX-License-Identifier: BSD-2-Clause
# NVMe over Fabrics: the kernel's target in the server, its host in the client. One namespace, a file in tmpfs, so that what arrived can be read at the
# target without the network. nvmetcli is not in Debian 12: configfs by hand.
export NQN=nqn.2026-01.test:frnic IMAGE=/dev/shm/ns1.img CFG=/sys/kernel/config/nvmet

target_up() {
	set -e
	modprobe nvmet-rdma
	truncate -s 192M $IMAGE
	mkdir $CFG/subsystems/$NQN; echo 1 > $CFG/subsystems/$NQN/attr_allow_any_host
	mkdir $CFG/subsystems/$NQN/namespaces/1; cd $CFG/subsystems/$NQN/namespaces/1
	echo -n $IMAGE > device_path; echo 1 > buffered_io; echo 1 > enable
	mkdir $CFG/ports/1; cd $CFG/ports/1
	echo rdma > addr_trtype; echo ipv4 > addr_adrfam; echo $S > addr_traddr; echo 4420 > addr_trsvcid
	ln -s $CFG/subsystems/$NQN subsystems/$NQN
}
target_down() {
	set -e
	rm $CFG/ports/1/subsystems/$NQN; rmdir $CFG/ports/1
	echo 0 > $CFG/subsystems/$NQN/namespaces/1/enable
	rmdir $CFG/subsystems/$NQN/namespaces/1 $CFG/subsystems/$NQN
	modprobe -r nvmet-rdma
}
target_sum() {
	set -e
	modprobe loop; mkdir -p /tmp/m
	mount -o ro,loop $IMAGE /tmp/m; sha256sum < /tmp/m/f; umount /tmp/m
}
host_discover() {
	set -e
	modprobe nvme-rdma; mkdir -p /etc/nvme; nvme gen-hostnqn > /etc/nvme/hostnqn; uuidgen > /etc/nvme/hostid
	nvme discover -t rdma -a $S -s 4420 | tee /dev/stderr | grep -q $NQN
}
host_connect() {
	set -e
	nvme connect -t rdma -a $S -s 4420 -n $NQN -i 1
	. "$FRNIC_LIB"; wait_for 30 test -b /dev/nvme0n1
	[ "$(blockdev --getsize64 /dev/nvme0n1)" = $((192 << 20)) ]
}
# Reads come from the target: the page cache is gone between the two mounts.
host_ext4() {
	set -e
	mkfs.ext4 -q -F /dev/nvme0n1 160M; mkdir -p /tmp/m; mount /dev/nvme0n1 /tmp/m
	head -c $((24 << 20)) /dev/urandom > /dev/shm/f
	dd if=/dev/shm/f of=/tmp/m/f bs=1M conv=fsync; cp -r /usr/share/doc/perftest /tmp/m/; umount /tmp/m
	blockdev --flushbufs /dev/nvme0n1; echo 3 > /proc/sys/vm/drop_caches
	fsck.ext4 -f -n /dev/nvme0n1
	mount /dev/nvme0n1 /tmp/m; dd if=/tmp/m/f of=/dev/null bs=1M
	cmp /dev/shm/f /tmp/m/f; diff -r /usr/share/doc/perftest /tmp/m/perftest; umount /tmp/m
	echo same
}
# Behind the file system's 160 MiB.
FIO="fio --name=v --filename=/dev/nvme0n1 --offset=160M --direct=1 --ioengine=libaio --verify=crc32c --do_verify=1 --verify_fatal=1"
host_fio() { $FIO "$@"; }
# The controller is reset while requests are in flight; the block layer repeats what was cancelled, and all data must be there.
host_reset() {
	local pid n=0
	. "$FRNIC_LIB"
	# Linux 6.1 counts at the path (nvme0c0n1) alone, later kernels at the multipath device too.
	inflight() { cat /sys/block/nvme0*n1/inflight | awk '{n += $1 + $2} END {exit !n}'; }
	$FIO --size=16M --bs=64k --rw=randwrite --iodepth=8 --loops=6 & pid=$!
	while [ $n -lt 3 ] && wait_for 60 inflight; do
		nvme reset /dev/nvme0 || { echo "reset failed"; kill $pid; return 1; }
		wait_for 60 grep -qx live /sys/class/nvme/nvme0/state || { echo "not live after the reset"; kill $pid; return 1; }
		n=$((n + 1))
	done
	wait $pid || return 1
	echo "$n resets under load"; [ $n = 3 ]
}
host_disconnect() {
	set -e
	nvme disconnect -n $NQN | tee /dev/stderr | grep -q 'disconnected 1'
	[ ! -b /dev/nvme0n1 ]; modprobe -r nvme-rdma
}
# Connections that ended without being asked to.
lost() { dmesg | grep -c 'nvme nvme[0-9]*: starting error recovery'; }
export FIO
export -f target_up target_down target_sum host_discover host_connect host_ext4 host_fio host_reset host_disconnect

kept() { [ "$(lost)" = 0 ] || { echo "connection lost"; return 1; }; }
rates() { grep -hE ' copied, ' "$1" | sed 's/.*, //' | tr '\n' ' '; }
ext4_check() { kept && grep -qx same "$1" && rates "$1"; }
fio_check() { kept && grep -q 'err= 0' "$1" && sed -n 's/^ *\(READ\|WRITE\): bw=\([^ ]*\).*/\1 \2/p' "$1" | tr '\n' ' '; }
reset_check() { grep -q 'err= 0' "$1" && tail -n 1 "$1"; }
sum_check() { [ "$(cut -c1-64 "$2")" = "$(sha256sum < /dev/shm/f | cut -c1-64)" ] && echo "the target holds the same data"; }

FREE=$(resources | sed 's/cq [0-9]* //')
use nvme "discover -t rdma" 90 cm:4420 target_up host_discover
use nvme "connect -t rdma -i 1" 90 none true host_connect
use mkfs.ext4 "mount, write, umount, mount, compare" 400 none true host_ext4 ext4_check
use fio "4k random write, verify" 300 none true "host_fio --size=4M --bs=4k --rw=randwrite --iodepth=8" fio_check
use fio "4k..256k random write, verify" 300 none true "host_fio --size=16M --bsrange=4k-256k --rw=randwrite --iodepth=8" fio_check
use fio "1M sequential write, verify" 300 none true "host_fio --size=16M --bs=1M --rw=write --iodepth=4" fio_check
use nvme "reset, three times under load" 500 none true host_reset reset_check
use nvme "disconnect" 90 none true host_disconnect
use nvmet "file at the target compared" 120 none target_sum true sum_check
use nvmet "port and subsystem removed" 90 none target_down true
# CQs stay in ib_core's pool of shared CQs (ib_cq_pool_get()) until the device goes; everything else is back.
free_now() { resources | sed 's/cq [0-9]* //'; }
same_free() { [ "$(free_now)" = "$FREE" ]; }
wait_for 30 same_free; verdict "NVMe: free resources as before" $?
same_free || { echo "    $FREE"; echo "    $(resources)"; }

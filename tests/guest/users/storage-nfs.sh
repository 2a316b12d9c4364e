# SPDX-License-Identifier: BSD-2-Clause
# NFS over RDMA, versions 4.2 and 3. The export is a tmpfs with fsid=0: the guest's 9p root cannot be exported, not even as the pseudo root.
export EXPORT=/dev/shm/export

server_up() {
	set -e
	mkdir -p $EXPORT /run/rpcbind /run/sendsigs.omit.d /var/lib/nfs/rpc_pipefs /var/lib/nfs/nfsdcld
	modprobe -a nfsd rpcrdma
	mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd
	mountpoint -q /var/lib/nfs/rpc_pipefs || mount -t rpc_pipefs sunrpc /var/lib/nfs/rpc_pipefs
	: > /var/lib/nfs/etab; : > /var/lib/nfs/rmtab
	rpcbind; rpc.statd --no-notify; nfsdcld
	exportfs -i -o rw,no_root_squash,insecure,no_subtree_check,fsid=0 192.168.137.0/24:$EXPORT
	# Or the first open waits for 90 s.
	echo 10 > /proc/fs/nfsd/nfsv4gracetime; echo 10 > /proc/fs/nfsd/nfsv4leasetime
	rpc.mountd
	rpc.nfsd --rdma=20049 4
	cat /proc/fs/nfsd/portlist; exportfs -v
	grep -q 'rdma 20049' /proc/fs/nfsd/portlist
	: > $SHARE/nfs.up
}
server_down() { rpc.nfsd 0 && exportfs -ua && [ -z "$(cat /proc/fs/nfsd/threads | grep -vx 0)" ]; }
client_up() {
	set -e
	modprobe rpcrdma; mkdir -p /run/rpcbind /run/sendsigs.omit.d /tmp/n; rpcbind; rpc.statd --no-notify
	head -c $((24 << 20)) /dev/urandom > /dev/shm/f
	# The server listens by RDMA before it has registered with rpcbind, which takes its time.
	. "$FRNIC_LIB"; wait_for 90 test -e $SHARE/nfs.up
}
nfs_mount() { # VERSION
	local dir=/ opt=
	[ $1 = 3 ] && dir=$EXPORT opt=,mountproto=tcp
	mount -t nfs -o rdma,port=20049,vers=$1,sec=sys$opt $S:$dir /tmp/n || return 1
	grep ' /tmp/n .*proto=rdma' /proc/mounts
}
client_files() { # VERSION
	set -e
	nfs_mount $1
	rm -rf /tmp/n/*
	dd if=/dev/shm/f of=/tmp/n/f bs=1M conv=fsync; cp -r /usr/share/doc/perftest /tmp/n/; ln -s f /tmp/n/l; mkdir /tmp/n/d
	for i in {1..50}; do echo $i > /tmp/n/d/$i; done
	mv /tmp/n/d/50 /tmp/n/d/fifty; rm /tmp/n/d/1
	umount /tmp/n; nfs_mount $1
	dd if=/tmp/n/f of=/dev/null bs=1M
	cmp /dev/shm/f /tmp/n/f; diff -r /usr/share/doc/perftest /tmp/n/perftest
	[ "$(cat /tmp/n/d/* | sort -n | tr '\n' ' ')" = "$(seq -s ' ' 2 50) " ]
	cmp /dev/shm/f /tmp/n/l
	umount /tmp/n; echo same
}
client_fio() { # VERSION
	set -e
	nfs_mount $1
	fio --name=v --filename=/tmp/n/fio --size=8M --bsrange=4k-256k --rw=randwrite --direct=1 --ioengine=libaio --iodepth=8 --verify=crc32c --do_verify=1 --verify_fatal=1
	rm /tmp/n/fio; umount /tmp/n
}
# A process at the server can lock the file, cannot while the client holds its lock, and can again afterwards.
client_lock() { # VERSION
	set -e
	. "$FRNIC_LIB"
	nfs_mount $1
	wait_for 60 test -e $SHARE/lock$1.go
	exec 8<> /tmp/n/f; flock -x 8; : > $SHARE/lock$1.held
	wait_for 60 test -e $SHARE/lock$1.seen
	flock -u 8; exec 8>&-; : > $SHARE/lock$1.free
	umount /tmp/n
}
server_lock() { # VERSION
	set -e
	. "$FRNIC_LIB"
	can() { /usr/bin/python3 -c 'import fcntl, sys; fcntl.lockf(open(sys.argv[1], "r+"), fcntl.LOCK_EX | fcntl.LOCK_NB)' $EXPORT/f; }
	can; : > $SHARE/lock$1.go
	wait_for 60 test -e $SHARE/lock$1.held
	if can 2> /dev/null; then echo "the server does not know of the client's lock"; return 1; fi
	: > $SHARE/lock$1.seen
	wait_for 60 test -e $SHARE/lock$1.free
	can
}
export -f server_up server_down client_up nfs_mount client_files client_fio client_lock server_lock

files_check() { grep -qx same "$1" && grep -hE ' copied, ' "$1" | sed 's/.*, //' | tr '\n' ' '; }
fio_check() { grep -q 'err= 0' "$1" && sed -n 's/^ *\(READ\|WRITE\): bw=\([^ ]*\).*/\1 \2/p' "$1" | tr '\n' ' '; }
sum_check() { [ "$(cut -c1-64 "$2")" = "$(sha256sum < /dev/shm/f | cut -c1-64)" ] && echo "the server holds the same data"; }

FREE=$(resources)
use rpc.nfsd "--rdma=20049" 120 cm:20049 server_up client_up
for v in 4.2 3; do
	use mount.nfs "vers=$v: mount, files, umount, mount, compare" 400 none true "client_files $v" files_check
	use nfsd "vers=$v: file at the server compared" 60 none "sha256sum < $EXPORT/f" true sum_check
	use fio "on NFS $v, random write, verify" 300 none true "client_fio $v" fio_check
	use flock "on NFS $v, seen by the server" 150 none "server_lock $v" "client_lock $v"
done
use rpc.nfsd 0 90 none server_down true
same_free() { [ "$(resources)" = "$FREE" ]; }
wait_for 30 same_free; verdict "NFS: free resources as before" $?
same_free || { echo "    $FREE"; echo "    $(resources)"; }

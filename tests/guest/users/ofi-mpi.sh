# SPDX-License-Identifier: BSD-2-Clause
# libfabric's verbs provider, and MPI (MPICH over UCX) with one rank in each guest. -c compares the data.
fi_check() {
	! grep -qiE 'error|integrity|fail' "$1" && awk '$1 ~ /^[0-9]+k?m?$/ {l = $1 " B: " $(NF-1) " us"; n++} END {print l; exit !n}' "$1"
}
ofi() { # PROVIDER ARGUMENTS [ENVIRONMENT]
	use fi_pingpong "${3:+$3 }-p $1 $2" 120 tcp:47592 "$3 fi_pingpong -p '$1' $2" "$3 fi_pingpong -p '$1' $2 $S" fi_check
}
use fi_info "-p verbs" 60 none true "fi_info -p verbs | grep -q $DEV"
ofi verbs "-e msg -c -I 50 -S 1024"
ofi verbs "-e msg -c -I 5 -S all"
ofi verbs "-e dgram -c -I 50 -S 512"
ofi "verbs;ofi_rxm" "-e rdm -c -I 20 -S 1024"
ofi "verbs;ofi_rxm" "-e rdm -c -I 10 -S 65536"
ofi "verbs;ofi_rxm" "-e rdm -c -I 5 -S 1048576"
ofi "verbs;ofi_rxm" "-e rdm -m tagged -c -I 20 -S 1024"
ofi "verbs;ofi_rxd" "-e rdm -c -I 20 -S 512"

# mpiexec starts its proxy in the other guest through mpi_start; there mpi_agent runs it. Their standard streams are not used: a proxy talks to mpiexec by TCP.
mpi_agent() {
	local n=0
	until [ -e $SHARE/mpi.end ]; do
		if [ -e $SHARE/mpi.cmd.$n ]; then
			{ bash $SHARE/mpi.cmd.$n; echo $? > $SHARE/mpi.tmp.$n; mv $SHARE/mpi.tmp.$n $SHARE/mpi.rc.$n; } &
			n=$((n + 1))
		fi
		tick
	done
	wait
}
cat > /tmp/mpi_start <<-'X'
	#!/bin/bash
	# HOST COMMAND...; options of ssh that mpiexec gives are dropped
	while [[ $1 = -* ]]; do shift; done
	[ "$1" = "$ME" ] && exec bash -c "${*:2}"
	n=0; while [ -e $SHARE/mpi.cmd.$n ]; do n=$((n + 1)); done
	echo "export IBV_DRIVERS=$IBV_DRIVERS; ${*:2}" > $SHARE/mpi.new; mv $SHARE/mpi.new $SHARE/mpi.cmd.$n
	until [ -e $SHARE/mpi.rc.$n ]; do sleep 0.5; done
	exit $(< $SHARE/mpi.rc.$n)
X
chmod +x /tmp/mpi_start
export -f mpi_agent
MPI=$TOP/build/tests/mpi_check
mpi_check() { grep -q '2 ranks, data right' "$1" && grep -a '1024 B:' "$1" | sed 's/; *$//'; }
mpi() { # TLS
	rm -f $SHARE/mpi.*
	barrier mpi
	MODE=stays use "mpiexec mpi_check" "two ranks, UCX_TLS=$1" 150 none mpi_agent \
		"mpiexec.hydra -launcher ssh -launcher-exec /tmp/mpi_start -hosts $C,$S -ppn 1 -n 2 -iface $ND -genv UCX_TLS $1,self -genv UCX_NET_DEVICES $DEV:1 $MPI; rc=\$?
		: > $SHARE/mpi.end; exit \$rc" mpi_check
}
mpi rc_verbs
mpi ud_verbs

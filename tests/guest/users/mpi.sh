# SPDX-License-Identifier: BSD-2-Clause
# MPI (MPICH over UCX) with one rank in each guest; the program compares its data.
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
	exec 7<> /tmp/tick
	until [ -e $SHARE/mpi.rc.$n ]; do
		[ $SECONDS -lt 200 ] || { echo "mpi_start: no answer from $1" >&2; exit 1; }
		tick
	done
	exit $(< $SHARE/mpi.rc.$n)
X
chmod +x /tmp/mpi_start
export -f mpi_agent
MPI=$TOP/build/tests/mpi_check
mpi_check() { grep -q '2 ranks, data right' "$1" && grep -a '1024 B:' "$1" | sed 's/; *$//'; }
mpi() { # TLS: UCX's rc_v is rc_verbs with ud_verbs to connect it
	rm -f $SHARE/mpi.*
	barrier mpi
	MODE=stays use "mpiexec mpi_check" "two ranks, UCX_TLS=$1" 200 none mpi_agent \
		"mpiexec.hydra -launcher ssh -launcher-exec /tmp/mpi_start -hosts $C,$S -ppn 1 -n 2 -iface $ND -genv UCX_TLS $1,self -genv UCX_NET_DEVICES $DEV:1 $MPI; rc=\$?
		: > $SHARE/mpi.end; exit \$rc" mpi_check
}
mpi rc_v
mpi ud_v

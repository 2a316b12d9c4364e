#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# First things on the RTL, the same script in both guests: the driver has probed it, the RDMA link is there, Ethernet passes.
#   tests/vm/run --server rtl --client rtl tests/guest/rtl.sh tests/guest/rtl.sh
. "$FRNIC_LIB"

dmesg | grep frnic
rdma link show rdma0/1 || exit 1
barrier up || exit 1
ok=0
if [ "$NODE" = client ]; then
	ping -c 5 -i 0.5 -W 10 "$PEER" || ok=1
	# Frames of more than one beat, up to the MTU
	ping -c 3 -i 0.5 -W 10 -s 1472 "$PEER" || ok=1
fi
barrier pinged || exit 1
ethtool -S "$ND" | grep -E '(frames|err|drop|bad|nobuf|irqs|cmds).*: [1-9]'
exit $ok

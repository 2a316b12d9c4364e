#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# build/lib/libfrnic-rtl.so: the card's Verilog through Verilator, behind backend.h. Incremental; the log is build/log/rtl*.log.
#   hw/sim/build.sh          the fast build, bus assertions on
#   hw/sim/build.sh check    build/lib/libfrnic-rtl-check.so: random values where nothing has been written or reset, FST waves
# VERILATOR_FLAGS is added to Verilator's.
set -e
top=$(cd "$(dirname "$0")/../.." && pwd)
flavour=${1:-fast}
case $flavour in
fast)	name=libfrnic-rtl # all values start as zero
	flags="-O3 --x-assign fast --x-initial fast" opt="-O3 -march=native" ;;
check)	name=libfrnic-rtl-check
	flags="-O3 --x-assign unique --x-initial unique --trace-fst --trace-structs" opt="-O1" ;;
*)	echo "usage: $0 [fast|check]" >&2; exit 2 ;;
esac
out=$top/build/rtl/$flavour lib=$top/build/lib/$name.so log=$top/build/log/rtl-$flavour.log
mkdir -p "$out" "$top/build/lib" "$top/build/log"

fail()
{
	grep -v '^make' "$log" | tail -40 >&2
	echo "$lib: build failed, log in $log" >&2
	exit 1
}

newest=$(ls -t "$top"/hw/rtl/*.v "$top"/hw/rtl/*.vh "$top"/hw/sim/* "$top"/qemu-model/include/*.h | head -1)
[ "$lib" -nt "$newest" ] && [ -z "$VERILATOR_FLAGS" ] && exit 0

# Without its graph optimiser, Verilator copies each client's part of a wide bus to its place; with it, it makes one chain of concatenations of all parts,
# each as long as all before it: several per cent of the simulation.
flags="$flags -fno-dfg"
cxx="-fPIC -fvisibility=hidden -I$top/qemu-model/include"
verilator --cc --top-module frnic_top --Mdir "$out" --prefix Vfrnic_top -y "$top/hw/rtl" -y "$top/hw/sim" "+incdir+$top/hw/rtl" \
	+define+FRNIC_SIM --assert -Wall -Wno-fatal $flags $VERILATOR_FLAGS --output-split 20000 --output-split-cfuncs 5000 \
	-CFLAGS "$cxx" "$top/hw/rtl/frnic_top.v" > "$log" 2>&1 || fail
# Of the whole card, at its true sizes: UNOPTFLAT is a combinational loop, through any number of modules.
! grep -q '^%Warning-\(UNOPTFLAT\|LATCH\|MULTIDRIVEN\)' "$log" || fail
# Verilator's own library and our side of it
vroot=$(verilator --getenv VERILATOR_ROOT)
make -C "$out" -f Vfrnic_top.mk -j2 OPT_FAST="$opt" OPT_SLOW="-O1" OPT_GLOBAL="-O2" VM_PARALLEL_BUILDS=1 \
	Vfrnic_top__ALL.a verilated.o verilated_threads.o $([ $flavour = check ] && echo verilated_fst_c.o) >> "$log" 2>&1 || fail
trace=$([ $flavour = check ] && echo 1 || echo 0)
g++ -std=gnu++17 -O2 -Wall -Wextra -Werror $cxx -isystem "$vroot/include" -isystem "$vroot/include/vltstd" -I"$out" -DVM_TRACE=$trace \
	-c "$top/hw/sim/backend_rtl.cpp" -o "$out/backend_rtl.o" >> "$log" 2>&1 || fail
g++ -shared -Wl,-z,defs -o "$lib.part" "$out/backend_rtl.o" "$out"/verilated*.o "$out/Vfrnic_top__ALL.a" -lpthread -lz >> "$log" 2>&1 || fail
mv "$lib.part" "$lib"

# SPDX-License-Identifier: BSD-2-Clause
#
# What a user types. Each rule calls a script that is incremental by itself and logs to build/log/; nothing outside the checkout
# changes but installed packages.

MAKEFLAGS += --no-print-directory
KERNELS := 6.12 6.1

help: ## this list
	@echo "frnic: an open RDMA NIC, from Verilog to verbs"
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 24

run: build ## build everything, boot two guests, show rdma link, ibv_devinfo, ping, ib_write_lat, ib_write_bw
	@tests/run --only demo

test: build ## all tests that fit into half an hour; last line "N passed, N failed"
	@tests/run

build: deps interface qemu model kernels rdma-core modules programs ## build everything

deps: ## install the Debian packages that are missing (root)
	@tests/install-deps.sh

interface: ## regenerate the copies of the hardware interface
	@hw/interface/gen.py

qemu: ## QEMU with the frnic device
	@qemu-model/build.sh

model: ## functional model: build/lib/libfrnic-model.so
	@$(MAKE) -q -C qemu-model/model || echo "model: build"
	@$(MAKE) -s -C qemu-model/model

kernels: ## unpack Debian's guest kernels
	@tests/vm/fetch-kernels.sh

rdma-core: ## rdma-core with the frnic provider
	@providers/build.sh

modules: ## frnic.ko for each guest kernel
	@for k in $(KERNELS); do kernel/build.sh $$k || exit 1; done

programs: ## test programs that run in guests
	@$(MAKE) -q -C tests/guest || echo "programs: build"
	@$(MAKE) -s -C tests/guest

programs-users: ## standard RDMA programs (Debian packages) and what runs beside them
	@tests/install-users.sh
	@$(MAKE) -s -C tests/guest users

pyverbs: rdma-core ## all of rdma-core: pyverbs, tools, other providers
	@providers/build.sh --all

test-pyverbs: build ## rdma-core's own tests of the verbs, in one guest; what they skip, by reason
	@tests/run --only pyverbs

bench-vm: build ## ib_write_lat and ib_write_bw against Soft-RoCE in the same two guests, with the ratios
	@tests/run --only bench

bench-provider: rdma-core ## instructions of post_send and poll_cq of an 8-byte WRITE
	@$(MAKE) -s -C tests/provider bench

bench-model: ## packets a second through the functional model alone
	@$(MAKE) -s -C tests/model bench

test-users: build ## standard RDMA programs, one by one, as a table (qperf, UCX, libfabric, MPI, ...; installs them; an hour)
	@tests/run --group users-

test-connections: build ## connections by rdma_cm: many at once, many in a row, each way to fail (ten minutes)
	@tests/run --only connections

test-soak: build ## programs killed at 200 random moments, driver reloaded (half an hour; ROUNDS=30 SEED=7 for fewer, others)
	@tests/run --only soak

bench-rtl: rtl ## the RTL's figures in simulated time
	@$(MAKE) -s -C tests/model bench-rtl

test-runner: build ## the guest runner's own tests: scripts that fail, guests that die, time that runs out
	@tests/vm/selftest

rtl: deps ## the card's Verilog behind backend.h: build/lib/libfrnic-rtl.so
	@hw/sim/build.sh

test-hw: deps ## the hardware tests on the RTL, as far as it exists: the same programs as on the functional model
	@hw/sim/build.sh check
	@$(MAKE) -C tests/model check BACKEND=rtl-check

test-rtl-guests: build ## guests whose card is the RTL: against itself, the functional model, Soft-RoCE; reloads and hot resets (hours; ROUNDS=10 for fewer)
	@tests/run --group rtl

test-rtl: deps model ## lint and unit benches of the Verilog blocks that exist
	@$(MAKE) -C hw lint latches test

formal: deps ## their proofs
	@$(MAKE) -C hw formal

syn: deps ## their size after Yosys for UltraScale+
	@$(MAKE) -C hw syn

static: modules ## checkpatch, sparse and W=1 over the kernel module
	@kernel/check.sh

clean: ## remove what is quick to build, and the logs; rm -rf build for all
	@rm -rf build/lib build/kernel build/tests* build/model* build/hw build/rtl build/vm build/log build/test

.PHONY: test-connections test-soak help run test pyverbs test-pyverbs build deps interface qemu model kernels rdma-core modules programs programs-users bench-vm bench-provider bench-model bench-rtl test-users test-runner rtl test-hw test-rtl test-rtl-guests formal syn static clean

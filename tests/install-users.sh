#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Installs the Debian packages that only `make test-users` needs: programs of RDMA's users.
exec "$(dirname "$0")/install-deps.sh" qperf ucx-utils libfabric-bin mpich libmpich-dev nvme-cli uuid-runtime fio nfs-kernel-server nfs-common rpcbind

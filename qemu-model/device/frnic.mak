# SPDX-License-Identifier: GPL-2.0-or-later
# The devices that tests/vm/run and tests/qemu put into a guest; all others are left out, since they cost a third of QEMU's build.
CONFIG_Q35=y
CONFIG_I440FX=y
CONFIG_PCI_DEVICES=y
CONFIG_PCIE_PORT=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_NET=y
CONFIG_VIRTIO_9P=y
CONFIG_VIRTIO_RNG=y
CONFIG_SERIAL_ISA=y
CONFIG_FRNIC=y

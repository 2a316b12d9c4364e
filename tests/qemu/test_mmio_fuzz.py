#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The QEMU device without a guest: what it looks like on the bus, and whether it survives whatever a guest or the wire may do.

Drives QEMU over the qtest protocol: properties, config space, BARs, random accesses of all sizes and alignments, random frames,
FLR, bus mastering, hot unplug, two devices in one machine. What the registers mean is tests/model's business.
Last line: "N passed, N failed".
"""
import argparse
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT = 20  # seconds that an answer may take
HW = {m[1]: int(m[2].rstrip('u'), 0) for m in re.finditer(r'^#define FRNIC_(\w+)\s+(0x[0-9a-f]+|\d+)u?\b',
                                                          open(f'{ROOT}/qemu-model/include/frnic_hw.h').read(), re.M)}
BAR_ADDR = {0: 0xe0000000, 2: 0xc0000000, 4: 0xe0100000}
RAM_SIZE = 64 << 20
SLOT = 5


class Gone(Exception):
    """QEMU has ended or does not answer."""


class Machine:
    """A QEMU that executes no guest code; the test is its CPU."""

    def __init__(self, *args, machine='pc'):
        self.dir = tempfile.mkdtemp(prefix='frnic-qemu-')
        self.log = open(f'{self.dir}/log', 'w+')
        listen = {}
        for name in ('qtest', 'qmp'):
            listen[name] = socket.socket(socket.AF_UNIX)
            listen[name].bind(f'{self.dir}/{name}')
            listen[name].listen()
            listen[name].settimeout(LIMIT)
        self.proc = subprocess.Popen(
            [OPT.qemu, '-machine', f'{machine},accel=qtest', '-m', str(RAM_SIZE >> 20), '-display', 'none', '-nodefaults', '-no-user-config',
             '-L', '/usr/share/qemu', '-L', '/usr/share/seabios', '-qtest', f'unix:{self.dir}/qtest', '-qtest-log', '/dev/null',
             '-chardev', f'socket,id=qmp,path={self.dir}/qmp', '-mon', 'chardev=qmp,mode=control', *args],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            self.qtest, self.qmp = (self.accept(listen[n]) for n in ('qtest', 'qmp'))
            self.qmp_line()
            self.monitor('qmp_capabilities')
        except (OSError, Gone):
            self.close()
            raise
        finally:
            for s in listen.values():
                s.close()

    def accept(self, s):
        for _ in range(LIMIT * 5):
            s.settimeout(0.2)
            try:
                c = s.accept()[0]
                c.settimeout(LIMIT)
                return c.makefile('rw')
            except socket.timeout:
                if self.proc.poll() is not None:
                    break
        raise Gone(self.output())

    def output(self):
        self.log.seek(0)
        return self.log.read()

    def close(self):
        self.proc.terminate()
        try:
            self.proc.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
        self.log.close()
        shutil.rmtree(self.dir)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def cmds(self, lines):
        """Send many commands, then read the answers."""
        try:
            self.qtest.write(''.join(line + '\n' for line in lines))
            self.qtest.flush()
            answers = []
            while len(answers) < len(lines):
                line = self.qtest.readline()
                if not line:
                    raise Gone(self.output())
                if not line.startswith('IRQ'):
                    assert line.startswith('OK'), line
                    answers.append(int(line.split()[1], 0) if ' ' in line.strip() else None)
            return answers
        except OSError as e:
            raise Gone(f'{e}: {self.output()}') from e

    def cmd(self, line):
        return self.cmds([line])[0]

    def qmp_line(self):
        try:
            line = self.qmp.readline()
        except OSError as e:
            raise Gone(f'{e}: {self.output()}') from e
        if not line:
            raise Gone(self.output())
        return json.loads(line)

    def monitor(self, execute, /, **arguments):
        try:
            self.qmp.write(json.dumps({'execute': execute, 'arguments': arguments}) + '\n')
            self.qmp.flush()
        except OSError as e:
            raise Gone(f'{e}: {self.output()}') from e
        while True:
            answer = self.qmp_line()
            if 'return' in answer or 'error' in answer:
                assert 'return' in answer, answer
                return answer['return']

    def event(self, name):
        while self.qmp_line().get('event') != name:
            pass

    # PCI, on bus 0
    def cfg_read(self, off, slot=SLOT):
        return self.cmds([f'outl 0xcf8 {0x80000000 | slot << 11 | off & ~3:#x}', 'inl 0xcfc'])[1]

    def cfg_write(self, off, val, slot=SLOT):
        self.cmds([f'outl 0xcf8 {0x80000000 | slot << 11 | off & ~3:#x}', f'outl 0xcfc {val:#x}'])

    def capability(self, cap, slot=SLOT):
        off = self.cfg_read(0x34, slot) & 0xff
        while off:
            word = self.cfg_read(off, slot)
            if word & 0xff == cap:
                return off
            off = word >> 8 & 0xff
        return 0

    def map_bars(self, slot=SLOT, shift=0):
        for bar, addr in BAR_ADDR.items():
            self.cfg_write(0x10 + 4 * bar, addr + shift, slot)
        self.cfg_write(0x1c, 0, slot)
        self.command(6, slot)

    def command(self, bits, slot=SLOT):
        self.cfg_write(4, bits, slot)

    def reg(self, name, shift=0):
        return self.cmd(f'readl {BAR_ADDR[0] + shift + HW["REG_" + name]:#x}')

    def set_reg(self, name, val):
        self.cmd(f'writel {BAR_ADDR[0] + HW["REG_" + name]:#x} {val:#x}')

    def alive(self, shift=0):
        assert self.reg('DEV_ID', shift) == HW['REG_DEV_ID_RESET'], 'DEV_ID does not read as it should'


def device(slot=SLOT, **props):
    props = {'backend': OPT.backend, 'seed': OPT.seed, **props}
    return ','.join([f'frnic,id=nic{slot}' + (f',addr={slot:#x}' if slot else '')] + [f'{k.replace("_", "-")}={v}' for k, v in props.items()])


TESTS = []


def test(f):
    TESTS.append(f)
    return f


@test
def bad_properties():
    """A wrong property is a clear error, not a crash."""
    for args, message in (((device(backend='/nonexistent.so'),), 'cannot load backend'),
                          ((f'frnic,addr={SLOT}',), "property 'backend'"),
                          ((device(backend=shutil.which('true')),), 'backend'),
                          ((device(vectors=0),), "'vectors'"),
                          ((device(vectors=65),), "'vectors'"),
                          ((device(backend_opts='no-such-option=1'),), 'no-such-option')):
        try:
            Machine('-device', *args).close()
        except Gone as e:
            assert message in str(e), f'{args}: {e}'
        else:
            raise AssertionError(f'{args} was accepted')


@test
def config_space():
    with Machine('-device', device()) as m:
        assert m.cfg_read(0) == HW['PCI_VENDOR_ID'] | HW['PCI_DEVICE_ID'] << 16
        assert m.cfg_read(8) >> 16 == HW['PCI_CLASS']
        sizes = {}
        for bar in BAR_ADDR:
            m.cfg_write(0x10 + 4 * bar, 0xffffffff)
            sizes[bar] = (~(m.cfg_read(0x10 + 4 * bar) & ~0xf) & 0xffffffff) + 1
        assert sizes[HW['BAR_REGS']] == HW['BAR_REGS_SIZE']
        m.map_bars()
        assert m.cfg_read(0x10 + 4 * HW['BAR_DB']) & 0xf == 0xc, 'BAR2 is not 64-bit prefetchable'
        # The UARs, then device memory; a BAR's size is a power of two.
        assert sizes[HW['BAR_DB']] == 1 << (m.reg('CAP_UAR') * HW['UAR_STRIDE'] + m.reg('CAP_DM') - 1).bit_length()
        msix = m.capability(0x11)
        assert (m.cfg_read(msix) >> 16 & 0x7ff) + 1 == 16
        assert m.reg('CAP_MSIX') == 16
        assert m.capability(1), 'no power management'
        m.alive()


@test
def express():
    """Behind a root port: the express capability, and FLR, which forgets what was written."""
    with Machine('-device', 'pcie-root-port,id=rp,addr=0x5', '-device', device(slot=0, bus='rp', addr='0'), machine='q35') as m:
        m.cfg_write(0x18, 0x00010100)  # bus numbers of the root port
        m.cfg_write(0x20, 0xe010e000)  # its windows
        m.cfg_write(0x24, 0xc0f1c001)
        m.command(6)
        m.cfg_read = lambda off, slot=0, read=m.cfg_read: read(off | 0x10000, slot)
        m.cfg_write = lambda off, val, slot=0, write=m.cfg_write: write(off | 0x10000, val, slot)
        m.map_bars(slot=0)
        m.alive()
        exp = m.capability(0x10, slot=0)
        assert exp and m.cfg_read(exp + 4) & 1 << 28, 'no FLR'
        m.set_reg('ETH_MAXFRAME', 1600)
        assert m.reg('ETH_MAXFRAME') == 1600
        m.cfg_write(exp + 8, 0x8000)
        m.map_bars(slot=0)
        assert m.reg('ETH_MAXFRAME') == 1522
        m.alive()


def accesses(bar, size, count, rng, values=None):
    """Random reads and writes of all sizes, two thirds aligned, half near the BAR's start."""
    for _ in range(count):
        n = rng.choice('bwllqq')
        length = {'b': 1, 'w': 2, 'l': 4, 'q': 8}[n]
        off = rng.randrange(min(size, 0x4000) if rng.random() < .5 else size) if bar != 2 or rng.random() < .3 else \
            rng.randrange(size // HW['UAR_STRIDE']) * HW['UAR_STRIDE'] + rng.choice((0, 0, 0, 8, 0x1000, 0x1040, 0x1200))
        if rng.random() < .66:
            off &= ~(length - 1)
        off = min(off, size - length)
        if rng.random() < .4:
            yield f'read{n} {BAR_ADDR[bar] + off:#x}'
        else:
            val = values(rng) if values else rng.choice((0, 1, (1 << 64) - 1, rng.getrandbits(64), rng.getrandbits(16)))
            yield f'write{n} {BAR_ADDR[bar] + off:#x} {val & (1 << 8 * length) - 1:#x}'


def fuzz(bar, size, count, values=None, prepare=None):
    rng = random.Random(f'{OPT.seed} {bar}')
    with Machine('-device', device()) as m:
        m.map_bars()
        if prepare:
            prepare(m)
        for _ in range(0, count, 500):
            m.cmds(list(accesses(bar, size, 500, rng, values)))
        m.alive()
        m.monitor('system_reset')
        m.map_bars()
        m.alive()


def msix_on(m):
    m.cfg_write(m.capability(0x11), 0x80000000)


@test
def fuzz_registers():
    def values(rng):
        opcode = rng.choice((0x01, 0x02, 0x11, 0x21, 0x31, 0x41, 0x42, 0x51, 0x81, rng.getrandbits(8)))
        return rng.choice((opcode << 24 | 0x060000 | rng.getrandbits(4), rng.getrandbits(64), rng.getrandbits(24) & ~0xfff, rng.getrandbits(3)))
    fuzz(0, HW['BAR_REGS_SIZE'], OPT.count, values)


@test
def fuzz_doorbells():
    def values(rng):
        return rng.getrandbits(8) << 56 | rng.getrandbits(24) << 32 | rng.choice((0x80, 0x81, 0x83, 0x84, 0x85, rng.getrandbits(8))) << 24 | rng.getrandbits(24)
    fuzz(2, 8 << 20, OPT.count, values, lambda m: m.set_reg('DEV_CTRL', 1))


@test
def fuzz_msix_table():
    fuzz(4, 0x1000, OPT.count // 10, None, msix_on)


@test
def bus_mastering_off():
    """A command ring that the device may not read is an error that it reports; it goes on."""
    with Machine('-device', device()) as m:
        m.map_bars()
        m.command(2)
        for base in (0x100000, RAM_SIZE, BAR_ADDR[0], 0xfee00000, 1 << 52):
            m.set_reg('DEV_CTRL', 0)
            m.set_reg('CMDQ_BASE_LO', base & 0xffffffff)
            m.set_reg('CMDQ_BASE_HI', base >> 32)
            m.set_reg('CMDQ_CFG', 4)
            m.set_reg('DEV_CTRL', HW['REG_DEV_CTRL_ENABLE'] | HW['REG_DEV_CTRL_CMDQ_EN'])
            m.set_reg('CMDQ_PI', 1)
            m.alive()
            m.command(6)


@test
def fuzz_frames():
    """Random frames of 0 to 64 KiB from the netdev; some look like RoCE. The port is enabled and promiscuous, no queue exists."""
    rng = random.Random(f'{OPT.seed} frames')
    with tempfile.TemporaryDirectory(prefix='frnic-wire-') as d, socket.socket(socket.AF_UNIX) as listen:
        listen.bind(f'{d}/wire')
        listen.listen()
        listen.settimeout(LIMIT)
        mac = bytes.fromhex('525400aabb01')
        with Machine('-netdev', f'stream,id=n0,addr.type=unix,addr.path={d}/wire,server=off',
                     '-device', device(netdev='n0', mac=mac.hex(':'))) as m:
            wire = listen.accept()[0]
            wire.settimeout(LIMIT)
            m.map_bars()
            m.set_reg('DEV_CTRL', HW['REG_DEV_CTRL_ENABLE'])
            m.set_reg('ETH_CTRL', 0x7)
            m.set_reg('ETH_MAXFRAME', 9022)
            for _ in range(OPT.count // 100):
                burst = b''
                for _ in range(50):
                    body = rng.randbytes(rng.choice((0, 1, 13, 14, 40, 60, 90, rng.randrange(1500), rng.randrange(9100), 65000)))
                    head = mac + rng.randbytes(6)
                    if rng.random() < .5:
                        ip = bytes((0x45, 0, *(len(body) + 28).to_bytes(2, 'big'), 0, 0, 0x40, 0, 64, 17, 0, 0)) + rng.randbytes(8)
                        udp = rng.randbytes(2) + HW['ROCE_UDP_PORT'].to_bytes(2, 'big') + (len(body) + 8).to_bytes(2, 'big') + b'\0\0'
                        head += b'\x08\x00' + ip + udp
                    frame = (head + body)[:rng.choice((None, None, 5, 30))]
                    burst += len(frame).to_bytes(4, 'big') + frame
                wire.sendall(burst)
                m.alive()
            wire.close()


@test
def two_devices():
    """Each has its own state, though the backend is one shared object."""
    other = SLOT + 1
    with Machine('-device', device(), '-device', device(slot=other, vectors=4, mac='52:54:00:aa:bb:02')) as m:
        shift = 0x1000000
        m.map_bars()
        m.map_bars(other, shift)
        m.alive()
        m.alive(shift)
        assert m.reg('CAP_MSIX') == 16 and m.reg('CAP_MSIX', shift) == 4
        assert m.reg('MAC_LO', shift) == 0xaa005452, 'MAC address of the second device'
        m.set_reg('ETH_MAXFRAME', 1700)
        assert m.reg('ETH_MAXFRAME', shift) == 1522


@test
def unplug():
    """device_del and device_add again and again: nothing hangs, no file or thread stays behind."""
    with Machine('-device', device()) as m:
        def left():
            proc = f'/proc/{m.proc.pid}'
            return len(os.listdir(f'{proc}/task')), len(os.listdir(f'{proc}/fd'))
        before = left()
        for _ in range(20):
            m.map_bars()
            m.alive()
            m.monitor('device_del', id=f'nic{SLOT}')
            m.cmds(['outl 0xae10 0', f'outl 0xae08 {1 << SLOT:#x}'])  # what a guest's ACPI code does
            m.event('DEVICE_DELETED')
            assert m.cfg_read(0) == 0xffffffff
            m.monitor('device_add', driver='frnic', id=f'nic{SLOT}', addr=f'{SLOT:#x}', backend=OPT.backend)
        assert left() == before, f'threads and files before {before}, after {left()}'


@test
def link_and_stop():
    """Link state follows the monitor; a stopped machine still answers."""
    with Machine('-netdev', 'hubport,id=n0,hubid=0', '-device', device(netdev='n0')) as m:
        m.map_bars()
        for up in (True, False, True):
            m.monitor('set_link', name='n0', up=up)
            assert bool(m.reg('DEV_STATUS') & HW['REG_DEV_STATUS_LINK']) == up
        m.monitor('stop')
        m.alive()
        m.monitor('cont')
        m.alive()


def main():
    failed = 0
    for f in TESTS:
        if OPT.only and OPT.only not in f.__name__:
            continue
        try:
            f()
            print(f'ok      {f.__name__}', flush=True)
        except (AssertionError, Gone, OSError) as e:
            failed += 1
            print(f'FAILED  {f.__name__} line {sys.exc_info()[2].tb_next.tb_lineno}: {e}', flush=True)
    total = len([f for f in TESTS if not OPT.only or OPT.only in f.__name__])
    print(f'{total - failed} passed, {failed} failed')
    return 1 if failed else 0


P = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
P.add_argument('--qemu', default=f'{ROOT}/build/qemu/qemu-system-x86_64')
P.add_argument('--backend', default=f'{ROOT}/build/lib/libfrnic-model.so')
P.add_argument('--seed', type=int, default=1)
P.add_argument('--count', type=int, default=100000, help='random accesses per BAR')
P.add_argument('--only', help='tests whose name contains this')
OPT = P.parse_args()
sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Does tests/vm/wire do to frames what its rules say, and the same each time? Two sockets in place of two QEMUs; scapy judges iCRCs.
Last line: "N passed, N failed"."""
import os
import socket
import struct
import subprocess
import sys
import tempfile

from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
END = b'\xff' * 60  # passes all rules: what was sent before it has gone through
passed = failed = 0


def check(name, ok):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    print(('ok ' if ok else 'FAIL ') + name)


def roce(number=0, op=4, qp=0x12, payload=b''):
    return bytes(Ether(src='52:54:00:12:00:02', dst='52:54:00:12:00:01', type=0x800) / IP(src='10.0.0.1', dst='10.0.0.2', id=number) /
                 UDP(sport=49152, dport=4791, chksum=0) / BTH(opcode=op, dqpn=qp, psn=number, pkey=0xffff) / (payload or struct.pack('>I', number)))


def mad(attr, local, remote, port=0):
    """A message of the connection manager; a REQ has its service id where others have nothing of interest."""
    head = bytes([1, 7, 2, 3]) + bytes(12) + struct.pack('>HHI', attr, 0, 0)
    return roce(op=100, qp=1, payload=bytes(8) + head + struct.pack('>II', local, remote) + struct.pack('>Q', 0x1060000 | port) + bytes(216))


def frames(sock):
    """Frames that came, until END."""
    buf, got = b'', []
    sock.settimeout(10)
    while True:
        while len(buf) >= 4 and len(buf) >= 4 + int.from_bytes(buf[:4], 'big'):
            n = int.from_bytes(buf[:4], 'big')
            if buf[4:4 + n] == END:
                return got
            got.append(buf[4:4 + n])
            buf = buf[4 + n:]
        data = sock.recv(65536)
        if not data:
            raise SystemExit('FAIL the wire closes')
        buf += data


class Ends:
    def __init__(self, tmp, seed=1):
        for n in ('s', 'c'):
            if os.path.exists(n):
                os.unlink(n)
        self.p = subprocess.Popen([os.path.join(TOP, 'tests/vm/wire'), f'--seed={seed}', 's', 'c'], cwd=tmp, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ask('count')
        self.sock = [socket.socket(socket.AF_UNIX) for _ in range(2)]
        for s, n in zip(self.sock, ('s', 'c')):
            s.connect(n)

    def ask(self, line):
        self.p.stdin.write(line + '\n')
        self.p.stdin.flush()
        return self.p.stdout.readline().strip()

    def through(self, rules, sent, who=1):
        """What of the frames sent by this end arrives."""
        if rules is not None:
            self.ask('rules ' + rules)
        for f in [*sent, END]:
            self.sock[who].sendall(struct.pack('>I', len(f)) + f)
        return frames(self.sock[1 - who])

    def close(self):
        self.p.kill()
        self.p.wait()
        for s in self.sock:
            s.close()


def main():
    with tempfile.TemporaryDirectory() as tmp:
        os.chdir(tmp)
        e = Ends(tmp)
        a = [roce(i) for i in range(400)]
        check('no rules: all passes, both ways', e.through('', a) == a and e.through('', a, 0) == a)
        check('drop one', e.through('drop n=3', a[:5]) == a[:2] + a[3:5])
        check('drop a range, of one sender', e.through('drop n=2-3 from=client', a[:5]) == [a[0], *a[3:5]] and e.through(None, a[:5], 0) == a[:5])
        check('dup', e.through('dup n=1', a[:2]) == [a[0], *a[:2]])
        check('reorder by two', e.through('reorder=2 n=1', a[:4]) == [a[1], a[2], a[0], a[3]])
        e.through('reorder=5 n=1', a[:1])
        check('one that nothing overtakes comes all the same', frames_after(e) == a[:1])
        check('by opcode and QP', e.through('drop op=4,6 qp=0x13', [roce(1, 4, 0x12), roce(2, 4, 0x13), roce(3, 6, 0x13), roce(4, 7, 0x13)]) ==
              [roce(1, 4, 0x12), roce(4, 7, 0x13)])
        arp = b'\xff' * 12 + b'\x08\x06' + bytes(46)
        check('other protocols are spared, unless asked for', e.through('drop', [arp, a[0]]) == [arp] and e.through('drop proto=other n=1', [arp, a[0]]) == [a[0]])

        got = e.through('corrupt n=2', a[:3])
        diff = bin(int.from_bytes(got[1], 'big') ^ int.from_bytes(a[1], 'big')).count('1')
        check('corrupt changes one bit', got[0] == a[0] and got[2] == a[2] and diff == 1)
        pkt = Ether(e.through('pkey=0x1234', a[:1])[0])
        wire = pkt[UDP].original[8:pkt[UDP].len]
        check('another P_Key with the right iCRC', pkt[BTH].pkey == 0x1234 and pkt[BTH].compute_icrc(wire) == wire[-4:])

        req, rep, rtu, other = mad(0x10, 77, 0, 7311), mad(0x13, 99, 77), mad(0x14, 77, 99), mad(0x10, 78, 0, 7312)
        check('REQ by port', e.through('drop cm=REQ port=7311', [req, other]) == [other])
        check('REP and RTU by the port of their REQ', e.through('drop cm=REP,RTU port=7311', [req, other, rtu]) == [req, other] and
              e.through(None, [rep, mad(0x13, 99, 78)], 0) == [mad(0x13, 99, 78)])

        lossy = 'drop p=0.1; dup p=0.1; corrupt p=0.1'
        one = e.through(lossy, a)
        count = e.ask('count')
        check('counts', 'drop p=0.1' in count and count.split(';')[1].startswith(' 400/'))
        check('unknown words are refused, and change nothing', e.ask('rules drop x=1').startswith('error') and e.ask('rules melt').startswith('error') and
              e.ask('hello').startswith('error') and 'corrupt p=0.1' in e.ask('count'))
        check('the same again with the same seed', e.through(lossy, a) == one)
        e.close()
        e = Ends(tmp, seed=2)
        check('otherwise with another seed', e.through(lossy, a) != one)
        e.close()
    print(f'{passed} passed, {failed} failed')
    return failed != 0


def frames_after(e):
    """What comes before a frame that only that makes due."""
    first = b''
    while len(first) < 4:
        first += e.sock[0].recv(4 - len(first))
    n = int.from_bytes(first, 'big')
    data = b''
    while len(data) < n:
        data += e.sock[0].recv(n - len(data))
    return [data]


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Judge a capture with two independent implementations (R5.1): tshark must decode every RoCE v2 packet without a malformed
one, and scapy's iCRC must agree with each packet's last four bytes.

check_pcap.py FILE [--at-least N] [--opcodes a,b,...]    opcodes that must occur (BTH opcode numbers, decimal)
Last line: "N passed, N failed" (one check each: decode, iCRC, count, opcodes).
"""
import argparse
import collections
import subprocess
import sys

from scapy.contrib.roce import BTH
from scapy.layers.inet import UDP
from scapy.utils import RawPcapReader
from scapy.layers.l2 import Ether
from scapy.packet import Padding


# tshark guesses what upper protocol a payload holds; the test's random bytes are none of these.
GUESSES = ['rpcrdma_infiniband', 'eth_over_ib', 'mellanox_eoib', 'smb_direct_infiniband', 'lnet_ib', 'iser_infiniband', 'fc_infiniband']


def tshark(path, display_filter, *fields):
    cmd = ['tshark', *(x for g in GUESSES for x in ('--disable-heuristic', g)), '-r', path, '-Y', display_filter, '-T', 'fields']
    for f in fields:
        cmd += ['-e', f]
    return subprocess.run(cmd, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=600).stdout.splitlines()


def icrc_errors(path):
    """-> (RoCE packets, numbers of the frames whose iCRC scapy computes differently)"""
    total, bad = 0, []
    for number, (raw, _) in enumerate(RawPcapReader(path), 1):
        pkt = Ether(raw)
        if UDP not in pkt or pkt[UDP].dport != 4791 or BTH not in pkt:
            continue
        total += 1
        if Padding in pkt: # the MAC's, up to 60 bytes; scapy would count it in
            pkt = Ether(raw[:-len(pkt[Padding].load)])
        bth = pkt[BTH]
        # compute_icrc() takes the packet from BTH to iCRC and ignores the last four bytes, which are those on the wire.
        wire = pkt[UDP].original[8:pkt[UDP].len]
        if bth.compute_icrc(wire) != wire[-4:]:
            bad.append(number)
    return total, bad


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('pcap')
    ap.add_argument('--at-least', type=int, default=1)
    ap.add_argument('--opcodes', default='')
    args = ap.parse_args()
    results = []

    malformed = tshark(args.pcap, 'udp.port == 4791 && _ws.malformed', 'frame.number', '_ws.col.Info')
    results.append(('tshark finds no malformed packet', not malformed, '; '.join(malformed[:5])))
    opcodes = collections.Counter(int(x.split(',')[0], 0) for x in tshark(args.pcap, 'infiniband.bth', 'infiniband.bth.opcode'))
    decoded = sum(opcodes.values())
    total, bad = icrc_errors(args.pcap)
    results.append(("scapy's iCRC agrees on every packet", not bad, f'{len(bad)} of {total} differ, first frames {bad[:5]}'))
    results.append((f'at least {args.at_least} packets, all decoded', decoded == total >= args.at_least, f'{decoded} decoded of {total}'))
    want = {int(x) for x in args.opcodes.split(',') if x}
    results.append(('opcodes asked for occur', want <= set(opcodes), f'missing {sorted(want - set(opcodes))}'))

    for name, ok, why in results:
        print(f'{"ok" if ok else "FAIL"} {name}' + ('' if ok else f': {why}'))
    print(f'{total} RoCE v2 packets, opcodes {dict(sorted(opcodes.items()))}')
    failed = sum(not ok for _, ok, _ in results)
    print(f'{len(results) - failed} passed, {failed} failed')
    sys.exit(failed != 0)


if __name__ == '__main__':
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes icrc_vectors.h: RoCE v2 frames with iCRCs that the model did not compute.

IPv4: scapy's contrib.roce. IPv6, which scapy lacks: zlib's CRC over the packet masked as IBTA annex A17.3.2 says.
Run by hand when a vector is added; the result is committed, so that the tests need no scapy.
"""
import random
import struct
import sys
import zlib

from scapy.all import IP, UDP, Dot1Q, Ether, IPv6, Raw, raw
from scapy.contrib.roce import BTH, cnp

MACS = dict(src="02:11:22:33:44:55", dst="02:66:77:88:99:aa")


def v4(bth, body, **ip):
    eth = Ether(**MACS)
    if ip.pop("vlan", None):
        eth = eth / Dot1Q(vlan=100, prio=3)
    ip.setdefault("flags", "DF")
    return raw(eth / IP(src="192.168.137.1", dst="192.168.137.2", **ip) / UDP(sport=51234, dport=4791, chksum=0) / bth / Raw(body))


def v6(bth, body, **ip):
    frame = raw(Ether(**MACS) / IPv6(src="fe80::1", dst="2001:db8::2", **ip) / UDP(sport=51234, dport=4791, chksum=0) / bth / Raw(body + bytes(4)))
    # scapy puts a zero iCRC for IPv6 behind the BTH; build the packet without it.
    eth, ip6, udp = frame[:14], bytearray(frame[14:54]), bytearray(frame[54:62])
    bth_bytes = raw(bth)[:12]
    total = 8 + 12 + len(body) + 4
    ip6[4:6] = struct.pack("!H", total)
    udp[4:6] = struct.pack("!H", total)
    masked = bytearray(b"\xff" * 8 + bytes(ip6) + bytes(udp) + bth_bytes + body)
    masked[8] |= 0x0F
    masked[9:12] = b"\xff\xff\xff"
    masked[15] = 0xFF
    masked[8 + 40 + 6:8 + 40 + 8] = b"\xff\xff"
    masked[8 + 48 + 4] = 0xFF
    return eth + bytes(ip6) + bytes(udp) + bth_bytes + body + struct.pack("<I", zlib.crc32(bytes(masked)))


def main():
    rnd = random.Random(4791)
    aeth = struct.pack("!I", 0x1F000005)
    reth = struct.pack("!QII", 0x7F0012345678, 0xABCD12, 6)
    frames = [
        ("send_only_empty", v4(BTH(opcode=4, dqpn=0x123456, psn=0xFFFFFF, ackreq=1, migreq=1), b"")),
        ("send_only_1", v4(BTH(opcode=4, padcount=3, dqpn=17, psn=1, solicited=1), b"\xa5\0\0\0")),
        ("write_only_6", v4(BTH(opcode=10, padcount=2, dqpn=0xFFFFFF, psn=5, pkey=0x8001), reth + b"abcdef\0\0", tos=0x6B, ttl=3)),
        ("ack", v4(BTH(opcode=17, dqpn=0x10, psn=0x800000), aeth)),
        ("send_first_1024", v4(BTH(opcode=0, dqpn=9, psn=77), rnd.randbytes(1024), vlan=True)),
        ("send_middle_4096", v4(BTH(opcode=1, dqpn=9, psn=78), rnd.randbytes(4096), id=0x55AA)),
        ("cnp", raw(Ether(**MACS) / IP(src="192.168.137.1", dst="192.168.137.2", flags="DF") / UDP(sport=51234, dport=4791, chksum=0) / cnp(0x1234))),
        ("v6_send_only_3", v6(BTH(opcode=4, padcount=1, dqpn=0x42, psn=3), b"xyz\0", tc=0xB9, fl=0x12345, hlim=7)),
        ("v6_send_last_200", v6(BTH(opcode=2, dqpn=0x42, psn=4), rnd.randbytes(200))),
    ]
    out = sys.stdout
    out.write("/* SPDX-License-Identifier: BSD-2-Clause */\n/* Written by gen_icrc_vectors.py. Do not edit. */\n")
    for name, data in frames:
        out.write(f"static const unsigned char vec_{name}[] = {{")
        for i, b in enumerate(data):
            out.write(("\n\t" if i % 24 == 0 else " ") + f"{b},")
        out.write("\n};\n")
    out.write("static const struct icrc_vector {\n\tconst char *name;\n\tconst unsigned char *frame;\n\tunsigned int len;\n} icrc_vectors[] = {\n")
    for name, _ in frames:
        out.write(f'\t{{ "{name}", vec_{name}, sizeof(vec_{name}) }},\n')
    out.write("};\n")


main()

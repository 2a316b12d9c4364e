#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""SMC-R without smc-tools, which Debian 12 lacks: a user EID, the list of links, and a TCP program on an SMC socket.

smc.py eid NAME                add a user-defined EID (both ends need a common one for SMC v2)
smc.py fallbacks               why connections became TCP
smc.py serve PORT BYTES        one connection: takes so many bytes, prints their SHA-256, sends them back
smc.py send ADDRESS PORT BYTES the other end: sends random bytes, compares what comes back, prints links and SHA-256
"""
import ctypes
import hashlib
import os
import socket
import struct
import sys

AF_SMC = 43
# linux/smc.h, linux/genetlink.h
GET_LGR_SMCR, GET_FBACK_STATS, ADD_UEID = 2, 8, 10
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLMSG_ERROR, NLMSG_DONE, GENL_ID_CTRL = 2, 3, 16
NETLINK_GENERIC = 16
CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 3, 1, 2


def attr(kind, payload):
    return struct.pack('=HH', 4 + len(payload), kind) + payload + bytes(-len(payload) % 4)


def attrs(data):
    """{kind: payload} of a run of netlink attributes."""
    out = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from('=HH', data)
        if length < 4:
            break
        out[kind & 0x3fff] = data[4:length]
        data = data[(length + 3) & ~3:]
    return out


def ask(family, cmd, payload=b'', flags=NLM_F_ACK):
    """Attributes of each answer."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC) as s:
        s.settimeout(20)
        s.send(struct.pack('=IHHIIBBH', 20 + len(payload), family, NLM_F_REQUEST | flags, 1, 0, cmd, 1, 0) + payload)
        answers = []
        while True:
            data = s.recv(1 << 16)
            while data:
                length, kind = struct.unpack_from('=IH', data)
                if kind == NLMSG_DONE:
                    return answers
                if kind == NLMSG_ERROR:
                    err = -struct.unpack_from('=i', data, 16)[0]
                    if err:
                        raise OSError(err, os.strerror(err))
                    return answers
                answers.append(attrs(data[20:length]))
                data = data[(length + 3) & ~3:]


def smc_family():
    name = attr(CTRL_ATTR_FAMILY_NAME, b'SMC_GEN_NETLINK\0')
    return struct.unpack('=H', ask(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, name)[0][CTRL_ATTR_FAMILY_ID])[0]


def links():
    # SMC_GEN_LGR_SMCR / SMC_NLA_LGR_R_V2_COMMON / SMC_NLA_LGR_V2_NEG_EID (their enum starts at 0)
    groups = [attrs(a[2]) for a in ask(smc_family(), GET_LGR_SMCR, flags=NLM_F_DUMP)]
    return [attrs(g.get(7, b'')).get(3, b'').rstrip(b'\0 ').decode() for g in groups]


def fallbacks():
    """Why connections fell back to TCP: the kernel's reason codes (net/smc/smc_clc.h), for a failure's log."""
    # SMC_GEN_FBACK_STATS / type, reason
    stats = [attrs(a[8]) for a in ask(smc_family(), GET_FBACK_STATS, flags=NLM_F_DUMP) if 8 in a]
    return [("server" if s[1][0] == 1 else "client") + f" {struct.unpack('=I', s[4])[0]:#010x}" for s in stats if 1 in s and 4 in s]


def smc_socket():
    """Addresses stay AF_INET, so that Python need not know the family."""
    fd = ctypes.CDLL(None, use_errno=True).socket(AF_SMC, socket.SOCK_STREAM, 0)
    if fd < 0:
        raise OSError(ctypes.get_errno(), 'socket(AF_SMC)')
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=fd)
    s.settimeout(100)
    return s


def receive(s, size):
    out = bytearray()
    while len(out) < size:
        part = s.recv(min(1 << 18, size - len(out)))
        if not part:
            sys.exit(f'the connection ended after {len(out)} of {size} bytes')
        out += part
    return bytes(out)


def serve(port, size):
    s = smc_socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(('', port))
    s.listen(1)
    c, _ = s.accept()
    c.settimeout(100)
    data = receive(c, size)
    print(hashlib.sha256(data).hexdigest(), flush=True)
    c.sendall(data)
    if c.recv(1):
        sys.exit('more than was asked for')
    print('fallbacks', *fallbacks())
    c.close()


def send(address, port, size):
    s = smc_socket()
    s.connect((address, port))
    data = os.urandom(size)
    s.sendall(data)
    back = receive(s, size)
    if back != data:
        sys.exit('what came back is not what was sent')
    print('links', *links())
    print('fallbacks', *fallbacks())
    print(hashlib.sha256(data).hexdigest())
    s.close()


def main():
    what, *args = sys.argv[1:]
    if what == 'eid':
        ask(smc_family(), ADD_UEID, attr(1, args[0].encode().ljust(32) + b'\0'))
    elif what == 'fallbacks':
        print(*fallbacks(), sep='\n')
    elif what == 'serve':
        serve(int(args[0]), int(args[1]))
    elif what == 'send':
        send(args[0], int(args[1]), int(args[2]))
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main()

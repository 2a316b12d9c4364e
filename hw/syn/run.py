#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Synthesises modules for UltraScale+ with Yosys, one by one, and prints their size and logic depth.

Fails on a latch, a combinational loop or a Yosys error. Depth is the longest path of cells (LUT, MUXF, CARRY) between registers, memories
and ports; "luts" the longest one if LUTs alone count: a carry or a MUXF costs a tenth of what a LUT and the way to it cost. Default parameters, unless syn/params names others: "<module> NAME=VALUE ...". "<module> check NAME=VALUE ..." there: only elaborated, flattened and
searched for latches, loops and drivers that conflict, for modules that hold others which are measured alone.
"""
import argparse
import json
import re
import resource
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RTL = HERE.parent / "rtl"


def read_params():
    params = {}
    path = HERE / "params"
    if path.exists():
        for line in path.read_text().splitlines():
            words = line.split("#")[0].split()
            if words:
                params[words[0]] = words[1:]
    return params


def depth(design, counted):
    """Most cells of which the type begins so on a path through combinational cells, or None if there is a loop. Kahn's order over cells."""
    module = next(m for m in design["modules"].values() if m.get("attributes", {}).get("top"))
    cells = [c for c in module["cells"].values() if re.fullmatch(r"LUT\d(_2)?|INV|MUXF\d|MUXCY|XORCY|CARRY\d", c["type"])]
    driver = {}
    for i, cell in enumerate(cells):
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "output":
                driver.update((bit, i) for bit in bits)
    sinks = [[] for _ in cells]
    missing = [0] * len(cells)
    for i, cell in enumerate(cells):
        sources = {driver[bit] for port, bits in cell["connections"].items() if cell["port_directions"][port] == "input"
                   for bit in bits if bit in driver}
        missing[i] = len(sources)
        for src in sources:
            sinks[src].append(i)
    cost = [int(cell["type"].startswith(counted)) for cell in cells]
    level = cost[:]
    ready = [i for i, n in enumerate(missing) if n == 0]
    done = 0
    while ready:
        i = ready.pop()
        done += 1
        for sink in sinks[i]:
            level[sink] = max(level[sink], level[i] + cost[sink])
            missing[sink] -= 1
            if missing[sink] == 0:
                ready.append(sink)
    return max(level, default=0) if done == len(cells) else None


def settings(params):
    return "".join(f" -chparam {p.split('=')[0]} {p.split('=')[1]}" for p in params)


def yosys(script, log, limit):
    """Runs a script; an error message, or None. The limit is processor time of Yosys and of ABC: how busy the machine is does not change what is measured."""
    def less():
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))

    with open(log, "w") as f:
        try:
            rc = subprocess.run(["yosys", "-p", script], stdout=f, stderr=subprocess.STDOUT, check=False, timeout=20 * limit, preexec_fn=less).returncode
        except subprocess.TimeoutExpired:
            rc = -1
    if rc < 0:
        return f"not finished after {limit} s, see {log}"
    return log.read_text().strip().splitlines()[-1] if rc else None


def check(module, params, out, limit, parts):
    """The whole of a module, before technology mapping; parts: not flattened as well. An error message, or None."""
    # Each module first: what opt_clean takes away is looked at, too.
    look = "check -assert; select -assert-none t:$dlatch t:$adlatch t:$dlatchsr t:$sr"
    script = (f"read_verilog -I{RTL} {RTL}/{module}.v; hierarchy -libdir {RTL} -check -top {module}{settings(params)}; proc; {look}"
              + ("" if parts else f"; flatten; opt_clean; {look}"))
    return yosys(script, out / f"{module}.log", limit)


def synthesise(module, params, out, limit):
    netlist = out / f"{module}.json"
    script = (f"read_verilog -I{RTL} {RTL}/{module}.v; hierarchy -libdir {RTL} -check -top {module}{settings(params)}; "
              f"synth_xilinx -family xcup -uram -flatten -noiopad -noclkbuf; check -assert; stat; write_json {netlist}")
    log = out / f"{module}.log"
    error = yosys(script, log, limit)
    if error:
        return None, error
    text = log.read_text()
    cells = {}
    for line in text[text.rindex("Printing statistics"):].splitlines():
        m = re.match(r"\s+([A-Z0-9_]+)\s+(\d+)$", line)
        if m:
            cells[m.group(1)] = int(m.group(2))
    def total(pattern):
        return sum(n for name, n in cells.items() if re.fullmatch(pattern, name))

    design = json.loads(netlist.read_text())
    row = {
        "LUT": total(r"LUT\d|INV"), "LUTRAM": total(r"RAM\d+.*"), "SRL": total(r"SRL.*"), "FF": total(r"FD[RSCP]E(_1)?"),
        "BRAM": total(r"RAMB36.*") + total(r"RAMB18.*") / 2, "URAM": total(r"URAM.*"), "depth": depth(design, ""), "luts": depth(design, ("LUT", "INV")),
    }
    latches = total(r"LD[CP]E.*|\$_DLATCH.*")
    if latches:
        return row, f"{latches} latches"
    if row["depth"] is None:
        row["depth"] = row["luts"] = 0
        return row, "combinational loop"
    return row, None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=600, help="seconds of processor time for a module")
    parser.add_argument("--parts", action="store_true", help="of modules that are only checked, their parts alone, not flattened: a minute for the whole card")
    parser.add_argument("modules", nargs="+")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    params = read_params()
    names = ("LUT", "LUTRAM", "SRL", "FF", "BRAM", "URAM", "depth", "luts")
    passed = failed = 0
    print(f"{'module':28}" + "".join(f"{n:>8}" for n in names))
    for module in args.modules:
        if params.get(module, [])[:1] == ["check"]:
            error = check(module, params[module][1:], args.out, args.limit, args.parts)
            if not error:
                print(f"{module:28}  checked, not mapped", flush=True)
                passed += 1
            else:
                print(f"FAIL {module}: {error}", flush=True)
                failed += 1
            continue
        row, error = synthesise(module, params.get(module, []), args.out, args.limit)
        if row:
            print(f"{module:28}" + "".join(f"{row[n]:>8g}" for n in names), flush=True)
        if error:
            print(f"FAIL {module}: {error}", flush=True)
            failed += 1
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs rdma-core's own pyverbs tests: each module in a process of its own, each test with a time limit. Which tests those are is rdma-core's business.

pyverbs_run.py TESTS_DIR DEVICE SECONDS_PER_TEST AT_LEAST [MODULE...]

Prints a line for each test, then the skipped ones by reason, last "N passed, M failed". Fails if a test fails, hangs or kills its process, or if
fewer than AT_LEAST pass. Tests that name a vendor are left out.
"""
import collections
import importlib.machinery
import json
import os
import re
import select
import signal
import sys
import time
import traceback
import unittest

VENDOR = re.compile(r'mlx5|efa|irdma', re.I)
START, END = 'start', 'end'


def flatten(suite):
    for t in suite:
        if isinstance(t, unittest.TestSuite):
            yield from flatten(t)
        else:
            yield t


def load(directory, device):
    """{module: {test id: test}}; the arguments are parsed as rdma-core's own run_tests.py does it."""
    sys.path.insert(0, directory)
    from args_parser import parser
    sys.argv = ['run_tests.py', '--dev', device]
    parser.parse_args()
    package = importlib.machinery.SourceFileLoader('tests', os.path.join(directory, '__init__.py')).load_module()
    modules = collections.defaultdict(dict)
    for m in package.__test_modules__:
        for t in flatten(unittest.defaultTestLoader.loadTestsFromModule(m)):
            # A test class that another module imports is found there again, under the same id.
            if not VENDOR.search(t.id()):
                modules[t.id().split('.')[1]].setdefault(t.id(), t)
    return modules


def run_one(test):
    """-> (verdict, why). A suite of one, so that setUpClass and what it skips belong to the test."""
    r = unittest.TestResult()
    unittest.TestSuite([test]).run(r)
    for _, text in r.failures + r.errors:
        return 'FAIL', text
    if r.unexpectedSuccesses:
        return 'FAIL', 'unexpected success'
    if r.skipped:
        return 'skip', r.skipped[0][1]
    return ('ok', '') if r.testsRun else ('FAIL', 'did not run')


def worker(tests, fd):
    """In the child: reports each test's start and end at once, so that it is known what hung or killed the process."""
    with os.fdopen(fd, 'w', buffering=1) as out:
        for name, test in tests.items():
            out.write(json.dumps([START, name, '', '']) + '\n')
            out.write(json.dumps([END, name, *run_one(test)]) + '\n')


def where(group):
    """What the processes of a group wait for."""
    out = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            if os.getpgid(int(pid)) == group:
                for task in os.listdir(f'/proc/{pid}/task'):
                    with open(f'/proc/{pid}/task/{task}/wchan', encoding='ascii') as f:
                        out.append(f'{pid}: {f.read()}')
        except OSError:  # has ended meanwhile
            continue
    return ', '.join(out)


def run_process(tests, limit):
    """Runs tests in one process until all are done, one takes too long, or the process dies. -> {id: (verdict, why)}, at least one entry."""
    r, w = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.setpgid(0, 0)
            os.close(r)
            worker(tests, w)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(w)
    done, running, text, why = {}, next(iter(tests)), b'', ''
    end = time.monotonic() + limit
    while not why:
        if not select.select([r], [], [], max(0, end - time.monotonic()))[0]:
            why = f'no end after {limit:.0f} s, waits in {where(pid)}'
            break
        data = os.read(r, 65536)
        if not data:
            break
        *lines, text = (text + data).split(b'\n')
        for line in lines:
            event, name, verdict, reason = json.loads(line)
            end = time.monotonic() + limit
            running = name if event == START else None
            if event == END:
                done[name] = verdict, reason
                report(name, verdict, reason)
    os.close(r)
    try:  # the worker if it hangs, and children that a test left behind
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    pidfd = os.pidfd_open(pid)
    ended = select.select([pidfd], [], [], 20)[0]
    os.close(pidfd)
    if ended:
        status = os.waitpid(pid, 0)[1]
    else:
        why += '; cannot be killed'
    if running:
        done[running] = 'FAIL', why or f'its process ended (wait status {status})'
        report(running, *done[running])
    return done


def report(name, verdict, why):
    print(f'{verdict} {name}' + (': ' + why.splitlines()[0] if verdict == 'skip' and why else ''), flush=True)
    if verdict == 'FAIL':
        print('    ' + '\n    '.join(why.rstrip().splitlines()), flush=True)


def main():
    directory, device, limit, at_least, *only = sys.argv[1:]
    modules = load(directory, device)
    if set(only) - modules.keys():
        sys.exit(f'no such module: {" ".join(set(only) - modules.keys())}')
    print(f'{sum(map(len, modules.values()))} tests in {len(modules)} modules', flush=True)
    results = {}
    for name, tests in sorted(modules.items()):
        if only and name not in only:
            continue
        start = time.monotonic()
        todo = dict(tests)
        while todo:
            done = run_process(todo, float(limit))
            results.update(done)
            todo = {i: t for i, t in todo.items() if i not in done}
        print(f'-- {name}: {len(tests)} tests, {time.monotonic() - start:.0f} s', flush=True)

    count = collections.Counter(v for v, _ in results.values())
    reasons = collections.defaultdict(list)
    for name, (verdict, why) in results.items():
        if verdict == 'skip':
            reasons[(why.splitlines() or ['no reason given'])[0]].append(name.split('.', 1)[1])
    print(f'{count["skip"]} skipped:')
    for why, names in sorted(reasons.items(), key=lambda x: -len(x[1])):
        print(f'  {len(names):3} {why}')
        for n in names:
            print(f'        {n}')
    failed = count['FAIL']
    if count['ok'] < int(at_least):
        print(f'FAIL only {count["ok"]} tests pass, {at_least} should')
        failed += 1
    print(f'{count["ok"]} passed, {failed} failed', flush=True)
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())

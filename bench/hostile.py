#!/usr/bin/env python3
"""Measures what clients that misbehave cost those that do not: the p99 of a steady load of puts and of reads through gRPC,
alone, while thousands of hostile connections are opened, beside them once they are open, and, as a control, beside a program
that opens nothing and burns as much of the processors as the attacker did. Prints all of them and their ratios; the target
(1.5) is for those that are open.

The hostile ones, in equal parts, each opened again when the server ends it: heads of HTTP/1.1 that come a byte at a time
and never end, bodies that do not come, frames of HTTP/2 that come a byte at a time, connections that say nothing,
requests whose client closes its half, gRPC and HTTP clients that ask for ranges and watches and never read, and
WebSockets that watch and never read (tests/process/hostile_kinds.py).

  bench/hostile.py                            5,000 connections, five rounds (about six minutes)
  bench/hostile.py --connections 100 --rounds 1 --seconds 2
  bench/hostile.py --kinds "unread watch" --kinds silent
  bench/hostile.py --endpoint HOST:PORT --pid PID    a server that runs already, an etcd as well
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("KVORUM_BIN_DIR", str(ROOT / "build" / "release" / "bin"))
sys.path.insert(0, str(ROOT / "tests" / "process"))

import hostile_kinds  # noqa: E402
import server  # noqa: E402

TARGET = 1.5
METHODS = ("put", "range")
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def program(name):
    return os.path.join(os.environ["KVORUM_BIN_DIR"], name)


class Beside:
    """A kvorum-hostile, ended with the block."""

    def __init__(self, *arguments):
        self.arguments = arguments

    def __enter__(self):
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [program("kvorum-hostile"), *self.arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def wait_open(self):
        if self.process.stdout.readline() != "open\n":
            sys.exit("the hostile connections could not be opened")

    def __exit__(self, *_):
        self.process.stdin.close()
        self.report = self.process.stdout.readlines()
        self.process.wait()


class Bench:
    def __init__(self, options, endpoint, pid, kinds):
        self.options = options
        self.endpoint = endpoint
        self.pid = pid
        self.kinds = kinds

    def attack(self):
        return Beside("--endpoint", self.endpoint, "--kinds", self.kinds, "--connections", str(self.options.connections),
                      "--open-rate", str(self.options.open_rate), "--reopen-rate", str(self.options.reopen_rate),
                      "--trickle-seconds", str(self.options.trickle_seconds))

    def start(self, method):
        return subprocess.Popen(
            [program("kvorum-bench"), "--json", "--endpoint", self.endpoint, "--connections", "4", "--streams", "4",
             "--rate", str(self.options.rate), "--seconds", str(self.options.seconds),
             "--warmup", str(self.options.warmup), "--keys", "10000", method],
            stdout=subprocess.PIPE, text=True)

    def measure(self, beside=None):
        """p99 in microseconds of puts and of ranges at a steady rate; shares of a processor that others and the server
        used meanwhile."""
        pids = {"server": self.pid} | ({"beside": beside.process.pid} if beside else {})
        running = {method: self.start(method) for method in METHODS}
        begin = time.monotonic()
        before = {name: cpu_seconds(pid) for name, pid in pids.items()}
        measured = {}
        for method, process in running.items():
            said, _ = process.communicate()
            if process.returncode != 0:
                sys.exit(f"kvorum-bench {method} failed")
            report = json.loads(said)
            if report["failures"] > 0:
                sys.exit(f"{method}: {report['failures']} calls failed: {report['first_failure']}")
            measured[method] = report["p99_us"]
        elapsed = time.monotonic() - begin
        for name, pid in pids.items():
            measured[name] = round((cpu_seconds(pid) - before[name]) / elapsed, 3)
        return measured

    def settle(self):
        """The first answers and events go out until the sockets of those that never read are full: work that ends."""
        end = time.monotonic() + self.options.settle
        while time.monotonic() < end:
            self.measure()

    def round(self):
        figures = {"alone": self.measure()}
        with self.attack() as attack:
            figures["opening"] = self.measure(attack)
            attack.wait_open()
            self.settle()
            figures["beside"] = self.measure(attack)
        figures["control"] = figures["alone"]
        if figures["beside"]["beside"] > 0:
            with Beside("--burn", str(figures["beside"]["beside"])) as burner:
                figures["control"] = self.measure(burner)
        return figures, json.loads(attack.report[0])


def run(options, endpoint, pid, kinds):
    bench = Bench(options, endpoint, pid, kinds)
    rounds = []
    for turn in range(options.rounds):
        figures, report = bench.round()
        rounds.append(figures)
        print(f"round {turn + 1}: {report}", flush=True)
        for name, figure in figures.items():
            print(f"  {name}: {figure}", flush=True)
    worst = 0.0
    for method in METHODS:
        p99 = {name: statistics.median(figures[name][method] for figures in rounds) for name in rounds[0]}
        worst = max(worst, p99["beside"] / p99["alone"])
        print(f"{method}: p99 {p99['alone']:.0f} us alone; " + ", ".join(
            f"{name} {p99[name]:.0f} us ({p99[name] / p99['alone']:.2f} times)" for name in ("control", "opening", "beside"))
            + f"; target {TARGET}")
    return 0 if worst <= TARGET or options.any_ratio else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    parser.add_argument("--warmup", type=float, default=1, help="seconds before each of them")
    parser.add_argument("--settle", type=float, default=15, help="seconds of load between the connections and the measurement")
    parser.add_argument("--rate", type=int, default=1000, help="puts a second, and ranges")
    parser.add_argument("--open-rate", type=int, default=1000, help="hostile connections a second")
    parser.add_argument("--reopen-rate", type=int, default=100, help="a second, of those that the server has ended")
    parser.add_argument("--trickle-seconds", type=float, default=10, help="between two bytes of a connection: long before "
                        "any time limit of the server")
    parser.add_argument("--kinds", action="append", choices=[kind.name for kind in hostile_kinds.KINDS])
    parser.add_argument("--any-ratio", action="store_true", help="a ratio beyond the target is no failure")
    parser.add_argument("--endpoint", help="of a server that runs already")
    parser.add_argument("--pid", type=int, help="of that server")
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.NamedTemporaryFile("w") as kinds, server.Server() as started:
        kinds.writelines(kind.line() for kind in hostile_kinds.KINDS if kind.name in (options.kinds or [kind.name]))
        kinds.flush()
        if options.endpoint is None:
            started.start()
        return run(options, options.endpoint or started.endpoint, options.pid or started.process.pid, kinds.name)


if __name__ == "__main__":
    sys.exit(main())

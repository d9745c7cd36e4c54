#!/usr/bin/env python3
"""Measures three members of kvorum beside three of the packaged etcd, on one machine, in one run, with the same
settings: data on disk, 32-byte keys, 256-byte values, connections spread over all members. Prints the medians, their
ratios and the targets.

All members, and the load, share the machine's cores, so it measures what a call costs in all, not how a cluster of
three machines scales. Run it on a quiet machine.

  bench/compare_cluster.py                          three rounds, about six minutes
  bench/compare_cluster.py --only kvorum --rounds 1
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import compare
import ports

ROOT = compare.ROOT
# Calls in flight: connections and calls on each.
FLIGHTS = {1: (1, 1), 64: (8, 8), 256: (8, 32)}


class Cluster:
    """`size` server processes on free ports over one folder; a context manager that stops them."""

    def __init__(self, program, folder, size):
        free = ports.free_ports(2 * size)
        self._program = program
        self._folder = folder
        self._members = [(f"m{n}", f"127.0.0.1:{free[2 * n]}", f"127.0.0.1:{free[2 * n + 1]}") for n in range(size)]
        self._processes = []

    @property
    def endpoints(self):
        return [client for _, client, _ in self._members]

    @property
    def pids(self):
        return [process.pid for process in self._processes]

    def start(self, ctl):
        everyone = ",".join(f"{name}=http://{peer}" for name, _, peer in self._members)
        for name, client, peer in self._members:
            with open(self._folder / f"{name}.log", "ab") as log:
                self._processes.append(subprocess.Popen(
                    [str(self._program), f"--name={name}", f"--data-dir={self._folder / name}",
                     f"--listen-client-urls=http://{client}", f"--advertise-client-urls=http://{client}",
                     f"--listen-peer-urls=http://{peer}", f"--initial-advertise-peer-urls=http://{peer}",
                     f"--initial-cluster={everyone}", f"--quota-backend-bytes={8 << 30}"],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        end = time.monotonic() + compare.READY_LIMIT_SECONDS
        while self.leader(ctl) is None:
            if any(process.poll() is not None for process in self._processes):
                raise RuntimeError(f"a member ended: see {self._folder}")
            if time.monotonic() > end:
                raise RuntimeError(f"no leader: see {self._folder}")
            time.sleep(0.1)

    def leader(self, ctl):
        """The leader's endpoint when all members answer and agree, else None."""
        done = subprocess.run([str(ctl), "--endpoints", ",".join(self.endpoints), "endpoint", "status", "-w", "json"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        try:
            answers = json.loads(done.stdout) or []
        except ValueError:
            return None
        leaders = {answer["Status"].get("leader", 0) for answer in answers}
        if len(answers) != len(self._members) or len(leaders) != 1 or 0 in leaders:
            return None
        return next((a["Endpoint"] for a in answers if a["Status"]["header"]["member_id"] in leaders), None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(compare.STOP_LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class ClusterBench(compare.Bench):
    def call(self, members, endpoints, flight, *arguments, seconds=None):
        connections, streams = FLIGHTS[flight]
        how_long = ("--count", self._options.keys) if seconds is None else \
            ("--seconds", seconds, "--warmup", self._options.warmup)
        done = subprocess.run(
            [str(self._options.bench), "--json", "--endpoint", ",".join(endpoints), "--pid",
             ",".join(map(str, members.pids)), *map(str, how_long), "--connections", str(connections), "--streams",
             str(streams), *map(str, arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
        report = json.loads(done.stdout or "{}")
        if done.returncode != 0:
            raise RuntimeError(f"kvorum-bench {arguments}: {report.get('first_failure', 'failed')}")
        return report

    def measure(self, name, measure, members, endpoints, flight, *arguments):
        report = self.call(members, endpoints, flight, "--keys", self._options.keys, *arguments, seconds=self._options.seconds)
        self.record(name, f"{measure} /s", report["per_second"])
        self.record(name, f"{measure} p50 us", report["p50_us"])
        self.record(name, f"{measure} cpu us", report["server_cpu_us"])
        print(f"  {name:6} {measure:34} {report['per_second']:9.0f}/s  p50 {report['p50_us']:8.0f} us  p99 "
              f"{report['p99_us']:8.0f} us  CPU of all members {report['server_cpu_us']:7.1f} us", flush=True)

    def three(self, name, program, folder):
        with Cluster(program, folder, 3) as members:
            members.start(self._options.ctl)
            self.call(members, members.endpoints, 64, "--keys", self._options.keys, "--sequential", "put")
            for flight in FLIGHTS:
                # One call in flight is with one member: with the leader, and with another.
                leader = members.leader(self._options.ctl)
                others = [e for e in members.endpoints if e != leader]
                places = [("", [leader]), (", at a follower", others[:1])] if flight == 1 else [("", members.endpoints)]
                for place, endpoints in places:
                    self.measure(name, f"put, {flight} in flight{place}", members, endpoints, flight, "put")
                    self.measure(name, f"range, {flight} in flight{place}", members, endpoints, flight, "range")

    def one(self, name, program, folder):
        with Cluster(program, folder, 1) as members:
            members.start(self._options.ctl)
            self.call(members, members.endpoints, 64, "--keys", self._options.keys, "--sequential", "put")
            for flight in (64, 256):
                self.measure(name, f"put to one member, {flight} in flight", members, members.endpoints, flight, "put")


def rows(bench):
    """(what, etcd's, kvorum's, ratio, target, met), as compare.print_table takes them."""
    def row(what, measure, unit, target, at_least):
        peer, ours = bench.median("etcd", measure), bench.median("kvorum", measure)
        result = compare.ratio(ours, peer)
        met = None if result is None or target is None else (result >= target if at_least else result <= target)
        sign = "" if target is None else f"at {'least' if at_least else 'most'} {target:g}"
        shown = ["" if v is None else f"{v:,.0f} {unit}" for v in (peer, ours)]
        return (what, *shown, "" if result is None else f"{result:.2g}", sign, met)

    for flight in FLIGHTS:
        target = 4 if flight > 1 else None
        yield row(f"put, {flight} in flight", f"put, {flight} in flight /s", "/s", target, True)
    for flight in FLIGHTS:
        target = 8 if flight > 1 else None
        yield row(f"range, linearizable, {flight} in flight", f"range, {flight} in flight /s", "/s", target, True)
    yield row("one put in flight, p50", "put, 1 in flight p50 us", "us", 0.5, False)
    yield row("one put in flight at a follower, p50", "put, 1 in flight, at a follower p50 us", "us", None, False)
    yield row("one range in flight, p50", "range, 1 in flight p50 us", "us", None, False)
    for flight in (64, 256):
        three = {n: bench.median(n, f"put, {flight} in flight cpu us") for n in ("etcd", "kvorum")}
        one = {n: bench.median(n, f"put to one member, {flight} in flight cpu us") for n in ("etcd", "kvorum")}
        ratios = {n: compare.ratio(three[n], one[n]) for n in three}
        shown = ["" if three[n] is None or one[n] is None else f"{three[n]:.1f} to {one[n]:.1f} us"
                 for n in ("etcd", "kvorum")]
        ours = ratios["kvorum"]
        yield (f"CPU of a put, three members to one, {flight} in flight", *shown, "" if ours is None else f"{ours:.2g}",
               "at most 3.5", None if ours is None else ours <= 3.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="of each measure")
    parser.add_argument("--warmup", type=float, default=1, help="seconds before each measure")
    parser.add_argument("--keys", type=int, default=compare.SMALL_KEY_SPACE)
    parser.add_argument("--only", choices=["etcd", "kvorum"])
    parser.add_argument("--data-root", type=pathlib.Path, default=ROOT / "build" / "bench-data")
    parser.add_argument("--etcd", type=pathlib.Path, default=ROOT / "build/peer/usr/bin/etcd")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin",
                        help="where kvorum, kvorumctl and kvorum-bench are")
    parser.add_argument("--report", type=pathlib.Path, default=ROOT / "build" / "compare_cluster.json",
                        help="where all samples go, as JSON")
    parser.add_argument("--any-file-system", action="store_true",
                        help="data may be in memory: to try the tool, not to measure")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a target is missed")
    options = parser.parse_args()
    options.bench, options.ctl = options.bin / "kvorum-bench", options.bin / "kvorumctl"

    programs = {"etcd": options.etcd, "kvorum": options.bin / "kvorum"}
    if options.only:
        programs = {options.only: programs[options.only]}
    for program in (*programs.values(), options.bench, options.ctl):
        if not os.access(program, os.X_OK):
            sys.exit(f"compare_cluster: {program} is missing: `make bench` builds and unpacks it")
    options.data_root.mkdir(parents=True, exist_ok=True)
    if not options.any_file_system and not compare.on_disk(options.data_root):
        sys.exit(f"compare_cluster: {options.data_root} is in memory; name a folder on disk with --data-root")

    bench = ClusterBench(options)
    for number in range(1, options.rounds + 1):
        print(f"round {number} of {options.rounds}, load {os.getloadavg()[0]:.1f}", flush=True)
        bench.probe_disk(options.data_root)
        for phase in (bench.three, bench.one):
            for name, program in programs.items():
                folder = options.data_root / f"{os.getpid()}-{name}"
                with contextlib.suppress(FileNotFoundError):
                    shutil.rmtree(folder)
                folder.mkdir()
                phase(name, program, folder)
                shutil.rmtree(folder)  # kept when the phase failed: its logs are in there

    table = list(rows(bench))
    compare.print_table(table)
    options.report.write_text(json.dumps(bench.samples(), indent=1) + "\n")
    print(f"All samples: {options.report}")
    return 1 if options.strict and any(met is False for *_, met in table) else 0


if __name__ == "__main__":
    sys.exit(main())

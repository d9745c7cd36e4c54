#!/usr/bin/env python3
"""Measures three members of kvorum beside three of etcd, on one machine, in one run, with the same
settings: data on disk, 32-byte keys, 256-byte values, connections spread over all members. Prints the medians, their
ratios and the targets.

All members, and the load, share the machine's cores, so it measures what a call costs in all, not how a cluster of
three machines scales. Run it on a quiet machine.

  bench/compare_cluster.py                          three rounds, about six minutes
  bench/compare_cluster.py --only kvorum --rounds 1
  bench/compare_cluster.py --memory-root /dev/shm  also with data in memory, as if each member had a disk of its own
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile

import measures
import programs
import servers
from table import print_table, ratio

FLIGHTS = (1, 64, 256)
IN_MEMORY = ", data in memory"


def syncs(members):
    return sum(member.metric("etcd_disk_wal_fsync_duration_seconds_count") or 0 for member in members.members)


class ClusterBench(measures.Bench):
    def preload(self, members):
        self.load(members, *measures.in_flight(64), "--keys", self._options.keys, "--count", self._options.keys,
                  "--sequential", "put")

    def calls(self, name, members, measure, flight, operation, endpoints=None):
        self.measure(name, members, measure, "--warmup", self._options.warmup, *measures.in_flight(flight), "--keys",
                     self._options.keys, operation, endpoints=endpoints)

    def three(self, name, program, folder, where=""):
        with servers.Cluster(program, folder, 3) as members:
            members.start()
            self.preload(members)
            for flight in FLIGHTS:
                # One call in flight is with one member: with the leader, and with another.
                leader = members.leader().endpoint
                others = [e for e in members.endpoints if e != leader]
                places = [("", [leader]), (", at a follower", others[:1])] if flight == 1 else [("", None)]
                for place, endpoints in places:
                    for operation in ("put", "range"):
                        self.counted(name, members, f"{operation}, {flight} in flight{place}{where}", flight, operation,
                                     endpoints)
            self.counted(name, members, f"txn, 64 in flight{where}", 64, "txn")

    def in_memory(self, name, program, _):
        """No sync waits there: what three members on one disk wait for each other is left out."""
        with tempfile.TemporaryDirectory(dir=self._options.memory_root) as folder:
            self.three(name, program, pathlib.Path(folder), IN_MEMORY)

    def counted(self, name, members, measure, *arguments):
        """With the syncs of all members' logs for each call, as if it warmed up at the same rate."""
        before = syncs(members)
        self.calls(name, members, measure, *arguments)
        calls = self._samples[(name, f"{measure} /s")][-1] * (self._options.seconds + self._options.warmup)
        self.record(name, f"{measure} syncs", (syncs(members) - before) / calls)

    def one(self, name, program, folder):
        with servers.Server(program, folder) as server:
            server.start()
            self.preload(server)
            for flight in (64, 256):
                self.calls(name, server, f"put to one member, {flight} in flight", flight, "put")


def rows(bench):
    """(what, etcd's, kvorum's, ratio, target, met), as print_table takes them."""
    def row(what, measure, unit, target, at_least, digits=0):
        peer, ours = bench.median("etcd", measure), bench.median("kvorum", measure)
        result = ratio(ours, peer)
        met = None if result is None or target is None else (result >= target if at_least else result <= target)
        sign = "" if target is None else f"at {'least' if at_least else 'most'} {target:g}"
        shown = ["" if v is None else f"{v:,.{digits}f} {unit}".strip() for v in (peer, ours)]
        return (what, *shown, "" if result is None else f"{result:.2g}", sign, met)

    for flight in FLIGHTS:
        target = 4 if flight > 1 else None
        yield row(f"put, {flight} in flight", f"put, {flight} in flight /s", "/s", target, True)
    for flight in FLIGHTS:
        target = 8 if flight > 1 else None
        yield row(f"range, linearizable, {flight} in flight", f"range, {flight} in flight /s", "/s", target, True)
    yield row("guarded txn, 64 in flight", "txn, 64 in flight /s", "/s", None, True)
    yield row("one put in flight, p50", "put, 1 in flight p50 us", "us", 0.5, False)
    yield row("one put in flight at a follower, p50", "put, 1 in flight, at a follower p50 us", "us", None, False)
    yield row("one range in flight, p50", "range, 1 in flight p50 us", "us", None, False)
    for flight in FLIGHTS:
        yield row(f"syncs of a put, {flight} in flight", f"put, {flight} in flight syncs", "", None, False, digits=3)
    yield row(f"one put in flight, p50{IN_MEMORY}", f"put, 1 in flight{IN_MEMORY} p50 us", "us", None, False)
    for call, flight in (("put", 64), ("put", 256), ("range", 64), ("range", 256), ("txn", 64)):
        yield row(f"{call}, {flight} in flight{IN_MEMORY}", f"{call}, {flight} in flight{IN_MEMORY} /s", "/s", None, True)
    for flight in (64, 256):
        three = {n: bench.median(n, f"put, {flight} in flight cpu us") for n in ("etcd", "kvorum")}
        one = {n: bench.median(n, f"put to one member, {flight} in flight cpu us") for n in ("etcd", "kvorum")}
        ratios = {n: ratio(three[n], one[n]) for n in three}
        shown = ["" if three[n] is None or one[n] is None else f"{three[n]:.1f} to {one[n]:.1f} us"
                 for n in ("etcd", "kvorum")]
        ours = ratios["kvorum"]
        yield (f"CPU of a put, three members to one, {flight} in flight", *shown, "" if ours is None else f"{ours:.2g}",
               "at most 3.5", None if ours is None else ours <= 3.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    measures.add_rounds(parser)
    programs.add_programs(parser, "compare_cluster.json")
    programs.add_any_file_system(parser)
    parser.add_argument("--memory-root", type=pathlib.Path, help="a folder in memory (tmpfs): measures there, too")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a target is missed")
    options = parser.parse_args()
    programs.check(options, options.bench)

    bench = ClusterBench(options)
    for number in range(1, options.rounds + 1):
        print(f"round {number} of {options.rounds}, load {os.getloadavg()[0]:.1f}", flush=True)
        bench.probe_disk(options.data_root)
        for phase in (bench.three, *((bench.in_memory,) if options.memory_root else ()), bench.one):
            programs.measure_each(options, phase)

    table = list(rows(bench))
    print_table([row for row in table if any(row[1:3])])
    options.report.write_text(json.dumps(bench.samples(), indent=1) + "\n")
    print(f"All samples: {options.report}")
    return 1 if options.strict and any(met is False for *_, met in table) else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""One node, or the members of a cluster, under full load for as long as it is told: puts, ranges, transactions, watchers
that come and go, leases granted, kept alive and expiring with their keys, automatic compaction. Prints a line a window
(a minute), and at the end whether anything grew.

  bench/soak.py --minutes 10
  bench/soak.py --minutes 30 --members 3

It fails (exit code 1) when a call failed, when memory or files in the last quarter of the time are above those of the
second quarter by more than --growth and --file-growth, when descriptors or threads of the idle servers are more than
they were after a first burst of the same load, or when the p99.9 of puts in the last window is above --slower times
that of the first.
"""

import argparse
import json
import os
import pathlib
import shutil
import sys
import time

import programs
import servers
from measures import Bench, in_flight
from servers import MIB
from soak_load import SoakLoad
from soak_samples import Sampler, idle_counts, verdicts
from table import met_word


class Soak(Bench):
    """The load's windows, one after another, and what puts reported in each."""

    def __init__(self, options, cluster):
        super().__init__(options)
        self.cluster = cluster
        self.load_of = SoakLoad(options, cluster)
        self.windows = []

    def preload(self):
        keys = self._options.keys
        self.load(self.cluster, *in_flight(256), "--keys", keys, "--sequential", "--count", keys, "put")

    def window(self, seconds, sampler):
        number = len(self.windows) + 1
        puts = self.load_of.run(number, seconds)
        now = sampler.sample()
        self.windows.append({"puts": puts, "samples": now})
        most = {name: max(values[name] for values in now) for name in now[0] if name != "seconds"}
        print(f"  {number:6} {puts['per_second']:9.0f} {puts['p50_us']:8.0f} {puts['p99_us']:8.0f} "
              f"{puts['p999_us']:9.0f} {most['memory'] / MIB:11.1f} {most['descriptors']:11} {most['threads']:7} "
              f"{most['file'] / MIB:9.1f}", flush=True)


def run(options, folder):
    """(what, found, met) of each demand; the report's content."""
    flags = ("--auto-compaction-mode=revision", f"--auto-compaction-retention={options.retention}",
             f"--auto-compaction-revision-interval={options.compaction_interval}",
             f"--snapshot-count={options.snapshot_count}")
    with servers.Cluster(options.kvorum, folder, options.members, flags) as cluster:
        cluster.start()
        soak = Soak(options, cluster)
        soak.preload()
        with soak.load_of.leases():
            soak.load_of.run(0, options.warmup)
        idle = idle_counts(cluster, options.settle)
        windows = max(2, round(options.minutes * 60 / options.window))
        print(f"{options.members} member(s), {windows} windows of {options.window:g} s; the largest of the members:\n"
              "  window    puts/s   p50 us   p99 us  p99.9 us  memory MiB descriptors threads  file MiB", flush=True)
        with Sampler(cluster, options.every) as sampler, soak.load_of.leases():
            for _ in range(windows):
                soak.window(options.window, sampler)
        found = list(verdicts(options, soak.windows, sampler.series, idle,
                              idle_counts(cluster, options.settle, down_to=idle)))
        found.append(("calls of the load that failed", f"{len(soak.load_of.failures)} "
                      f"{'; '.join(soak.load_of.failures[:3])}", not soak.load_of.failures))
        return found, {"windows": soak.windows, "series": sampler.series}


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--members", type=int, choices=(1, 3, 5), default=1)
    parser.add_argument("--window", type=float, default=60, help="seconds")
    parser.add_argument("--warmup", type=float, default=15, help="seconds of the same load before the first window")
    parser.add_argument("--settle", type=float, default=30, help="seconds, at most, for closed connections to be gone")
    parser.add_argument("--every", type=float, default=5, help="seconds between two samples")
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--retention", type=int, default=100_000, help="revisions that compaction keeps")
    parser.add_argument("--compaction-interval", default="10s", help="between two compactions")
    parser.add_argument("--snapshot-count", type=int, default=10_000)
    parser.add_argument("--ttl", type=int, default=20, help="seconds, of the leases that expire")
    parser.add_argument("--growth", type=float, default=1.1)
    parser.add_argument("--file-growth", type=float, default=1.25)
    parser.add_argument("--slower", type=float, default=1.3)
    parser.add_argument("--any-ratio", action="store_true",
                        help="latencies and growth do not count: to try the tool, not to measure")
    programs.add_programs(parser, "soak.json")
    programs.add_any_file_system(parser)
    options = parser.parse_args()
    options.only = "kvorum"
    return options


def main():
    options = parse_options()
    programs.check(options, options.bench, options.watch_bench)
    folder = options.data_root / f"{os.getpid()}-soak"
    folder.mkdir()
    found, report = run(options, folder)
    print("\n| | | |\n| --- | --- | --- |")
    for what, value, met in found:
        print(f"| {what} | {value} | {met_word(met)} |")
    pathlib.Path(options.report).write_text(json.dumps(report, indent=1) + "\n", encoding="ascii")
    print(f"All samples: {options.report}")
    failed = any(met is False for *_, met in found)
    if not failed:
        shutil.rmtree(folder)  # kept when it failed: the logs are in there
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

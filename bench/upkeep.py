#!/usr/bin/env python3
"""The latency of puts and ranges during an online defragmentation, a compaction, saves of a snapshot, and while a
follower gets the whole database, beside that without: windows of each kind follow each other in one run, so that the
machine's other load meets all of them.

  upkeep.py [--server PATH] [--bench PATH] [--ctl PATH] [--keys N] [--value-size N] [--rate N] [--seconds S]
            [--rounds N] [--calls put range] [--upkeep defragmentation compaction save reseed] [--dir FOLDER]

A window's defragmentations, compactions, saves or re-seeds follow each other without a pause, so that it is the worst
that a member may see. Compactions each drop as many revisions as the window's puts have made until then; before a
window with them all keys are overwritten, so that the first drops as many as there are keys. A save's client keeps
nothing. With `reseed`, which only kvorum has, all windows are those of three members on this machine, and calls go to
the leader.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import servers  # noqa: E402

QUOTA_BYTES = 16 << 30
BIN = os.environ.get("KVORUM_BIN_DIR", "build/release/bin")


class Repeated:
    """Does something again and again on a thread of its own until the end of the with."""

    def __init__(self, act):
        self.act = act
        self.times = 0
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ends.is_set():
            self.act()
            self.times += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()


class Run:
    def __init__(self, args, cluster):
        self.args = args
        leader = cluster.leader() if len(cluster.members) > 1 else cluster.members[0]
        self.endpoint = leader.endpoint
        self.followers = [member.endpoint for member in cluster.members if member is not leader]

    def bench(self, kind, *arguments, streams="4"):
        done = subprocess.run(
            [self.args.bench, "--json", "--endpoint", self.endpoint, "--keys", str(self.args.keys), "--value-size",
             str(self.args.value_size), "--connections", streams, "--streams", streams, *arguments, kind],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        report = json.loads(done.stdout)
        assert report["failures"] == 0, report["first_failure"]
        return report

    def ctl(self, *words, endpoint=None):
        return subprocess.run([self.args.ctl, "--endpoints", endpoint or self.endpoint, "--command-timeout", "120s", *words],
                              stdout=subprocess.PIPE, text=True, check=True).stdout

    def compact(self):
        revision = json.loads(self.ctl("endpoint", "status", "-w", "json"))[0]["Status"]["header"]["revision"]
        done = subprocess.run([self.args.ctl, "--endpoints", self.endpoint, "--command-timeout", "120s", "compact",
                               str(revision), "--physical"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              check=False)
        # There may be nothing since the last one.
        if b"has been compacted" in done.stderr:
            time.sleep(0.01)
        elif done.returncode != 0:
            raise SystemExit(done.stderr.decode())

    def window(self, upkeep, kind):
        """The p99 of a window in microseconds, and how often the upkeep ran."""
        if upkeep == "compaction":
            self.bench("put", "--sequential", "--count", str(self.args.keys))
        arguments = ["--rate", str(self.args.rate), "--seconds", str(self.args.seconds), "--warmup", "0.5"]
        if upkeep == "none":
            return self.bench(kind, *arguments)["p99_us"], 0
        with Repeated({"compaction": self.compact,
                       "defragmentation": lambda: self.ctl("defrag"),
                       "save": lambda: self.bench("snapshot", "--count", "1", streams="1"),
                       "reseed": lambda: self.ctl("member", "reseed", endpoint=self.followers[0])}[upkeep]) as repeated:
            p99 = self.bench(kind, *arguments)["p99_us"]
        return p99, repeated.times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=f"{BIN}/kvorum")
    parser.add_argument("--bench", default=f"{BIN}/kvorum-bench")
    parser.add_argument("--ctl", default=f"{BIN}/kvorumctl")
    parser.add_argument("--keys", type=int, default=500_000)
    parser.add_argument("--value-size", type=int, default=256)
    parser.add_argument("--rate", type=int, default=2_000, help="calls a second")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", nargs="+", choices=["put", "range"], default=["put", "range"])
    parser.add_argument("--upkeep", nargs="+", default=["defragmentation", "compaction", "save"],
                        choices=["defragmentation", "compaction", "save", "reseed"])
    parser.add_argument("--dir", default=tempfile.gettempdir(), help="for the data")
    args = parser.parse_args()

    members = 3 if "reseed" in args.upkeep else 1
    with (tempfile.TemporaryDirectory(prefix="kvorum-upkeep-", dir=args.dir) as folder,
          servers.Cluster(args.server, pathlib.Path(folder), members, quota_bytes=QUOTA_BYTES) as cluster):
        cluster.start()
        run = Run(args, cluster)
        run.bench("put", "--preload", str(args.keys), "--count", "1")
        found = {}
        for _ in range(args.rounds):
            for kind in args.calls:
                for upkeep in args.upkeep:
                    for what in ("none", upkeep):
                        found.setdefault((kind, what), []).append(run.window(what, kind))
    print(f"{members} member{'s' * (members > 1)}, {args.keys} keys of {args.value_size} bytes, {args.rate} calls a second, "
          f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n"
          "  calls  during            runs  p99 us (median)  times that without")
    for (kind, upkeep), rows in found.items():
        median = statistics.median(p99 for p99, _ in rows)
        plain = statistics.median(p99 for p99, _ in found[kind, "none"])
        print(f"  {kind:5}  {upkeep:15}  {sum(times for _, times in rows):5}  {median:15.0f}  {median / plain:18.2f}")


if __name__ == "__main__":
    main()

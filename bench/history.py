#!/usr/bin/env python3
"""Weeks of history in minutes: millions of puts on a few keys, without compaction and then with automatic compaction
by revision. The puts come in windows of equal size; for each it prints rate and latency, file, pages in use, memory.

  history.py [--server PATH] [--bench PATH] [--puts N] [--plain-puts N] [--windows N] [--keys N] [--value-size N]
             [--retention N] [--interval DURATION] [--connections N] [--streams N] [--dir FOLDER]

It fails (exit code 1) unless, with compaction, the file and the memory of the last half are at most --growth times
those of the first half's end, and the p99.9 of every window is at most --slower times the median of the windows
without compaction.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "process"))

import ports  # noqa: E402

BIN = os.environ.get("KVORUM_BIN_DIR", "build/release/bin")
MIB = 1 << 20


class Node:
    def __init__(self, args, *flags):
        self.folder = tempfile.mkdtemp(prefix="kvorum-history-", dir=args.dir)
        self.client, peer = (f"127.0.0.1:{ports.free_port()}" for _ in range(2))
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [args.server, "--name=n1", f"--data-dir={self.folder}/data", "--quota-backend-bytes=17179869184",
                 f"--listen-client-urls=http://{self.client}", f"--advertise-client-urls=http://{self.client}",
                 f"--listen-peer-urls=http://{peer}", f"--initial-advertise-peer-urls=http://{peer}",
                 f"--initial-cluster=n1=http://{peer}", *flags], stdout=log, stderr=log)
        end = time.monotonic() + 60
        while not self.is_healthy():
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"{args.server} does not start; see {self.log}")
            time.sleep(0.05)

    def is_healthy(self):
        try:
            with urllib.request.urlopen(f"http://{self.client}/health", timeout=1) as answer:
                return json.load(answer)["health"] == "true"
        except OSError:
            return False

    def sizes(self):
        """Of the database's file, and of its pages in use."""
        with urllib.request.urlopen(f"http://{self.client}/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        names = ("etcd_mvcc_db_total_size_in_bytes ", "etcd_mvcc_db_total_size_in_use_in_bytes ")
        return [float(next(line for line in lines if line.startswith(name)).split()[1]) for name in names]

    def anonymous_bytes(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf8") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon"))

    def compactions(self):
        with open(self.log, encoding="utf8") as log:
            return sum("finished scheduled compaction" in line for line in log)

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(120)
        shutil.rmtree(self.folder)


def run(args, title, puts, *flags):
    """A row for each window."""
    node = Node(args, *flags)
    print(f"\n{title}\n  window      puts   puts/s  p99 us  p99.9 us   max us  file MiB  in use MiB  memory MiB  compactions")
    rows = []
    try:
        for window in range(args.windows):
            count = puts // args.windows
            done = subprocess.run(
                [args.bench, "--json", "--endpoint", node.client, "--pid", str(node.process.pid), "--keys",
                 str(args.keys), "--value-size", str(args.value_size), "--connections", str(args.connections),
                 "--streams", str(args.streams), "--count", str(count), "--seed", str(window + 1), "put"],
                stdout=subprocess.PIPE, text=True, check=False)
            report = json.loads(done.stdout)
            assert report["failures"] == 0, report["first_failure"]
            file_bytes, in_use_bytes = node.sizes()
            rows.append({"p999": report["p999_us"], "file": file_bytes, "memory": node.anonymous_bytes()})
            print(f"  {window + 1:6} {count:9} {report['per_second']:8.0f} {report['p99_us']:7.0f} "
                  f"{report['p999_us']:9.0f} {report['max_us']:8.0f} {file_bytes / MIB:9.1f} "
                  f"{in_use_bytes / MIB:11.1f} {rows[-1]['memory'] / MIB:11.1f} {node.compactions():12}",
                  flush=True)
    finally:
        node.close()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=f"{BIN}/kvorum")
    parser.add_argument("--bench", default=f"{BIN}/kvorum-bench")
    parser.add_argument("--puts", type=int, default=20_000_000)
    parser.add_argument("--plain-puts", type=int, default=2_000_000, help="those without compaction")
    parser.add_argument("--windows", type=int, default=20)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--value-size", type=int, default=256)
    parser.add_argument("--retention", type=int, default=10_000, help="revisions that compaction keeps")
    parser.add_argument("--interval", default="10s", help="between two compactions")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--streams", type=int, default=8)
    parser.add_argument("--growth", type=float, default=1.25)
    parser.add_argument("--slower", type=float, default=3)
    parser.add_argument("--dir", help="for the data (default: the system's folder for temporary files)")
    args = parser.parse_args()

    plain = run(args, "without compaction", args.plain_puts)
    compacted = run(args, f"compacted every {args.interval} to the last {args.retention} revisions", args.puts,
                    "--auto-compaction-mode=revision", f"--auto-compaction-retention={args.retention}",
                    f"--auto-compaction-revision-interval={args.interval}")
    median = statistics.median(row["p999"] for row in plain)
    worst = max(row["p999"] for row in compacted)
    middle = len(compacted) // 2
    growth = {what: max(row[what] for row in compacted[middle:]) / max(row[what] for row in compacted[:middle])
              for what in ("file", "memory")}
    print(f"\np99.9 without compaction, median: {median:.0f} us; with it, worst: {worst:.0f} us, "
          f"{worst / median:.2f} times")
    print(f"the second half beside the first: file {growth['file']:.2f} times, memory {growth['memory']:.2f} times")
    sys.exit(0 if worst <= args.slower * median and max(growth.values()) <= args.growth else 1)


if __name__ == "__main__":
    main()

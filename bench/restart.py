#!/usr/bin/env python3
"""The time from the start of the process until it serves, with the key index that a clean stop saved beside that
without: the same database, starts of each kind in turns, so that the machine's other load meets both.

  restart.py [--server PATH] [--bench PATH] [--keys N] [--value-size N] [--rounds N] [--cold] [--dir FOLDER]

Until it serves is until the log says `ready to serve client requests`. The time of a stop that saves is printed beside
that of one that has no key to save. With --cold the database and the index leave the page cache before each start.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "process"))

import ports  # noqa: E402

BIN = os.environ.get("KVORUM_BIN_DIR", "build/release/bin")
READY = b"ready to serve client requests"
READ = b"read the saved key index"
MIB = 1 << 20


class Node:
    """A member over one folder, started and stopped again and again."""

    def __init__(self, args, folder):
        self.args = args
        self.folder = folder
        self.snap = os.path.join(folder, "data", "member", "snap")
        self.index = os.path.join(self.snap, "db.index")
        self.log = os.path.join(folder, "log")
        self.client = None
        self.process = None

    def start(self):
        """Seconds until it serves."""
        self.client, peer = (f"127.0.0.1:{ports.free_port()}" for _ in range(2))
        with open(self.log, "wb") as log:
            begun = time.monotonic()
            self.process = subprocess.Popen(
                [self.args.server, "--name=n1", f"--data-dir={self.folder}/data", "--quota-backend-bytes=68719476736",
                 f"--listen-client-urls=http://{self.client}", f"--advertise-client-urls=http://{self.client}",
                 f"--listen-peer-urls=http://{peer}", f"--initial-advertise-peer-urls=http://{peer}",
                 f"--initial-cluster=n1=http://{peer}"], stdout=log, stderr=log)
        while READY not in self.said():
            if self.process.poll() is not None:
                raise SystemExit(f"{self.args.server} does not start; see {self.log}")
            time.sleep(0.002)
        return time.monotonic() - begun

    def said(self):
        with open(self.log, "rb") as log:
            return log.read()

    def stop(self):
        """Seconds until it is gone."""
        begun = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(300) != 0:
            raise SystemExit(f"{self.args.server} does not stop in order; see {self.log}")
        return time.monotonic() - begun

    def load(self):
        subprocess.run([self.args.bench, "--endpoint", self.client, "--keys", str(self.args.keys), "--value-size",
                        str(self.args.value_size), "--connections", "4", "--streams", "64", "--preload",
                        str(self.args.keys), "--count", "1", "put"], stdout=subprocess.DEVNULL, check=True)

    def forget_pages(self):
        for name in ("db", "db.index"):
            path = os.path.join(self.snap, name)
            if os.path.exists(path):
                with open(path, "rb") as file:
                    os.fsync(file.fileno())
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=f"{BIN}/kvorum")
    parser.add_argument("--bench", default=f"{BIN}/kvorum-bench")
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--value-size", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--dir", default=tempfile.gettempdir(), help="for the data")
    args = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="kvorum-restart-", dir=args.dir) as folder:
        node = Node(args, folder)
        node.start()
        empty_stop = node.stop()
        node.start()
        node.load()
        stops = [node.stop()]
        index_bytes = os.path.getsize(node.index)
        found = {"with": [], "without": []}
        for _ in range(args.rounds):
            for kind in ("without", "with"):
                if kind == "without":
                    os.remove(node.index)
                if args.cold:
                    node.forget_pages()
                found[kind].append(node.start())
                if (READ in node.said()) != (kind == "with"):
                    raise SystemExit(f"a start {kind} the saved index was none; see {node.log}")
                stops.append(node.stop())
        database_bytes = os.path.getsize(os.path.join(node.snap, "db"))

    print(f"{args.keys} keys of {args.value_size} bytes ({database_bytes / MIB:.0f} MiB, index {index_bytes / MIB:.0f} MiB), "
          f"{'cold' if args.cold else 'in the page cache'}, load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} "
          "processors")
    for kind, seconds in found.items():
        print(f"  start {kind:8} the saved index  {statistics.median(seconds):6.2f} s  "
              f"({min(seconds):.2f} to {max(seconds):.2f})")
    print(f"  ratio  {statistics.median(found['with']) / statistics.median(found['without']):.2f}")
    print(f"  stop   {statistics.median(stops):.2f} s, of an empty one {empty_stop:.2f} s")


if __name__ == "__main__":
    main()

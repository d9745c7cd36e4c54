#!/usr/bin/env python3
"""The archive beside puts, and restores beside the disk.

  archive.py puts [--server PATH] [--bench PATH] [--members N] [--keys N] [--value-size N] [--rate N] [--seconds S]
                  [--rounds N] [--store folder bucket] [--dir FOLDER]
  archive.py restore [--server PATH] [--bench PATH] [--utl PATH] [--gib N] [--value-size N] [--dir FOLDER]

`puts`: two clusters, of which one archives. Windows of puts to the one and to the other follow each other, so that the
machine's other load meets both; the ratio is that of the medians of their p99. A bucket is tests/process/archive/s3_fake.py in
a process of its own, on the same processors.

`restore`: so many bytes are put and archived, and restored twice: from the log alone, as far as there is no base behind
the beginning, and from a base. Beside that: to write as many bytes as the restored database has, with a sync, and to
hash those of the archive, by dd and sha256sum, one after the other. The tool's memory is what it holds itself
(RssAnon), and with the pages of the database's file that the kernel keeps mapped (VmHWM).
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import servers  # noqa: E402
import upkeep  # noqa: E402

BIN = os.environ.get("KVORUM_BIN_DIR", "build/release/bin")
FAKE = """
import sys
sys.path.insert(0, sys.argv[1])
import s3_fake
fake = s3_fake.S3Fake()
open(sys.argv[2], "w").write(fake.credentials())
print(fake.endpoint, flush=True)
sys.stdin.read()
"""
MIB = 1 << 20


class Bucket:
    """The stand-in for S3, in a separate process."""

    def __init__(self, folder):
        credentials = folder / "credentials"
        self.process = subprocess.Popen(
            [sys.executable, "-B", "-c", FAKE, str(servers.ROOT / "tests" / "process" / "archive"), str(credentials)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        endpoint = self.process.stdout.readline().strip()
        self.flags = ("--archive-url=s3://archive/kv", f"--archive-endpoint={endpoint}", "--archive-path-style=path",
                      f"--archive-credentials-file={credentials}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


class Folder:
    def __init__(self, folder):
        self.flags = (f"--archive-url=file://{folder}/archive",)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def measure_puts(args):
    for store in args.store:
        with tempfile.TemporaryDirectory(prefix="kvorum-archive-", dir=args.dir) as name:
            folder = pathlib.Path(name)
            (folder / "on").mkdir()
            (folder / "off").mkdir()
            with ((Bucket if store == "bucket" else Folder)(folder) as archive,
                  servers.Cluster(args.server, folder / "off", args.members) as off,
                  servers.Cluster(args.server, folder / "on", args.members, flags=archive.flags) as on):
                compare_puts(args, store, {"off": off, "on": on})


def compare_puts(args, store, clusters):
    runs, p99 = {}, {}
    for kind, cluster in clusters.items():
        cluster.start()
        runs[kind] = upkeep.Run(args, cluster)
        runs[kind].bench("put", "--preload", str(args.keys), "--count", "1")
    for turn in range(args.rounds):
        # Each begins as often as the other.
        for kind in sorted(runs, reverse=turn % 2 == 0):
            report = runs[kind].bench("put", "--rate", str(args.rate), "--seconds", str(args.seconds), "--warmup", "1",
                                      streams=str(args.streams))
            p99.setdefault(kind, []).append(report["p99_us"])
    leader = clusters["on"].leader() or clusters["on"].members[0]
    median = {kind: statistics.median(found) for kind, found in p99.items()}
    ratios = sorted(on / off for on, off in zip(p99["on"], p99["off"]))
    print(f"{args.members} member{'s' * (args.members > 1)}, {args.rate} puts a second of {args.value_size} bytes, {args.rounds} "
          f"rounds of {args.seconds} s, archive in a {store}, load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} "
          f"processors\n  p99 of puts: {median['off']:.0f} us off, {median['on']:.0f} us on: {median['on'] / median['off']:.2f} "
          f"times; by rounds {ratios[0]:.2f} to {ratios[-1]:.2f}, median {statistics.median(ratios):.2f}\n"
          f"  archived: revision {leader.metric('kvorum_archive_revision'):.0f}, {leader.metric('kvorum_archive_lag_seconds')} s "
          "behind", flush=True)


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def timed(*command, stdin=None):
    """Seconds, and the most memory that it had: private, and all that was mapped; bytes."""
    begun, own, mapped = time.monotonic(), 0, 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=stdin or subprocess.DEVNULL) as process:
        while process.poll() is None:
            try:
                own = max(own, servers.rss_anon_bytes(process.pid))
                mapped = servers.status_line(process.pid, "VmHWM") * 1024
            except (OSError, RuntimeError):
                pass  # it has just ended
            time.sleep(0.01)
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} failed")
    return time.monotonic() - begun, own, mapped


def disk_and_hash_seconds(folder, archive, database):
    """To write the database's bytes once more, and to hash the archive's."""
    copy = folder / "copy"
    # From the file cache, as a restore reads what was just archived.
    written = timed("dd", f"if={database}", f"of={copy}", "bs=1M", "conv=fsync", "status=none")[0]
    copy.unlink()
    begun = time.monotonic()
    for path in sorted(path for path in archive.rglob("*") if path.is_file()):
        subprocess.run(["sha256sum", str(path)], stdout=subprocess.DEVNULL, check=True)
    return written, time.monotonic() - begun


def wait_for_metric(node, name, least):
    while (node.members[0].metric(name) or 0) < least:
        node.members[0].check_runs()
        time.sleep(0.05)


def measure_restores(args):
    with tempfile.TemporaryDirectory(prefix="kvorum-archive-", dir=args.dir) as name:
        folder = pathlib.Path(name)
        archive = folder / "archive"
        url = f"file://{archive}"
        count = int(args.gib * (1 << 30) / args.value_size)
        args.keys = count
        node = servers.Server(args.server, folder, quota_bytes=upkeep.QUOTA_BYTES * 4,
                              flags=(f"--archive-url={url}", "--archive-base-interval=24h"))
        with node:
            node.start()
            begun = time.monotonic()
            upkeep.Run(args, node).bench("put", "--sequential", "--count", str(count), streams="8")
            put = time.monotonic() - begun
            wait_for_metric(node, "kvorum_archive_revision", count + 1)
            print(f"{count * args.value_size / MIB:.0f} MiB put in {put:.1f} s, archived {time.monotonic() - begun - put:.1f} s "
                  f"later in {size_of(archive) / MIB:.0f} MiB; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} "
                  "processors", flush=True)
        report_restore(args, folder, archive, url, "the log alone")
        node = servers.Server(args.server, folder, quota_bytes=upkeep.QUOTA_BYTES * 4,
                              flags=(f"--archive-url={url}", "--archive-base-interval=10s"))
        with node:
            node.start()
            upkeep.Run(args, node).bench("put", "--count", "1")
            begun = time.monotonic()
            wait_for_metric(node, "kvorum_archive_bases_total", 1)
            print(f"a base: {time.monotonic() - begun:.1f} s", flush=True)
        report_restore(args, folder, archive, url, "a base")


def report_restore(args, folder, archive, url, what):
    restored = folder / "restored"
    seconds, own, mapped = timed(args.utl, "archive", "restore", "--url", url, "--latest", "--data-dir", str(restored))
    database = restored / "member" / "snap" / "db"
    written, hashed = disk_and_hash_seconds(folder, archive, database)
    print(f"from {what}: {seconds:.1f} s for a database of {database.stat().st_size / MIB:.0f} MiB; to write that: {written:.1f} s, "
          f"to hash the archive's {size_of(archive) / MIB:.0f} MiB: {hashed:.1f} s: {seconds / (written + hashed):.2f} times both\n"
          f"  memory: {own / MIB:.0f} MiB, {mapped / MIB:.0f} MiB with mapped pages of files", flush=True)
    shutil.rmtree(restored)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(required=True)
    puts = kinds.add_parser("puts")
    puts.set_defaults(measure=measure_puts)
    puts.add_argument("--members", type=int, default=1)
    puts.add_argument("--keys", type=int, default=100_000)
    puts.add_argument("--rate", type=int, default=20_000, help="puts a second")
    puts.add_argument("--streams", type=int, default=8, help="connections, and calls in flight on each")
    puts.add_argument("--seconds", type=float, default=10)
    puts.add_argument("--rounds", type=int, default=5)
    puts.add_argument("--store", nargs="+", choices=["folder", "bucket"], default=["folder"])
    restore = kinds.add_parser("restore")
    restore.set_defaults(measure=measure_restores)
    restore.add_argument("--utl", default=f"{BIN}/kvorumutl")
    restore.add_argument("--gib", type=float, default=1)
    for kind, value_size in ((puts, 256), (restore, 4096)):
        kind.add_argument("--server", default=f"{BIN}/kvorum")
        kind.add_argument("--bench", default=f"{BIN}/kvorum-bench")
        kind.add_argument("--value-size", type=int, default=value_size)
        kind.add_argument("--dir", default=tempfile.gettempdir(), help="for the data and the archive")
    args = parser.parse_args()
    args.measure(args)


if __name__ == "__main__":
    main()

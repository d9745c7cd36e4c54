#!/usr/bin/env python3
"""Measures kvorum beside the packaged etcd, on the same machine, in one run, with the same settings:
data on disk, 32-byte keys, 256-byte values. Prints the medians, their ratios and the targets.

Each round gives each server, one after the other, a fresh folder twice: once for the calls on a small
key space, once to be loaded with --keys keys, for memory, the same calls after so many puts, pages
out of them, and the restart. Run it on a quiet machine; ratios on a busy one mean little.

  bench/compare.py                          everything, three rounds (about ten minutes)
  bench/compare.py --only etcd --rounds 1   one server alone
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "process"))

import ports  # noqa: E402

SMALL_KEY_SPACE = 10_000
PAGE_LIMIT = 1_000
READY_LIMIT_SECONDS = 120
STOP_LIMIT_SECONDS = 60
MIB = 1 << 20


def rss_anon_bytes(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no RssAnon of process {pid}")


class Server:
    """A server process on free ports over one data folder; a context manager that stops it."""

    def __init__(self, program, folder):
        self._program = program
        self._folder = folder
        client_port, peer_port = ports.free_ports(2)
        self.endpoint = f"127.0.0.1:{client_port}"
        self._peer = f"127.0.0.1:{peer_port}"
        self._process = None

    @property
    def pid(self):
        return self._process.pid

    def start(self):
        """Seconds from the start of the process until it says that it is healthy."""
        arguments = [
            str(self._program), "--name=bench", f"--data-dir={self._folder / 'data'}",
            f"--listen-client-urls=http://{self.endpoint}",
            f"--advertise-client-urls=http://{self.endpoint}",
            f"--listen-peer-urls=http://{self._peer}",
            f"--initial-advertise-peer-urls=http://{self._peer}",
            f"--initial-cluster=bench=http://{self._peer}",
            f"--quota-backend-bytes={8 << 30}",
        ]
        log = open(self._folder / "log", "ab")
        begin = time.monotonic()
        self._process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        while not self._healthy():
            if self._process.poll() is not None:
                raise RuntimeError(f"{self._program.name} ended: see {self._folder / 'log'}")
            if time.monotonic() - begin > READY_LIMIT_SECONDS:
                raise RuntimeError(f"{self._program.name} does not become healthy")
            time.sleep(0.005)
        return time.monotonic() - begin

    def _healthy(self):
        try:
            with urllib.request.urlopen(f"http://{self.endpoint}/health", timeout=5) as answer:
                return json.load(answer).get("health") in ("true", True)
        except (urllib.error.URLError, OSError, ValueError):
            return False

    def stop(self):
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Bench:
    def __init__(self, options):
        self._options = options
        self._samples = {}  # (server, measure) -> list of numbers

    def record(self, server, measure, value):
        self._samples.setdefault((server, measure), []).append(value)

    def median(self, server, measure):
        values = self._samples.get((server, measure))
        return statistics.median(values) if values else None

    def samples(self):
        return {f"{server}: {measure}": values for (server, measure), values in self._samples.items()}

    def _load(self, server, *arguments):
        done = subprocess.run(
            [str(self._options.bench), "--json", "--endpoint", server.endpoint,
             "--pid", str(server.pid), *map(str, arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        report = json.loads(done.stdout or "{}")
        if done.returncode != 0:
            raise RuntimeError(f"kvorum-bench {arguments}: {report.get('first_failure', 'failed')}")
        return report

    def _measure(self, name, server, measure, *arguments, seconds=None):
        report = self._load(server, "--seconds", seconds or self._options.seconds, *arguments)
        self.record(name, f"{measure} /s", report["per_second"])
        self.record(name, f"{measure} p50 us", report["p50_us"])
        self.record(name, f"{measure} p99 us", report["p99_us"])
        self.record(name, f"{measure} cpu us", report["server_cpu_us"])
        print(f"  {name:6} {measure:28} {report['per_second']:10.0f}/s  p50 {report['p50_us']:9.0f} us"
              f"  p99 {report['p99_us']:9.0f} us  server CPU {report['server_cpu_us']:8.1f} us",
              flush=True)

    def probe_disk(self, folder):
        for name, flags in (("append", []), ("append into reserved space", ["--space", "reserved"])):
            done = subprocess.run(
                [str(self._options.bench), "--json", "sync", "--dir", str(folder), *flags],
                check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            p50 = json.loads(done.stdout)["p50_us"]
            self.record("disk", name, p50)
            print(f"  disk   {name + ' + fdatasync':28} p50 {p50:9.0f} us", flush=True)

    def small(self, name, program, folder):
        with Server(program, folder) as server:
            server.start()
            keys = ("--keys", SMALL_KEY_SPACE)
            self._load(server, *keys, "--sequential", "--count", SMALL_KEY_SPACE, "put")
            self._measure(name, server, "range, linearizable", *keys, "range")
            self._measure(name, server, "range, serializable", *keys, "range", "--serializable")
            self._measure(name, server, "put", *keys, "put")
            self._measure(name, server, "one put in flight", *keys, "--connections", 1,
                          "--streams", 1, "put")

    def large(self, name, program, folder):
        count = self._options.keys
        with Server(program, folder) as server:
            server.start()
            keys = ("--keys", count)
            report = self._load(server, *keys, "--sequential", "--count", count, "put")
            self.record(name, "RssAnon loaded", report["server_rss_anon_bytes"])
            print(f"  {name:6} loaded {count} keys at {report['per_second']:.0f}/s, RssAnon "
                  f"{report['server_rss_anon_bytes'] / MIB:.0f} MiB", flush=True)
            self._measure(name, server, "range, linearizable, loaded", *keys, "range")
            self._measure(name, server, "range, serializable, loaded", *keys, "range",
                          "--serializable")
            # Enough calls for a median where each walks half the keys; 32 in flight for both.
            self._measure(name, server, "page", *keys, "--connections", 4, "--streams", 8,
                          "--warmup", 2, "page", "--limit", PAGE_LIMIT,
                          seconds=max(self._options.seconds, 10))
            server.stop()
            seconds = server.start()
            time.sleep(2)
            anon = rss_anon_bytes(server.pid)
            self.record(name, "restart s", seconds)
            self.record(name, "RssAnon restarted", anon)
            print(f"  {name:6} restarted in {seconds:.2f} s, RssAnon {anon / MIB:.0f} MiB", flush=True)
            self._measure(name, server, "put, loaded", *keys, "put")


def ratio(first, second):
    return None if first is None or not second else first / second


def rows(bench, keys):
    """(what, etcd's, kvorum's, ratio, target, met) as text and truth; truth None: not measured."""
    def number(value, unit):
        return "" if value is None else f"{value:,.{2 if unit == 's' else 0}f} {unit}".strip()

    def row(what, measure, unit, target, at_least, scale=1.0):
        peer, ours = bench.median("etcd", measure), bench.median("kvorum", measure)
        peer, ours = (None if v is None else v * scale for v in (peer, ours))
        result = ratio(ours, peer)
        met = None if result is None else (result >= target if at_least else result <= target)
        sign = "at least" if at_least else "at most"
        return (what, number(peer, unit), number(ours, unit),
                "" if result is None else f"{result:.3g}", f"{sign} {target:.3g}", met)

    yield row("put, 256 in flight", "put /s", "/s", 5, True)
    yield row("range, linearizable", "range, linearizable /s", "/s", 7, True)
    yield row("range, serializable", "range, serializable /s", "/s", 8, True)
    loaded = f"after {keys:,} puts: "
    yield row(loaded + "put", "put, loaded /s", "/s", 5, True)
    yield row(loaded + "range, linearizable", "range, linearizable, loaded /s", "/s", 7, True)
    yield row(loaded + "range, serializable", "range, serializable, loaded /s", "/s", 8, True)
    yield row(f"pages of {PAGE_LIMIT:,} of {keys:,} keys", "page /s", "/s", 100, True)
    yield row(f"RssAnon, {keys:,} keys loaded", "RssAnon loaded", "MiB", 1 / 3, False, 1 / MIB)
    yield row("RssAnon after a restart", "RssAnon restarted", "MiB", 1 / 3, False, 1 / MIB)
    yield row("restart until healthy", "restart s", "s", 1 / 6, False)

    # The second is the harder one: no journal has to record that the file grew.
    single = {name: bench.median(name, "one put in flight p50 us") for name in ("etcd", "kvorum")}
    for name, target in (("append", 1.5), ("append into reserved space", None)):
        disk = bench.median("disk", name)
        result = ratio(single["kvorum"], disk)
        yield (f"one put in flight, p50, to {name} + fdatasync ({number(disk, 'us')})",
               number(single["etcd"], "us"), number(single["kvorum"], "us"),
               "" if result is None else f"{result:.3g}",
               "" if target is None else f"at most {target}",
               None if result is None or target is None else result <= target)
    for kind in ("linearizable", "serializable"):
        before, after = (bench.median("kvorum", f"range, {kind}{when} /s") for when in ("", ", loaded"))
        result = ratio(after, before)
        yield (f"range, {kind}: ours, loaded to small", "", number(after, "/s"),
               "" if result is None else f"{result:.3g}", "at least 0.9",
               None if result is None else result >= 0.9)


def print_table(table):
    print("\n| | etcd | kvorum | ratio | target | |\n| --- | ---: | ---: | ---: | ---: | --- |")
    for what, peer, ours, result, target, met in table:
        word = {True: "met", False: "MISSED", None: ""}[met]
        print(f"| {what} | {peer} | {ours} | {result} | {target} | {word} |")
    print("\nServer CPU per call and latency of each measure: the lines above. Medians of the rounds.")


def on_disk(folder):
    kind = subprocess.run(["stat", "-f", "-c", "%T", str(folder)], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()
    return kind not in ("tmpfs", "ramfs")


def add_programs(parser, report, bench="kvorum-bench"):
    """The options that say what is measured, with what, and where the samples go."""
    built = ROOT / "build/release/bin"
    parser.add_argument("--only", choices=["etcd", "kvorum"])
    parser.add_argument("--data-root", type=pathlib.Path, default=ROOT / "build" / "bench-data")
    parser.add_argument("--etcd", type=pathlib.Path, default=ROOT / "build/peer/usr/bin/etcd")
    parser.add_argument("--kvorum", type=pathlib.Path, default=built / "kvorum")
    parser.add_argument("--bench", type=pathlib.Path, default=built / bench)
    parser.add_argument("--report", type=pathlib.Path, default=ROOT / "build" / report,
                        help="where all samples go, as JSON")


def chosen(options):
    """The servers to be measured, name: program."""
    return {name: program for name, program in (("etcd", options.etcd), ("kvorum", options.kvorum))
            if options.only in (None, name)}


def measure_each(options, phase, *arguments):
    """Runs the phase with every server in turn, with an empty folder for its data."""
    options.data_root.mkdir(parents=True, exist_ok=True)
    for name, program in chosen(options).items():
        folder = options.data_root / f"{os.getpid()}-{name}"
        folder.mkdir()
        phase(name, program, folder, *arguments)
        shutil.rmtree(folder)  # kept when the phase failed: its log is in there


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5, help="of each measure")
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--skip-small", action="store_true")
    parser.add_argument("--skip-large", action="store_true")
    add_programs(parser, "compare.json")
    parser.add_argument("--any-file-system", action="store_true",
                        help="data may be in memory: to try the tool, not to measure")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a target is missed")
    options = parser.parse_args()

    for program in (*chosen(options).values(), options.bench):
        if not os.access(program, os.X_OK):
            sys.exit(f"compare: {program} is missing: `make bench` builds and unpacks it")
    options.data_root.mkdir(parents=True, exist_ok=True)
    if not options.any_file_system and not on_disk(options.data_root):
        sys.exit(f"compare: {options.data_root} is in memory; name a folder on disk with --data-root")

    bench = Bench(options)
    phases = []
    if not options.skip_small:
        phases.append(bench.small)
    if not options.skip_large:
        phases.append(bench.large)
    for number in range(1, options.rounds + 1):
        print(f"round {number} of {options.rounds}", flush=True)
        bench.probe_disk(options.data_root)
        for phase in phases:
            measure_each(options, phase)

    table = list(rows(bench, options.keys))
    print_table(table)
    options.report.write_text(json.dumps(bench.samples(), indent=1) + "\n")
    print(f"All samples: {options.report}")
    return 1 if options.strict and any(met is False for *_, met in table) else 0


if __name__ == "__main__":
    sys.exit(main())

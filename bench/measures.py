"""Measures by kvorum-bench, the samples that they give, and the machine's own times."""

import json
import statistics
import subprocess

SMALL_KEY_SPACE = 10_000
PAGE_LIMIT = 1_000
# So many calls in flight: on how many connections, and how many on each.
FLIGHTS = {1: (1, 1), 32: (4, 8), 64: (8, 8), 256: (8, 32)}


def in_flight(calls):
    connections, streams = FLIGHTS[calls]
    return ("--connections", connections, "--streams", streams)


def add_rounds(parser):
    """The options of a comparison that measures few keys in several rounds."""
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="of each measure")
    parser.add_argument("--warmup", type=float, default=1, help="seconds before each measure")
    parser.add_argument("--keys", type=int, default=SMALL_KEY_SPACE)


def run_json(command, what):
    """The one JSON object that a program prints; RuntimeError with what it says is wrong."""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    report = json.loads(done.stdout or "{}")
    if done.returncode != 0:
        raise RuntimeError(f"{what}: {report.get('first_failure', 'failed')}")
    return report


class Bench:
    """Runs kvorum-bench (options.bench) for options.seconds a measure and keeps what it reports."""

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

    def load(self, servers, *arguments, endpoints=None):
        """Its report. The calls go to all members, or to those endpoints; CPU and memory are those of all."""
        return run_json([self._options.bench, "--json", "--endpoint", ",".join(endpoints or servers.endpoints),
                         "--pid", ",".join(map(str, servers.pids)), *servers.client_flags, *arguments],
                        " ".join(map(str, ("kvorum-bench", *arguments))))

    def measure(self, name, servers, measure, *arguments, seconds=None, endpoints=None):
        report = self.load(servers, "--seconds", seconds or self._options.seconds, *arguments, endpoints=endpoints)
        self.record(name, f"{measure} /s", report["per_second"])
        self.record(name, f"{measure} p50 us", report["p50_us"])
        self.record(name, f"{measure} p99 us", report["p99_us"])
        self.record(name, f"{measure} p99.9 us", report["p999_us"])
        self.record(name, f"{measure} cpu us", report["server_cpu_us"])
        for part, value in (("p99", report["p99_us"]), ("p99.9", report["p999_us"])):
            self.record(name, f"{measure} {part} / p50", value / max(report["p50_us"], 1))
        print(f"  {name:6} {measure:34} {report['per_second']:10.0f}/s  p50 {report['p50_us']:9.0f} us"
              f"  p99 {report['p99_us']:9.0f} us  p99.9 {report['p999_us']:9.0f} us"
              f"  server CPU {report['server_cpu_us']:8.1f} us", flush=True)
        return report

    def _probe(self, server, name, number, unit, *arguments):
        value = run_json([self._options.bench, "--json", *arguments], f"kvorum-bench {arguments[0]}")[number]
        self.record(server, name, value)
        print(f"  {server:6} {name:34} {value:9.1f} {unit}", flush=True)

    def probe_disk(self, folder):
        """Append and fdatasync, p50, in a file that grows and in space that is there."""
        for name, space in (("append", "none"), ("append into reserved space", "reserved"),
                            ("append into zeroed space", "zeroed")):
            self._probe("disk", name, "p50_us", "us", "sync", "--dir", folder, "--space", space)

    def probe_machine(self):
        """A round trip over loopback, p50, and a load that depends on the one before."""
        self._probe("host", "echo over loopback", "p50_us", "us", "echo")
        self._probe("host", "memory latency", "ns_per_load", "ns", "memory")

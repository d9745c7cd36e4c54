"""bench/compare.py --all: kvorum's goals in one table, each measured in one run beside etcd and beside the machine's
own times: append and fdatasync, a round trip over loopback, a load from memory.
"""

import dataclasses
import json
import os

import programs
from goal_runs import MIXED, PACED_RATES, STREAMS, WATCH, GoalBench, of_keys, paced
from table import met_word, number, ratio

ZEROED = ("disk", "append into zeroed space")
PROBES = ((("disk", "append"), "append + fdatasync, the file grows, p50", "us"),
          (("disk", "append into reserved space"), "append + fdatasync in reserved space, p50", "us"),
          (ZEROED, "append + fdatasync in zeroed space, p50", "us"),
          (("host", "echo over loopback"), "TCP round trip over loopback, p50", "us"),
          (("host", "memory latency"), "one load from memory, 256 MiB at random", "ns"))
# A restart's goal with up to so many keys.
RESTART_SECONDS = ((1_000_000, 0.3), (10_000_000, 1.5), (100_000_000, 10))


@dataclasses.dataclass(frozen=True)
class Goal:
    """A line of the table. The bound is on our value, or on its ratio to etcd's (or to a probe)."""
    row: str  # as --rows names it
    work: str
    measure: str
    unit: str
    bound: float
    on_ratio: bool
    at_least: bool = False
    digits: int = 0
    scale: float = 1.0
    to_probe: tuple = None

    def line(self, bench):
        """(work, ours, etcd's, ratio, goal, met), as text and truth; truth None: not measured."""
        ours, peer = (None if value is None else value * self.scale
                      for value in (bench.median(name, self.measure) for name in ("kvorum", "etcd")))
        result = ratio(ours, bench.median(*self.to_probe) if self.to_probe else peer)
        judged = result if self.on_ratio else ours
        met = None if judged is None else (judged >= self.bound if self.at_least else judged <= self.bound)
        sign = "≥" if self.at_least else "≤"
        goal = f"{sign} {self.bound:g} {'×' if self.on_ratio else self.unit}"
        return (self.work, number(ours, self.unit, self.digits), number(peer, self.unit, self.digits),
                "" if result is None else f"{result:.3g}", goal + (" the probe's" if self.to_probe else ""), met)


def rate(row, work, measure, bound):
    return Goal(row, f"{work}: rate", f"{measure} /s", "/s", bound, on_ratio=True, at_least=True)


def cpu(row, work, measure, bound):
    return Goal(row, f"{work}: server CPU", f"{measure} cpu us", "us", bound, on_ratio=False, digits=2)


def tail(row, work, measure, bounds):
    """p99 and p99.9 as multiples of the median; the ratio is to etcd's multiples."""
    for part, bound in zip(("p99", "p99.9"), bounds):
        yield Goal(row, f"{work}: {part} to p50", f"{measure} {part} / p50", "", bound, on_ratio=False, digits=1)


def tails():
    for calls in (64, 256):
        yield from tail("tails", f"put, {calls} in flight", f"tail: put, {calls}", (3, 6))
    yield from tail("tails", "guarded txn, 64 in flight", "tail: txn, 64", (3, 6))
    yield from tail("tails", "9 ranges to a put, 64 in flight", MIXED, (3, 6))
    yield rate("tails", "9 ranges to a put, 64 in flight", MIXED, 8)
    for calls in PACED_RATES:
        for part, bound in (("p99", 2.5), ("p99.9", 6)):
            yield Goal("paced", f"{calls:,} puts/s: {part} in units of a sync and a round trip",
                       f"{paced(calls)} {part} in units", "", bound, on_ratio=False, digits=1)


def restart_bound(count):
    return next((seconds for keys, seconds in RESTART_SECONDS if count <= keys), RESTART_SECONDS[-1][1])


def goals_with(count):
    """Those of a node that holds so many keys."""
    named = f"{count:,} keys"
    yield cpu("range", f"point range over {named}", of_keys("range", count), 5.5)
    yield rate("range", f"point range over {named}", of_keys("range", count), 8)
    yield Goal("page", f"page of 1,000 rows of {named}, 1 in flight, p50", of_keys("one page", count) + " p50 us", "ms",
               0.35, on_ratio=False, digits=2, scale=1e-3)
    yield Goal("page", f"page of 1,000 rows of {named}, 32 in flight: server CPU",
               of_keys("page", count) + " cpu us", "ms", 0.35, on_ratio=False, digits=2, scale=1e-3)
    for when in ("loaded", "restarted"):
        yield Goal("memory", f"anonymous memory a key, {named} {when}", of_keys(f"bytes a key, {when}", count), "B", 60,
                   on_ratio=False, digits=1)
    yield Goal("restart", f"restart with {named}", of_keys("restart s", count), "s", restart_bound(count),
               on_ratio=False, digits=2)


def goals(counts):
    yield Goal("put-lone", "put, 1 in flight, p50 (ratio: to append + fdatasync in zeroed space)", "one put p50 us", "us",
               1.3, on_ratio=True, to_probe=ZEROED)
    yield Goal("cluster-put-lone", "three members, put, 1 in flight, p50", "three: one put p50 us", "us", 0.3,
               on_ratio=True)
    yield cpu("put", "put, 256 in flight", "put", 6)
    yield rate("put", "put, 256 in flight", "put", 8)
    for count in counts:
        yield from goals_with(count)
    for calls in (64, 256):
        yield rate("cluster-range", f"three members, linearizable range, {calls} in flight", f"three: range, {calls}", 8)
    yield from tail("cluster-put", "three members, put, 64 in flight", "three: put, 64", (3,))
    for calls in (64, 256):
        yield rate("cluster-put", f"three members, put, {calls} in flight", f"three: put, {calls}", 8)
    yield rate("txn", "guarded txn, 64 in flight", "txn", 8)
    yield rate("cluster-txn", "three members, guarded txn, 64 in flight", "three: txn", 6)
    yield from tails()
    yield Goal("watch", "watch event, 300 puts/s to 1,000 watchers: server CPU", f"{WATCH}: server_cpu_us_per_event",
               "us", 0.4, on_ratio=False, digits=3)
    yield Goal("watch-stream", "memory of an idle watch stream", f"{STREAMS}: bytes_per_watcher", "B", 2048,
               on_ratio=False)


ROWS = list(dict.fromkeys(goal.row for goal in goals([1])))


def phases(bench, wanted, counts):
    """(phase, its arguments) of those that the wanted rows need."""
    needed = {bench.one: {"put-lone", "put", "txn"}, bench.loaded: {"range", "page", "memory", "restart"},
              bench.three: {"cluster-put-lone", "cluster-put", "cluster-range", "cluster-txn"},
              bench.tails: {"tails"}, bench.paced: {"paced"}, bench.events: {"watch"},
              bench.streams: {"watch-stream"}}
    for phase, rows in needed.items():
        if rows & wanted:
            for arguments in ([(count,) for count in counts] if phase == bench.loaded else [()]):
                yield phase, arguments


def print_goals(bench, lines):
    print("\n| work | ours | etcd's | ratio | goal | |\n| --- | ---: | ---: | ---: | ---: | --- |")
    for *cells, met in lines:
        print("| " + " | ".join((*cells, met_word(met))) + " |")
    print("\n| the machine itself | |\n| --- | ---: |")
    for probe, work, unit in PROBES:
        print(f"| {work} | {number(bench.median(*probe), unit, 1)} |")


def apply_quick(options):
    options.rounds, options.seconds, options.keys = 1, min(options.seconds, 1), [100_000]
    options.paced_seconds = min(options.paced_seconds, 2)


def without_peer(options):
    """Measures ours alone where there is no etcd."""
    if options.only is None and not os.access(options.etcd, os.X_OK):
        print(f"{options.etcd} is not there: kvorum is measured alone, without ratios to etcd")
        options.only = "kvorum"


def run(options):
    """The exit code: 1 with options.strict when a goal is missed."""
    if options.quick:
        apply_quick(options)
    options.warmup = min(1, options.seconds)
    without_peer(options)
    programs.check(options, options.bench, options.watch_bench)
    wanted = set(options.rows or ROWS)

    bench = GoalBench(options)
    for turn in range(1, options.rounds + 1):
        print(f"round {turn} of {options.rounds}, load average {os.getloadavg()[0]:.1f}", flush=True)
        bench.probe_disk(options.data_root)
        bench.probe_machine()
        for phase, arguments in phases(bench, wanted, options.keys):
            programs.measure_each(options, phase, *arguments)

    lines = [goal.line(bench) for goal in goals(options.keys) if goal.row in wanted]
    print_goals(bench, lines)
    print(f"\nMedians of {options.rounds} rounds of {options.seconds:g} s a measure on {os.cpu_count()} processors; "
          f"etcd: {options.etcd}.")
    if options.quick:
        print("A quick run shows that everything works; goals are judged by a whole one on a quiet machine.")
    options.report.write_text(json.dumps(bench.samples(), indent=1) + "\n")
    print(f"All samples: {options.report}")
    return 1 if options.strict and any(met is False for *_, met in lines) else 0

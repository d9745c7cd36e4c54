"""What bench/soak.py looks at while it runs, and how it judges it."""

import pathlib
import statistics
import threading
import time

import servers
from servers import MIB

# Allocators and files grow in steps: a growth below these is none.
MEMORY_SLACK_BYTES = 8 * MIB
FILE_SLACK_BYTES = 64 * MIB
# Segments of the log are opened ahead of their use, and closed some time after.
DESCRIPTOR_SLACK = 3


def counts(pid):
    return {"descriptors": len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir())),
            "threads": servers.status_line(pid, "Threads")}


def allocated_bytes(folder):
    """Of all files below the folder, some of which may go meanwhile."""
    total = 0
    for path in pathlib.Path(folder).rglob("*"):
        try:
            total += path.stat().st_blocks * 512
        except FileNotFoundError:
            pass
    return total


def sample(member):
    return {"memory": servers.rss_anon_bytes(member.pid), "file": allocated_bytes(member.data), **counts(member.pid)}


def idle_counts(cluster, limit_seconds, down_to=None):
    """Each member's counts once its clients are gone: when they change no more, or are down to those given."""
    def now():
        return [counts(member.pid) for member in cluster.members]

    def are_down(found):
        return all(value <= bound[name] for value_of, bound in zip(found, down_to) for name, value in value_of.items())

    end = time.monotonic() + limit_seconds
    before, found = None, now()
    while time.monotonic() < end and not (are_down(found) if down_to else found == before):
        time.sleep(min(1, limit_seconds / 4))
        before, found = found, now()
    return found


class Sampler:
    """Takes a sample of each member every few seconds, until the end of the with."""

    def __init__(self, cluster, every_seconds):
        self._cluster = cluster
        self._every_seconds = every_seconds
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._begin = time.monotonic()
        self.series = [[] for _ in cluster.members]

    def sample(self):
        return [{"seconds": time.monotonic() - self._begin, **sample(member)} for member in self._cluster.members]

    def _run(self):
        while not self._ends.wait(self._every_seconds):
            for series, found in zip(self.series, self.sample()):
                series.append(found)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()


def quarters(values):
    """The medians of the second quarter, when everything has warmed up, and of the last."""
    size = max(1, len(values) // 4)
    return statistics.median(values[size:2 * size] or values), statistics.median(values[-size:])


def flat(series, name, growth, slack_bytes):
    """(the growth as text, whether it is small enough) of one member's samples."""
    first, last = quarters([found[name] for found in series])
    text = f"{first / MIB:.1f} to {last / MIB:.1f} MiB, {last / max(first, 1):.2f} times"
    return text, last <= first * growth or last - first <= slack_bytes


def verdicts(options, windows, series, idle_before, idle_after):
    """(what, found, met) of each demand; met None where it does not count."""
    def counted(met):
        return None if options.any_ratio else met

    for number, of_member in enumerate(series, 1):
        for what, name, growth, slack in (("anonymous memory", "memory", options.growth, MEMORY_SLACK_BYTES),
                                          ("files", "file", options.file_growth, FILE_SLACK_BYTES)):
            text, met = flat(of_member, name, growth, slack)
            yield f"member {number}, {what}, second quarter to last", text, counted(met)
    for number, (before, after) in enumerate(zip(idle_before, idle_after), 1):
        for name, slack in (("descriptors", DESCRIPTOR_SLACK), ("threads", 0)):
            yield (f"member {number}, {name} without clients, before to after", f"{before[name]} to {after[name]}",
                   after[name] <= before[name] + slack)
    first, last = (windows[at]["puts"]["p999_us"] for at in (0, -1))
    yield (f"p99.9 of puts, last window to first (at most {options.slower:g} times)",
           f"{last:,.0f} us to {first:,.0f} us, {last / max(first, 1):.2f} times", counted(last <= first * options.slower))

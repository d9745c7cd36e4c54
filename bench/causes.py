"""What the milliseconds of a load went into, by the server's own metrics before and after it: the disk (the log's syncs,
the database's commits), and how long each thread was ready to run and had no processor.
"""

import re

HISTOGRAMS = (("etcd_disk_wal_fsync_duration_seconds", "sync of the log"),
              ("etcd_disk_backend_commit_duration_seconds", "commit of the database"))
SERIES = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="([^"]*)"')


def parse(text):
    """{(name, label's value or ""): number} of the names that are looked at."""
    values = {}
    for line in text.splitlines():
        matched = SERIES.match(line)
        if matched and matched[1].startswith(("kvorum_thread_", *(name for name, _ in HISTOGRAMS))):
            labels = LABEL.findall(matched[2] or "")
            values[matched[1], labels[0][1] if labels else ""] = float(matched[3])
    return values


def quantile_bound(changes, name, part):
    """The upper bound, in us, of the bucket that the quantile lies in."""
    buckets = sorted((float(bound), count) for (series, bound), count in changes.items() if series == name + "_bucket")
    total = buckets[-1][1] if buckets else 0
    return next((bound * 1e6 for bound, count in buckets if count >= part * total), 0)


def lines(before, after):
    """A line for each cause, the threads that waited longest first."""
    after = parse(after)
    before = parse(before)
    changes = {key: value - before.get(key, 0) for key, value in after.items()}
    for name, work in HISTOGRAMS:
        if count := changes.get((name + "_count", ""), 0):
            mean_us = changes[name + "_sum", ""] / count * 1e6
            yield (f"{work}: {count:.0f} times, mean {mean_us:.0f} us, p99 within {quantile_bound(changes, name, 0.99):.0f}"
                   f" us, p99.9 within {quantile_bound(changes, name, 0.999):.0f} us")
    threads = [(value, thread) for (name, thread), value in changes.items()
               if name == "kvorum_thread_delay_seconds_total"]
    for delay_s, thread in sorted(threads, reverse=True)[:8]:
        turns = changes.get(("kvorum_thread_turns_total", thread), 0)
        cpu_s = changes.get(("kvorum_thread_cpu_seconds_total", thread), 0)
        if turns:
            yield (f"{thread}: {turns:.0f} turns, computed {cpu_s * 1e6 / turns:.0f} us and waited for a processor"
                   f" {delay_s * 1e6 / turns:.0f} us in each")

"""What the milliseconds of a load went into, by the server's own metrics before and after it: what slow writes waited
for, the disk (the log's syncs, the database's commits), and how long each thread was ready to run and had no processor.
"""

import re

HISTOGRAMS = (("etcd_disk_wal_fsync_duration_seconds", "sync of the log"),
              ("etcd_disk_backend_commit_duration_seconds", "commit of the database"))
# In the order in which a write passes them.
PARTS = ("raft", "log_turn", "log_sync", "commit", "apply_turn", "apply", "answer")
SERIES = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="([^"]*)"')


def parse(text):
    """{(name, labels' values or ""): number} of the names that are looked at."""
    values = {}
    for line in text.splitlines():
        matched = SERIES.match(line)
        if matched and matched[1].startswith(("kvorum_thread_", "kvorum_write_parts_", *(name for name, _ in HISTOGRAMS))):
            labels = LABEL.findall(matched[2] or "")
            values[matched[1], " ".join(value for _, value in labels)] = float(matched[3])
    return values


def quantile_bound(changes, name, part):
    """The upper bound, in us, of the bucket that the quantile lies in."""
    buckets = sorted((float(bound), count) for (series, bound), count in changes.items() if series == name + "_bucket")
    total = buckets[-1][1] if buckets else 0
    return next((bound * 1e6 for bound, count in buckets if count >= part * total), 0)


def parts_of_writes(changes):
    """A line: of how many writes, and for each part the mean of the slow ones beside that of a sample."""
    writes = {kind: changes.get(("kvorum_write_parts_writes_total", kind), 0) for kind in ("sampled", "slow")}
    if not all(writes.values()):
        return
    def mean_us(kind, part):
        return changes.get(("kvorum_write_parts_seconds_total", f"{kind} {part}"), 0) / writes[kind] * 1e6
    whole = {kind: sum(mean_us(kind, part) for part in PARTS) for kind in writes}
    shares = ", ".join(f"{part} {mean_us('slow', part):.0f} ({mean_us('sampled', part):.0f})" for part in PARTS)
    yield (f"writes: {writes['slow']:.0f} took more than three times the mean: {whole['slow']:.0f} us"
           f" (a sample of all: {whole['sampled']:.0f} us), of it in us: {shares}")


def lines(before, after):
    """A line for each cause, the threads that waited longest first."""
    after = parse(after)
    before = parse(before)
    changes = {key: value - before.get(key, 0) for key, value in after.items()}
    yield from parts_of_writes(changes)
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

"""What bench/large.py measures of a server with so many keys."""

import dataclasses
import json
import shutil
import subprocess
import time

import measures
import servers
from measures import PAGE_LIMIT, in_flight
from upkeep import Repeated

PAGE_BYTES = 4096
# A record's bytes in the file beside its key and value: revision, counters, checksum, the tree's.
RECORD_OVERHEAD_BYTES = 64
# The log, and the revisions that the measures add.
MARGIN_BYTES = 6 << 30
UPKEEP_SECONDS = 7200
# Pages of large values have fewer rows.
MOST_PAGE_BYTES = 4_000_000


@dataclasses.dataclass(frozen=True)
class Size:
    name: str
    keys: int
    key_size: int
    value_size: int

    @property
    def page_rows(self):
        return max(1, min(PAGE_LIMIT, MOST_PAGE_BYTES // (self.key_size + self.value_size)))


def disk_bytes(size):
    """About what a server needs that holds them; a record that does not fit in half a page takes whole ones."""
    record = size.key_size + size.value_size + RECORD_OVERHEAD_BYTES
    if record > PAGE_BYTES // 2:
        record = -(-record // PAGE_BYTES) * PAGE_BYTES + RECORD_OVERHEAD_BYTES
    return int(size.keys * record * 1.05) + MARGIN_BYTES


class LargeBench(measures.Bench):
    def run(self, size, program, folder):
        with servers.Server(program, folder, quota_bytes=2 * disk_bytes(size)) as server:
            server.start()
            self._load_keys(size, server)
            self._calls(size, server)
            self._upkeep(size, server, folder)
            self._snapshot(size, server)
            self._restart(size, server)

    def _shape(self, size, keys=None):
        return ("--warmup", min(1, self._options.seconds), "--keys", keys or size.keys, "--key-size", size.key_size,
                "--value-size", size.value_size)

    def _note(self, size, measure, value, unit):
        self.record(size.name, measure, value)
        print(f"  {size.name:6} {measure:34} {value:12,.2f} {unit}", flush=True)

    def _load_keys(self, size, server):
        report = self.load(server, *self._shape(size), *in_flight(256), "--sequential", "--count", size.keys, "put")
        self._note(size, "load /s", report["per_second"], "/s")
        self._note(size, "bytes a key", report["server_rss_anon_bytes"] / size.keys, "B")
        self._note(size, "file bytes a key", self._file_bytes(server) / size.keys, "B")

    def _calls(self, size, server):
        working_set = min(size.keys, self._options.working_set)
        for what, keys in ((", working set", working_set), ("", size.keys)):
            shape = self._shape(size, keys)
            self.measure(size.name, server, f"range{what}", *shape, *in_flight(256), "range")
            self.measure(size.name, server, f"page{what}", *shape, *in_flight(32), "page", "--limit",
                         size.page_rows)
        self._overwrite(size, server, "put")

    def _overwrite(self, size, server, measure):
        """Full speed; a compaction afterwards has something to drop."""
        self.measure(size.name, server, measure, *self._shape(size, min(size.keys, self._options.working_set)),
                     *in_flight(256), "put")

    def _paced(self, size, server, measure):
        self.measure(size.name, server, measure, *self._shape(size, min(size.keys, self._options.working_set)),
                     *in_flight(32), "--rate", self._options.rate, "put")

    def _upkeep(self, size, server, folder):
        self._paced(size, server, "put alone")
        self._compaction(size, server)
        file_bytes = self._file_bytes(server)
        free = shutil.disk_usage(folder).free
        if free < file_bytes + MARGIN_BYTES // 2:
            print(f"  {size.name:6} no defragmentation: {file_bytes / 1e9:.1f} GB more would be needed, {free / 1e9:.1f} "
                  "GB are free", flush=True)
            return
        self._timed(size, "defragmentation MB/s", file_bytes / 1e6, lambda: self._ctl(server, "defrag"), "MB/s")
        self._during(size, server, "defragmentation", lambda: self._ctl(server, "defrag"))

    def _compaction(self, size, server):
        """A compaction examines every record, for the hash of what stays, and drops all but each key's latest."""
        records = int(self._status(server)["header"]["revision"])
        self._timed(size, "compaction records /s", records, lambda: self._compact(server), "/s")
        self._overwrite(size, server, "put before compaction")
        self._during(size, server, "compaction", lambda: self._compact(server))

    def _timed(self, size, measure, amount, act, unit):
        begin = time.monotonic()
        act()
        seconds = time.monotonic() - begin
        print(f"  {size.name:6} {measure.rsplit(' ', 1)[0]:34} {seconds:12,.2f} s", flush=True)
        self._note(size, measure, amount / seconds, unit)

    def _during(self, size, server, upkeep, act):
        """Paced puts while the upkeep goes on, over and over; for as long as one takes, if that is longer."""
        with Repeated(act) as repeated:
            while True:
                self._paced(size, server, f"put during {upkeep}")
                if repeated.times > 0 or not repeated.thread.is_alive():
                    break

    def _compact(self, server):
        revision = self._status(server)["header"]["revision"]
        done = self._ctl(server, "compact", str(revision), "--physical", check=False)
        # There may have been no put since the last one.
        if done.returncode != 0 and "has been compacted" not in done.stderr:
            raise RuntimeError(done.stderr)

    def _snapshot(self, size, server):
        report = self.load(server, "--connections", 1, "--streams", 1, "--count", 1, "snapshot")
        self._note(size, "snapshot MB/s", report["answer_bytes"] / 1e6 / report["seconds"], "MB/s")

    def _restart(self, size, server):
        server.stop()
        self._note(size, "restart s", server.start(), "s")
        time.sleep(2)  # what it frees after the start
        self._note(size, "bytes a key, restarted", servers.rss_anon_bytes(server.pid) / size.keys, "B")

    def _file_bytes(self, server):
        return int(self._status(server)["dbSize"])

    def _status(self, server):
        return json.loads(self._ctl(server, "endpoint", "status", "-w", "json").stdout)[0]["Status"]

    def _ctl(self, server, *words, check=True):
        done = subprocess.run(
            [str(self._options.ctl), "--endpoints", server.endpoint, "--command-timeout", f"{UPKEEP_SECONDS}s", *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if check and done.returncode != 0:
            raise RuntimeError(f"kvorumctl {' '.join(words)}: {done.stderr.strip()}")
        return done

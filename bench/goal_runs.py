"""What bench/compare.py --all measures of each server: a phase is one start with an empty folder."""

import time

import measures
import servers
import watching
from measures import PAGE_LIMIT, SMALL_KEY_SPACE, in_flight
from servers import MIB

WATCH = "prefix, 300 puts/s"
STREAMS = "idle streams"


def of_keys(measure, count):
    return f"{measure}, {count:,} keys"


class GoalBench(watching.WatchBench):
    def _preload(self, members, count):
        return self.load(members, *in_flight(256), "--keys", count, "--sequential", "--count", count, "put")

    def _calls(self, name, members, measure, calls, *operation, keys=SMALL_KEY_SPACE, endpoints=None):
        self.measure(name, members, measure, "--warmup", self._options.warmup, *in_flight(calls), "--keys", keys,
                     *operation, endpoints=endpoints)

    def one(self, name, program, folder):
        """One node, few keys."""
        with servers.Server(program, folder) as server:
            server.start()
            self._preload(server, SMALL_KEY_SPACE)
            self._calls(name, server, "one put", 1, "put")
            self._calls(name, server, "put", 256, "put")
            self._calls(name, server, "txn", 64, "txn")

    def loaded(self, name, program, folder, count):
        """One node with many keys, and its restart with them."""
        with servers.Server(program, folder, quota_bytes=max(servers.DEFAULT_QUOTA_BYTES, 2048 * count)) as server:
            server.start()
            report = self._preload(server, count)
            self._record_memory(name, "loaded", count, report["server_rss_anon_bytes"])
            self._calls(name, server, of_keys("range", count), 256, "range", keys=count)
            for what, calls in (("one page", 1), ("page", 32)):
                self._calls(name, server, of_keys(what, count), calls, "page", "--limit", PAGE_LIMIT, keys=count)
            server.stop()
            seconds = server.start()
            self.record(name, of_keys("restart s", count), seconds)
            print(f"  {name:6} restarted with {count:,} keys in {seconds:.2f} s", flush=True)
            time.sleep(2)  # what it frees after the start
            self._record_memory(name, "restarted", count, servers.rss_anon_bytes(server.pid))

    def _record_memory(self, name, when, count, anonymous_bytes):
        self.record(name, of_keys(f"bytes a key, {when}", count), anonymous_bytes / count)
        print(f"  {name:6} {when} with {count:,} keys: RssAnon {anonymous_bytes / MIB:.0f} MiB", flush=True)

    def three(self, name, program, folder):
        """Three members, few keys; one call in flight goes to the leader, more to all."""
        with servers.Cluster(program, folder, 3) as members:
            members.start()
            self._preload(members, SMALL_KEY_SPACE)
            self._calls(name, members, "three: one put", 1, "put", endpoints=[members.leader().endpoint])
            for calls in (64, 256):
                self._calls(name, members, f"three: range, {calls}", calls, "range")
            self._calls(name, members, "three: txn", 64, "txn")

    def events(self, name, program, folder):
        self.watch(name, program, folder, WATCH)

    def streams(self, name, program, folder):
        self.watch(name, program, folder, STREAMS)

"""What watchers cost a server while it is written to, by kvorum-watch-bench."""

import measures
import servers

# kvorum alone: with --max-watch-lag. Beside it stand etcd's figures without.
BOUNDED = "prefix, full speed, lag bounded"
# A measure's arguments for kvorum-watch-bench.
ONE_PREFIX = ("--streams", 100, "--watchers", 10)
OWN_KEYS = ("--streams", 100, "--watchers", 100, "--own-keys")
IDLE = ("--streams", 100, "--watchers", 1000, "--idle")
MEASURES = {
    "prefix, 300 puts/s": (*ONE_PREFIX, "--rate", 300),
    "prefix, full speed": ONE_PREFIX,
    BOUNDED: ONE_PREFIX,
    "own keys, 300 puts/s": (*OWN_KEYS, "--rate", 300),
    "own keys, full speed": OWN_KEYS,
    "idle on a prefix": (*IDLE, "--rate", 10),
    "idle on own keys": (*IDLE, "--own-keys", "--rate", 10),
    # So many that what a server takes with its first clients counts for little.
    "idle streams": ("--streams", 20_000, "--watchers", 1, "--idle", "--rate", 10),
    "no watcher, full speed": ("--streams", 1, "--watchers", 0),
    "idle, full speed": IDLE,
}


class WatchBench(measures.Bench):
    def watch(self, name, program, folder, measure):
        flags = ()
        if measure == BOUNDED:
            if name == "etcd":
                return
            flags = (f"--max-watch-lag={self._options.max_watch_lag}",)
        with servers.Server(program, folder, flags) as server:
            server.start()
            report = self.run_watchers(server, *MEASURES[measure])
            for key, value in report.items():
                self.record(name, f"{measure}: {key}", value)
            print(f"  {name:6} {measure:31} {report['puts_per_second']:8.0f} puts/s {report['events_per_second']:10.0f}"
                  f" events/s  p50 {report['event_p50_ms']:8.2f} ms  p99 {report['event_p99_ms']:8.2f} ms"
                  f"  server CPU {report['server_cpu_us_per_event']:8.3f} us an event"
                  f"  {report['bytes_per_watcher']:6.0f} bytes a watcher", flush=True)

    def run_watchers(self, server, *arguments, seconds=None):
        return measures.run_json(
            [self._options.watch_bench, "--endpoint", server.endpoint, "--pid", server.pid,
             "--seconds", seconds or self._options.seconds, *arguments], "kvorum-watch-bench")

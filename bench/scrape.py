#!/usr/bin/env python3
"""What a scrape of /metrics costs: its time, and what puts lose by it, with many keys and watchers under full load.

  scrape.py [--keys N] [--watchers N] [--pairs N] [--window SECONDS] [--every SECONDS] [--dir FOLDER]

A server of its own, on free ports, in a folder of its own. Windows of puts at full speed with and without scrapes take
turns (without, with, with, without …), so that what else runs on the machine meets both alike. The last line is JSON;
the targets are 20 ms a scrape and 2 % of the puts.
"""

import argparse
import http.client
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import threading
import time

import leases

BIN = leases.BIN


class Scraper:
    """Scrapes on one connection, as Prometheus does."""

    def __init__(self, endpoint):
        self._connection = http.client.HTTPConnection(endpoint, timeout=30)
        self.seconds = []

    def scrape(self):
        begin = time.monotonic()
        self._connection.request("GET", "/metrics", headers={"Accept-Encoding": "gzip"})
        body = self._connection.getresponse().read()
        self.seconds.append(time.monotonic() - begin)
        return len(body)

    def scrape_until(self, stop, every):
        while not stop.is_set():
            begin = time.monotonic()
            self.scrape()
            stop.wait(max(0.0, begin + every - time.monotonic()))


def thread_seconds(pid, name):
    """The processor time of the server's threads of this name."""
    total = 0.0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/stat", encoding="ascii", errors="replace") as file:
            stat = file.read()
        if stat[stat.index("(") + 1:stat.rindex(")")] != name:
            continue
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0]) * 1e-9
    return total


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def puts(args, node):
    return leases.load(args, node, "--seconds", str(args.window), "--warmup", "0.5", "--connections", "4", "--streams",
                       "64", "--keys", str(args.keys), "--key-size", "32", "--value-size", "256", "put")


def with_scrapes(args, node, scraper):
    stop = threading.Event()
    thread = threading.Thread(target=scraper.scrape_until, args=(stop, args.every))
    thread.start()
    try:
        return puts(args, node)
    finally:
        stop.set()
        thread.join()


def watch(args, node, seconds):
    """The watchers, each on a key of its own, in another process until it is killed."""
    streams = min(100, args.watchers)
    return subprocess.Popen(
        [args.watch_bench, "--endpoint", node.client, "--streams", str(streams), "--watchers",
         str(args.watchers // streams), "--own-keys", "--rate", "10", "--seconds", str(seconds)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def wait_for_watchers(args, node):
    connection = http.client.HTTPConnection(node.client, timeout=30)
    end = time.monotonic() + 120
    while True:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        found = next(line for line in text.splitlines() if line.startswith("etcd_debugging_mvcc_watcher_total "))
        if float(found.split()[1]) >= args.watchers // min(100, args.watchers) * min(100, args.watchers):
            return len(text)
        if time.monotonic() > end:
            raise SystemExit("the watchers do not come up")
        time.sleep(0.1)


def measure(args, node):
    leases.load(args, node, "--count", str(args.keys), "--keys", str(args.keys), "--sequential", "--connections", "4",
                "--streams", "64", "--key-size", "32", "--value-size", "256", "put")
    watchers = watch(args, node, args.pairs * 2 * (args.window + 5) + 60)
    try:
        text_bytes = wait_for_watchers(args, node)
        scraper = Scraper(node.client)
        scraper.scrape()
        idle = [scraper.seconds.pop()]
        for _ in range(20):
            scraper.scrape()
            idle.append(scraper.seconds.pop())
        cpu_before = thread_seconds(node.process.pid, "metrics")
        plain, scraped = [], []
        for pair in range(args.pairs):
            for scrapes in (False, True) if pair % 2 == 0 else (True, False):
                if scrapes:
                    scraped.append(with_scrapes(args, node, scraper))
                else:
                    plain.append(puts(args, node))
            print(f"pair {pair + 1}: {plain[-1]['per_second']:,.0f} puts/s without, {scraped[-1]['per_second']:,.0f} "
                  f"with scrapes", flush=True)
        cpu = thread_seconds(node.process.pid, "metrics") - cpu_before
        ratios = [b["per_second"] / a["per_second"] for a, b in zip(plain, scraped)]
        return {
            "keys": args.keys, "watchers": args.watchers, "text_bytes": text_bytes, "scrapes": len(scraper.seconds),
            "scrape_p50_ms": round(percentile(scraper.seconds, 0.5) * 1e3, 2),
            "scrape_p99_ms": round(percentile(scraper.seconds, 0.99) * 1e3, 2),
            "idle_scrape_p50_ms": round(percentile(idle, 0.5) * 1e3, 2),
            "scrape_cpu_ms": round(cpu / max(1, len(scraper.seconds)) * 1e3, 3),
            "puts_per_second_without": round(statistics.median(r["per_second"] for r in plain)),
            "puts_per_second_with": round(statistics.median(r["per_second"] for r in scraped)),
            "puts_ratio": round(statistics.median(ratios), 4),
            "put_cpu_us_without": round(statistics.median(r["server_cpu_us"] for r in plain), 2),
            "put_cpu_us_with": round(statistics.median(r["server_cpu_us"] for r in scraped), 2),
            "load_average": os.getloadavg()[0], "processors": os.cpu_count(),
        }
    finally:
        watchers.kill()
        watchers.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=f"{BIN}/kvorum")
    parser.add_argument("--bench", default=f"{BIN}/kvorum-bench")
    parser.add_argument("--watch-bench", default=f"{BIN}/kvorum-watch-bench")
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--watchers", type=int, default=10_000)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--window", type=float, default=10)
    parser.add_argument("--every", type=float, default=1, help="seconds between two scrapes")
    parser.add_argument("--dir", default=".")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="scrape-", dir=args.dir)
    node = leases.Node(args.server, folder)
    try:
        node.start()
        print(json.dumps(measure(args, node)))
        node.stop()
    finally:
        if node.process is not None and node.process.poll() is None:
            node.process.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

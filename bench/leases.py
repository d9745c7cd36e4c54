#!/usr/bin/env python3
"""Leases in numbers: a million of them granted and kept alive, and a hundred thousand that expire in one moment while
other clients write and renew. A server of its own, on free ports, in a folder of its own.

  leases.py [--server PATH] [--bench PATH] [--leases N] [--expiring N] [--rate N] [--dir FOLDER]

With --server etcd it measures etcd.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc
import grpc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "process"))

import ports  # noqa: E402

BIN = os.environ.get("KVORUM_BIN_DIR", "build/release/bin")
EXPIRING_TTL_SECONDS = 30


class Node:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.client, self.peer = (f"127.0.0.1:{ports.free_port()}" for _ in range(2))
        self.process = None

    def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "--name=n1", f"--data-dir={self.folder}/data", "--quota-backend-bytes=8589934592",
                 f"--listen-client-urls=http://{self.client}", f"--advertise-client-urls=http://{self.client}",
                 f"--listen-peer-urls=http://{self.peer}", f"--initial-advertise-peer-urls=http://{self.peer}",
                 f"--initial-cluster=n1=http://{self.peer}"], stdout=log, stderr=log)
        begin = time.monotonic()
        while True:
            try:
                with urllib.request.urlopen(f"http://{self.client}/health", timeout=1) as answer:
                    if json.load(answer)["health"] == "true":
                        return time.monotonic() - begin
            except OSError:
                pass
            if self.process.poll() is not None or time.monotonic() > begin + 120:
                raise SystemExit(f"{self.program} does not start; see {self.folder}/log")
            time.sleep(0.02)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def anonymous_mib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf8") as status:
            return next(int(line.split()[1]) // 1024 for line in status if line.startswith("RssAnon"))


def load(args, node, *arguments, background=False):
    command = [args.bench, "--json", "--endpoint", node.client, "--pid", str(node.process.pid), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    return process if background else report(process)


def report(process):
    output, _ = process.communicate()
    result = json.loads(output)
    assert result["failures"] == 0, result["first_failure"]
    return result


def show(what, result):
    print(f"{what}: {result['per_second']:,.0f}/s, p50 {result['p50_us'] / 1000:.2f} ms, p99 "
          f"{result['p99_us'] / 1000:.2f} ms, max {result['max_us'] / 1000:.1f} ms, "
          f"{result['server_cpu_us']:.1f} us of server CPU each", flush=True)


def count(stub, prefix):
    end = prefix[:-1] + bytes([prefix[-1] + 1])
    return stub.Range(rpc_pb2.RangeRequest(key=prefix, range_end=end, count_only=True), timeout=60).count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default=f"{BIN}/kvorum")
    parser.add_argument("--bench", default=f"{BIN}/kvorum-bench")
    parser.add_argument("--leases", type=int, default=1_000_000)
    parser.add_argument("--expiring", type=int, default=100_000)
    parser.add_argument("--rate", type=int, default=10_000, help="renewals a second")
    parser.add_argument("--dir", default=".")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="leases-", dir=args.dir)
    node = Node(args.server, folder)
    try:
        node.start()
        many(args, node)
        crowd(args, node)
        node.stop()
    finally:
        if node.process.poll() is None:
            node.process.kill()
        shutil.rmtree(folder, ignore_errors=True)


def connect(node):
    return grpc.insecure_channel(node.client, options=[("grpc.max_receive_message_length", -1),
                                                       ("grpc.use_local_subchannel_pool", 1)])


def renewals(args, node, seconds, background=False):
    return load(args, node, "--seconds", str(seconds), "--warmup", "0", "--rate", str(args.rate), "--connections", "4",
                "--keys", str(args.leases), "lease-keep-alive", background=background)


def puts(args, node, seconds, background=False):
    """Puts of other clients, whose keys are not those on leases."""
    return load(args, node, "--seconds", str(seconds), "--warmup", "0", "--streams", "8", "--key-size", "17",
                "--value-size", "64", "put", background=background)


def many(args, node):
    before = node.anonymous_mib()
    show(f"{args.leases:,} grants", load(args, node, "--count", str(args.leases), "--keys", str(args.leases),
                                         "--sequential", "lease-grant", "--ttl", "3600"))
    time.sleep(1)
    used = node.anonymous_mib() - before
    print(f"memory: {used} MiB more, {used * 1048576 / args.leases:.0f} bytes a lease")
    show("renewals, as fast as they go", load(args, node, "--seconds", "5", "--keys", str(args.leases),
                                              "lease-keep-alive"))
    show(f"renewals, {args.rate:,} a second", renewals(args, node, 5))
    background = puts(args, node, 5, background=True)
    time.sleep(1)
    with connect(node) as channel:
        begin = time.monotonic()
        listed = len(rpc_pb2_grpc.LeaseStub(channel).LeaseLeases(rpc_pb2.LeaseLeasesRequest(), timeout=60).leases)
        print(f"a list of all {listed:,} leases: {time.monotonic() - begin:.2f} s")
    show("puts beside that list", report(background))
    node.stop()
    print(f"a start with them: {node.start():.2f} s, {node.anonymous_mib()} MiB")


def crowd(args, node):
    """A hundred thousand more, granted within a second or so, which nobody renews."""
    more = ["--count", str(args.expiring), "--keys", str(args.expiring), "--first-key", str(args.leases), "--sequential"]
    show(f"{args.expiring:,} more grants", load(args, node, *more, "lease-grant", "--ttl", str(EXPIRING_TTL_SECONDS)))
    granted = time.monotonic()
    show("keys on them", load(args, node, *more, "--key-size", "30", "leased-put"))
    renewing = renewals(args, node, EXPIRING_TTL_SECONDS, background=True)
    show("puts beside renewals", puts(args, node, 5))
    with connect(node) as channel:
        kv = rpc_pb2_grpc.KVStub(channel)
        time.sleep(max(0, granted + EXPIRING_TTL_SECONDS - 3 - time.monotonic()))
        assert count(kv, b"/kvorum-bench/") == args.expiring
        others = puts(args, node, 6, background=True)
        first = None
        while True:
            left = count(kv, b"/kvorum-bench/")
            now = time.monotonic()
            if left < args.expiring and first is None:
                first = now
            if left == 0 or now > granted + 2 * EXPIRING_TTL_SECONDS:
                break
            time.sleep(0.02)
    print(f"{args.expiring - left:,} of {args.expiring:,} keys were gone {now - first:.2f} s after the first one went, "
          f"{now - granted - EXPIRING_TTL_SECONDS:.2f} s after the time of the last one")
    show("puts meanwhile", report(others))
    show("renewals all the time", report(renewing))


if __name__ == "__main__":
    main()

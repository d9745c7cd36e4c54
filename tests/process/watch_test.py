"""Watchers of real clients, across the death of the leader, at servers that lose their majority, and clients that
do not read."""

import os
import queue
import subprocess
import threading
import time
import unittest

import etcd3
import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

import cluster
import server

PEER = os.environ["KVORUM_PEER_DIR"]
NODE_MODULES = os.environ["KVORUM_NODE_DIR"]
HERE = os.path.dirname(os.path.abspath(__file__))
PREFIX = b"w/"
PREFIX_END = b"w0"


def create(start_revision=0, key=PREFIX, range_end=PREFIX_END, **fields):
    return rpc_pb2.WatchRequest(create_request=rpc_pb2.WatchCreateRequest(
        key=key, range_end=range_end, start_revision=start_revision, **fields))


class Stream:
    """A Watch call whose requests are given one by one."""

    def __init__(self, endpoint, *requests, metadata=()):
        self.channel = cluster.channel_to(endpoint)
        self.requests = queue.Queue()
        for request in requests:
            self.requests.put(request)
        self.call = rpc_pb2_grpc.WatchStub(self.channel).Watch(iter(self.requests.get, None), metadata=metadata)

    def close(self):
        self.call.cancel()
        self.requests.put(None)
        self.channel.close()


def history(endpoint, up_to, timeout=30):
    """Every event of the prefix up to a revision, as this member tells it from the beginning."""
    stream = Stream(endpoint, create(1), rpc_pb2.WatchRequest())
    events = []
    timer = threading.Timer(timeout, stream.call.cancel)
    timer.start()
    try:
        for response in stream.call:
            events += response.events
            if events and events[-1].kv.mod_revision >= up_to:
                return events
        raise AssertionError("the watch ended")
    finally:
        timer.cancel()
        stream.close()


class Writer:
    """Puts one key after the other through whoever takes it; outcomes may be unknown."""

    def __init__(self, endpoints):
        self.endpoints = list(endpoints)
        self.acknowledged = []
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        stubs = [server.kv(cluster.channel_to(endpoint)) for endpoint in self.endpoints]
        i = 0
        while not self.stopping.is_set():
            i += 1
            key = b"w/%06d" % i
            try:
                put = stubs[i % len(stubs)].Put(rpc_pb2.PutRequest(key=key, value=b"v%d" % i), timeout=2)
                self.acknowledged.append((put.header.revision, key))
            except grpc.RpcError:
                time.sleep(0.05)

    def stop(self):
        self.stopping.set()
        self.thread.join()


class Resuming:
    """A watcher as an informer has it: after a broken stream it goes on at the next member, behind the last revision
    that it saw."""

    def __init__(self, endpoints, start_revision):
        self.endpoints = list(endpoints)
        self.next = start_revision
        self.events = []
        self.reconnects = -1
        self.stopping = False
        self.stream = None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        at = 0
        while not self.stopping:
            self.reconnects += 1
            self.stream = Stream(self.endpoints[at % len(self.endpoints)], create(self.next),
                                 metadata=(("hasleader", "true"),))
            at += 1
            try:
                for response in self.stream.call:
                    assert not response.canceled, response
                    self.events += response.events
                    if response.events:
                        self.next = response.events[-1].kv.mod_revision + 1
            except grpc.RpcError:
                time.sleep(0.05)
            self.stream.close()

    def stop(self):
        self.stopping = True
        self.stream.close()
        self.thread.join()



class LeaderDiesTest(unittest.TestCase):
    def background(self, command, env=None):
        environment = {"PATH": os.environ["PATH"], "ETCDCTL_API": "3"} | (env or {})
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        self.addCleanup(process.kill)
        return process

    def test_no_client_misses_an_event(self):
        with cluster.Cluster() as members:
            members.start()
            leader = members.leader()
            survivors = [member for member in members.alive if member is not leader]
            # Those that follow the leader first must go on elsewhere.
            endpoints = [leader.endpoint] + [member.endpoint for member in survivors]
            listed = ",".join(endpoints)
            with leader.channel() as channel:
                first = server.put(server.kv(channel), b"w/first", b"").header.revision
            resuming = [Resuming(endpoints[i:] + endpoints[:i], first + 1) for i in range(3)]
            etcdctl = self.background([os.path.join(PEER, "etcdctl"), "--endpoints", listed, "watch", "--prefix", "w/",
                                       "--rev", str(first + 1)])
            kvorumctl = self.background([cluster.CTL, "--endpoints", listed, "watch", "--prefix", "w/",
                                         "--rev", str(first + 1)])
            node = self.background(["node", os.path.join(HERE, "node_watch.js"), str(first + 1),
                                    *(f"http://{endpoint}" for endpoint in endpoints)],
                                   env={"NODE_PATH": NODE_MODULES})
            host, port = survivors[0].endpoint.split(":")
            python = etcd3.client(host=host, port=int(port), timeout=10)
            self.addCleanup(python.close)
            events, cancel = python.watch_prefix("w/", start_revision=first + 1)

            writer = Writer(endpoints)
            cluster.wait_until(lambda: len(writer.acknowledged) > 200, "some writes")
            leader.kill()
            before = len(writer.acknowledged)
            cluster.wait_until(lambda: len(writer.acknowledged) > before + 200, "writes without the old leader")
            writer.stop()
            with survivors[0].channel() as channel:
                last = server.put(server.kv(channel), b"w/last", b"").header.revision

            told = history(survivors[0].endpoint, last)
            self.assertEqual([str(event) for event in told],
                             [str(event) for event in history(survivors[1].endpoint, last)])
            told = told[1:]  # but w/first
            self.assertTrue({key for _, key in writer.acknowledged} <= {event.kv.key for event in told})
            for watcher in resuming:
                cluster.wait_until(lambda w=watcher: w.next > last, "a watcher to get everything")
                watcher.stop()
                self.assertEqual([str(event) for event in watcher.events], [str(event) for event in told])
            self.assertGreater(sum(watcher.reconnects for watcher in resuming), 0)

            keys = [event.kv.key.decode() for event in told]
            seen = []
            for event in events:
                seen.append(event.key.decode())
                if seen[-1] == "w/last":
                    break
            cancel()
            self.assertEqual(seen, keys)
            out, err = node.communicate(timeout=60)  # it ends with w/last
            self.assertEqual(node.returncode, 0, err)
            self.assertEqual(out.split(), keys)
            for process in (etcdctl, kvorumctl):
                with self.subTest(process.args[0]):
                    lines = []
                    for line in process.stdout:
                        if line.startswith("w/"):
                            lines.append(line.strip())
                        if line.startswith("w/last"):
                            break
                    self.assertEqual(lines, keys)
                    process.kill()
                    process.communicate()


class MajorityLostTest(unittest.TestCase):
    def test_streams_that_want_a_leader_are_cut(self):
        with cluster.Cluster() as members:
            members.start()
            left = members.followers()[0]
            wants = Stream(left.endpoint, create(), metadata=(("hasleader", "true"),))
            stays = Stream(left.endpoint, create())
            self.addCleanup(wants.close)
            self.addCleanup(stays.close)
            self.assertTrue(next(wants.call).created)
            self.assertTrue(next(stays.call).created)
            for member in members.alive:
                if member is not left:
                    member.kill()
            with self.assertRaises(grpc.RpcError) as caught:
                next(wants.call)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
            self.assertEqual(caught.exception.details(), "etcdserver: no leader")
            stays.requests.put(rpc_pb2.WatchRequest(cancel_request=rpc_pb2.WatchCancelRequest(watch_id=0)))
            self.assertTrue(next(stays.call).canceled)


class OneServerTest(unittest.TestCase):
    def setUp(self):
        # Few entries of the log stay in memory.
        self.member = server.Server("--snapshot-count=100", "--snapshot-catchup-entries=100")
        self.addCleanup(self.member.close)
        self.member.start()

    def anonymous_bytes(self):
        with open(f"/proc/{self.member.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon"))

    def test_a_client_that_does_not_read_costs_a_bounded_amount(self):
        silent = [Stream(self.member.endpoint, *(create() for _ in range(10))) for _ in range(10)]
        for stream in silent:
            self.addCleanup(stream.close)
            for _ in range(10):
                self.assertTrue(next(stream.call).created)
        value = os.urandom(50_000)
        with self.member.channel() as channel:
            stub = server.kv(channel)
            for i in range(200):
                server.put(stub, b"w/%06d" % i, value)
            before = self.anonymous_bytes()
            for i in range(200, 2_200):  # 100 MB, that is 10 GB of events
                server.put(stub, b"w/%06d" % i, value)
            grown = self.anonymous_bytes() - before
        self.assertLess(grown, 100_000_000)
        seen = {}
        for response in silent[0].call:
            for event in response.events:
                seen.setdefault(response.watch_id, []).append(event.kv.mod_revision)
            if len(seen) == 10 and all(len(revisions) == 2_200 for revisions in seen.values()):
                break
        for revisions in seen.values():
            self.assertEqual(revisions, list(range(2, 2_202)))

    def test_sigterm_ends_it_in_time_with_watches_open(self):
        streams = [Stream(self.member.endpoint, create()) for _ in range(20)]
        for stream in streams:
            self.addCleanup(stream.close)
            self.assertTrue(next(stream.call).created)
        started = time.monotonic()
        self.member.process.terminate()
        self.assertEqual(self.member.process.wait(timeout=10), 0)
        self.assertLess(time.monotonic() - started, 1.5)
        for stream in streams:
            with self.assertRaises(grpc.RpcError) as caught:
                next(stream.call)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)

    def test_the_interactive_mode_of_kvorumctl(self):
        ctl = subprocess.Popen([cluster.CTL, "--endpoints", self.member.endpoint, "watch", "-i"], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(ctl.kill)
        with self.member.channel() as channel:
            server.put(server.kv(channel), b"a", b"1")
            server.put(server.kv(channel), b"b", b"2")

        def say(line):
            ctl.stdin.write(line + "\n")
            ctl.stdin.flush()

        def read(count):
            return [ctl.stdout.readline().rstrip("\n") for _ in range(count)]

        say("watch a --rev 2")
        self.assertEqual(read(3), ["PUT", "a", "1"])
        say('watch "b" --rev 1 -- echo ran')
        self.assertEqual(read(4), ["PUT", "b", "2", "ran"])
        say("progress")  # asked of both watches
        self.assertEqual(read(2), ["progress notify: 3", "progress notify: 3"])
        ctl.stdin.close()
        self.assertEqual(ctl.wait(timeout=30), 3)
        ctl.stdout.close()
        self.assertIn("error reading watch request line: EOF", ctl.stderr.read())
        ctl.stderr.close()


class MirrorTest(unittest.TestCase):
    def test_a_mirror_has_everything_and_follows(self):
        source, destination = server.Server(), server.Server()
        for one in (source, destination):
            self.addCleanup(one.close)
            one.start()
        with source.channel() as from_channel, destination.channel() as to_channel:
            here, there = server.kv(from_channel), server.kv(to_channel)

            def mirrored(prefix):
                return {kv.key: kv.value for kv in server.get(
                    there, prefix, range_end=prefix[:-1] + bytes([prefix[-1] + 1])).kvs}

            for i in range(1_500):  # more than a page
                server.put(here, b"a/%04d" % i, b"%d" % i)
            server.put(here, b"other", b"not mirrored")
            mirror = subprocess.Popen([cluster.CTL, "--endpoints", source.endpoint, "make-mirror", "--prefix", "a/",
                                       "--dest-prefix", "b/", "--max-txn-ops", "2", destination.endpoint],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            self.addCleanup(mirror.stderr.close)
            self.addCleanup(mirror.wait)
            self.addCleanup(mirror.kill)
            cluster.wait_until(lambda: len(mirrored(b"b/")) == 1_500, "the copy")
            here.DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"a/0000", range_end=b"a/0010"), timeout=10)
            here.Txn(rpc_pb2.TxnRequest(success=[
                rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=b"a/x%d" % i, value=b"t")) for i in range(5)]),
                     timeout=10)
            server.put(here, b"a/last", b"")
            cluster.wait_until(lambda: b"b/last" in mirrored(b"b/"), "the changes")
            self.assertEqual({key.replace(b"b/", b"a/"): value for key, value in mirrored(b"b/").items()},
                             {kv.key: kv.value for kv in server.get(here, b"a/", range_end=b"a0").kvs})
            self.assertEqual(len(mirrored(b"o/")), 0)
            self.assertIsNone(mirror.poll())


if __name__ == "__main__":
    unittest.main()

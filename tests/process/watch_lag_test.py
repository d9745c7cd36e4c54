"""--max-watch-lag: puts of a real member wait for watchers whose clients read, and for no others."""

import threading
import time
import unittest
import urllib.request

import grpc
from etcd3.etcdrpc import rpc_pb2

import server

IN_FLIGHT = 64
STREAMS = 5
WATCHERS = 10  # of each stream: a put makes 50 events
VALUE = b"v" * 4096
PUTS = 600


def metric(member, name):
    with urllib.request.urlopen(f"http://{member.endpoint}/metrics", timeout=10) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith(name + " "):
                return float(line.rsplit(" ", 1)[1])
    raise AssertionError(f"no metric {name}")


def awaited(member):
    return metric(member, 'kvorum_watch_lag_revisions{watchers="awaited"}')


def held(member):
    return metric(member, "kvorum_proposals_held_for_watchers")


def ever_held(member):
    return metric(member, "kvorum_proposals_ever_held_for_watchers_total")


class Watchers:
    """A stream of watchers of every key. Its client reads messages as bytes, one each `pause` seconds; None: never."""

    def __init__(self, member, count, pause):
        self.channel = grpc.insecure_channel(
            member.endpoint, options=[("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1)])
        self.end = threading.Event()
        self.count = count
        self.events = 0
        self.call = self.channel.stream_stream(
            "/etcdserverpb.Watch/Watch",
            request_serializer=rpc_pb2.WatchRequest.SerializeToString)(self.requests())
        for _ in range(count):
            next(self.call)  # created
        self.reader = threading.Thread(target=self.read, args=(pause,)) if pause is not None else None
        if self.reader is not None:
            self.reader.start()

    def requests(self):
        for _ in range(self.count):
            yield rpc_pb2.WatchRequest(create_request=rpc_pb2.WatchCreateRequest(key=b"\0", range_end=b"\0"))
        self.end.wait()

    def read(self, pause):
        try:
            for message in self.call:
                self.events += message.count(VALUE)
                self.end.wait(pause)
        except grpc.RpcError:
            pass  # closed

    def close(self):
        self.end.set()
        self.call.cancel()
        if self.reader is not None:
            self.reader.join()
        self.channel.close()


class WatchLagTest(unittest.TestCase):
    def begin(self, *flags):
        member = server.Server(*flags)
        self.addCleanup(member.close)
        return member.start()

    def watch(self, member, streams, pause):
        opened = [Watchers(member, WATCHERS, pause) for _ in range(streams)]
        for stream in opened:
            self.addCleanup(stream.close)
        return opened

    def put_all(self, member, count, look=lambda: None):
        """Puts with IN_FLIGHT of them unanswered; looks all the while."""
        with member.channel() as channel:
            stub = server.kv(channel)
            room = threading.Semaphore(IN_FLIGHT)
            puts = []

            def run():
                for i in range(count):
                    room.acquire()
                    put = stub.Put.future(rpc_pb2.PutRequest(key=b"k%d" % (i % 10), value=VALUE), timeout=30)
                    put.add_done_callback(lambda _: room.release())
                    puts.append(put)

            runner = threading.Thread(target=run)
            runner.start()
            while runner.is_alive():
                look()
                runner.join(0.02)
            for put in puts:
                put.result()

    def test_the_lag_stays_within_the_bound(self):
        bound = 50
        member = self.begin("--max-watch-lag", str(bound))
        streams = self.watch(member, STREAMS, pause=0.001)
        most = [0]

        def look():
            most[0] = max(most[0], awaited(member))

        self.put_all(member, PUTS, look)
        self.assertLessEqual(most[0], bound + IN_FLIGHT)
        self.assertGreater(ever_held(member), 0)
        end = time.monotonic() + 60
        while time.monotonic() < end and any(s.events < PUTS * WATCHERS for s in streams):
            time.sleep(0.01)
        self.assertEqual({stream.events for stream in streams}, {PUTS * WATCHERS})
        self.assertEqual((awaited(member), held(member)), (0, 0))

    def test_a_client_that_does_not_read_holds_nobody_up(self):
        bound = 50
        member = self.begin("--max-watch-lag", str(bound))
        self.watch(member, 2, pause=None)
        self.put_all(member, PUTS)
        unsynced = metric(member, 'kvorum_watch_lag_revisions{watchers="unsynced"}')
        self.assertGreater(unsynced, 2 * bound, "its watchers stay behind")
        self.assertGreater(ever_held(member), 0, "at first nobody knows that it does not read")
        self.assertEqual(held(member), 0)

    def test_off_by_default(self):
        member = self.begin()
        self.watch(member, STREAMS, pause=0.001)
        self.put_all(member, PUTS)
        self.assertEqual(ever_held(member), 0)


if __name__ == "__main__":
    unittest.main()

"""The behaviours of source and informer that docs/sync_behaviours.md names a real server for, over kvorum and over the
etcd of $KVORUM_PEER_DIR: 3.4, and the newest there is.

sync-probe (probe.cc) follows a prefix; the tests write, kill and count.
"""

import os
import pathlib
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "process"))

import grpc  # noqa: E402
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc  # noqa: E402

import ports  # noqa: E402
import relay  # noqa: E402

BIN = os.environ["KVORUM_BIN_DIR"]
KVORUM = os.path.join(BIN, "kvorum")
ETCD = os.path.join(os.environ["KVORUM_PEER_DIR"], "etcd")
TIMEOUT_S = 60


class Node:
    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name
        self.client_port, self.peer_port = ports.free_ports(2)
        self.process = None

    @property
    def peer_url(self):
        return f"http://127.0.0.1:{self.peer_port}"

    def start(self):
        client = f"http://127.0.0.1:{self.client_port}"
        everybody = ",".join(f"{node.name}={node.peer_url}" for node in self.cluster.nodes)
        with open(os.path.join(self.cluster.folder, self.name + ".log"), "ab") as log:
            self.process = subprocess.Popen(
                [self.cluster.binary, "--name", self.name, "--data-dir", os.path.join(self.cluster.folder, self.name),
                 "--listen-client-urls", client, "--advertise-client-urls", client,
                 "--listen-peer-urls", self.peer_url, "--initial-advertise-peer-urls", self.peer_url,
                 "--initial-cluster", everybody, "--heartbeat-interval", "100", "--election-timeout", "500",
                 *self.cluster.flags],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.cluster.folder)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Cluster:
    def __init__(self, binary, size, flags=()):
        self.binary, self.flags = binary, flags
        self.folder = tempfile.mkdtemp(prefix="kvorum-sync-")
        self.nodes = [Node(self, f"n{i}") for i in range(size)]
        for node in self.nodes:
            node.start()
        self.channels = [None] * size
        self.kvs = [None] * size
        for number in range(size):
            self.wait_for(number)

    def connect(self, number):
        if self.channels[number] is not None:
            self.channels[number].close()
        self.channels[number] = grpc.insecure_channel(
            f"127.0.0.1:{self.nodes[number].client_port}",
            options=[("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1)])
        self.kvs[number] = rpc_pb2_grpc.KVStub(self.channels[number])

    def wait_for(self, number):
        """Until this member answers. A channel that could not connect dials again only after seconds, so each try has a
        new one; a call that comes before there is a leader may wait for all of its time."""
        end = time.monotonic() + TIMEOUT_S
        while True:
            self.connect(number)
            try:
                return self.kvs[number].Range(rpc_pb2.RangeRequest(key=b"x"), timeout=1)
            except grpc.RpcError:
                if time.monotonic() > end:
                    raise
            time.sleep(0.05)

    @property
    def endpoints(self):
        return ",".join(f"127.0.0.1:{node.client_port}" for node in self.nodes)

    def call(self, call):
        """The first answer of any member; asks again and again."""
        end = time.monotonic() + TIMEOUT_S
        while True:
            for kv in random.sample(self.kvs, len(self.kvs)):
                try:
                    return call(kv)
                except grpc.RpcError as error:
                    if time.monotonic() > end:
                        raise
                    last = error.code()
            time.sleep(0.05 if last == grpc.StatusCode.UNAVAILABLE else 0.2)

    def put(self, key, value=b"x"):
        return self.call(lambda kv: kv.Put(rpc_pb2.PutRequest(key=key, value=value), timeout=1)).header.revision

    def close(self):
        for channel in self.channels:
            channel.close()
        for node in self.nodes:
            if node.process.poll() is None:
                node.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Probe:
    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [os.path.join(BIN, "sync-probe"), *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines, self.queue = [], queue.Queue()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.queue.put(line.rstrip("\n"))
        self.queue.put(None)

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def until(self, pattern):
        """Reads on until a line matches; returns the match."""
        end = time.monotonic() + TIMEOUT_S
        while True:
            try:
                line = self.queue.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                line = None
            if line is None:
                raise AssertionError(f"no {pattern} in {TIMEOUT_S} s; last: {self.lines[-5:]}")
            self.lines.append(line)
            if match := re.fullmatch(pattern, line):
                return match

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=TIMEOUT_S)
        self.reader.join()
        self.process.stdout.close()


# A busy machine takes seconds for what a password costs otherwise, and a token of one second is gone before its first use.
CHEAP_LOGINS = ("--bcrypt-cost", "4")


def enable_auth(cluster):
    """The user root has the password secret."""
    auth = rpc_pb2_grpc.AuthStub(cluster.channels[0])
    auth.UserAdd(rpc_pb2.AuthUserAddRequest(name="root", password="secret"), timeout=5)
    auth.RoleAdd(rpc_pb2.AuthRoleAddRequest(name="root"), timeout=5)
    auth.UserGrantRole(rpc_pb2.AuthUserGrantRoleRequest(user="root", role="root"), timeout=5)
    auth.AuthEnable(rpc_pb2.AuthEnableRequest(), timeout=5)


def log_in(cluster):
    """The metadata of calls with a new token of root's."""
    auth = rpc_pb2_grpc.AuthStub(cluster.channels[0])
    return [("token", auth.Authenticate(rpc_pb2.AuthenticateRequest(name="root", password="secret"), timeout=5).token)]


def peak_memory(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) << 10


class OnARealServer:
    binary = None

    def cluster(self, size=1, flags=()):
        cluster = Cluster(self.binary, size, flags)
        self.addCleanup(cluster.close)
        return cluster

    def probe(self, cluster, prefix, *user):
        return self.probe_of(cluster.endpoints, prefix, *user)

    def probe_of(self, *arguments):
        probe = Probe(*arguments)
        self.addCleanup(probe.close)
        return probe

    def relay_to(self, cluster):
        through = relay.Relay(cluster.nodes[0].client_port)
        self.addCleanup(through.close)
        return through

    def orders_progress(self, cluster):
        version = rpc_pb2_grpc.MaintenanceStub(cluster.channels[0]).Status(rpc_pb2.StatusRequest(), timeout=5).version
        return not version.startswith("3.4.") or int(version.split(".")[2]) >= 25

    def test_S2_the_first_event_is_that_after_the_list_and_none_is_missed_or_twice(self):
        cluster = self.cluster()
        written = {}  # revision -> event, of the prefix alone
        seen_half = threading.Event()

        def write(writer):
            stub = cluster.kvs[0]
            chance = random.Random(writer)
            for i in range(2500):
                key = f"{'/a/' if chance.random() < 0.9 else '/b/'}{writer}/{chance.randrange(200)}"
                if chance.random() < 0.2:
                    done = stub.DeleteRange(rpc_pb2.DeleteRangeRequest(key=key.encode()), timeout=20)
                    event = "-" + key if done.deleted else None
                else:
                    done = stub.Put(rpc_pb2.PutRequest(key=key.encode(), value=b"v" * 50), timeout=20)
                    event = "+" + key
                if event and key.startswith("/a/"):
                    written[done.header.revision] = event
                if i == 1000:
                    seen_half.set()

        writers = [threading.Thread(target=write, args=(i,)) for i in range(4)]
        for writer in writers:
            writer.start()
        seen_half.wait(TIMEOUT_S)
        probe = self.probe(cluster, "/a/")
        for writer in writers:
            writer.join()
        last = cluster.put(b"/a/last")
        written[last] = "+/a/last"
        probe.until(f"rev {last} .*")
        (listed,) = [int(line.split()[1]) for line in probe.lines if line.startswith("list ")]
        told = [line.split(" ", 2)[1:] for line in probe.lines if line.startswith("rev ")]
        self.assertEqual([(int(revision), event) for revision, event in told],
                         sorted((revision, event) for revision, event in written.items() if revision > listed))
        self.assertGreater(len(told), 1000)
        self.assertEqual([line for line in probe.lines if line.startswith("error")], [])

    def test_S3_a_revision_whose_events_come_in_fragments_is_one(self):
        cluster = self.cluster()
        probe = self.probe(cluster, "/a/")
        probe.until("listed")
        for value in (b"1", b"2"):  # with the values before, the second has more bytes than one message takes
            operations = [rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=b"/a/%03d" % i, value=value * 12000))
                          for i in range(110)]
            revision = cluster.kvs[0].Txn(rpc_pb2.TxnRequest(success=operations), timeout=20).header.revision
            match = probe.until(rf"rev {revision} (.*)")
            self.assertEqual(match[1].split(), [f"+/a/{i:03d}" for i in range(110)])
        # The server did send that revision in parts: a watch that does not join them shows them.
        create = rpc_pb2.WatchCreateRequest(key=b"/a/", range_end=b"/a0", start_revision=revision, prev_kv=True)
        create.MergeFromString(b"\x40\x01")  # fragment, which these messages do not have
        parts = []
        for answer in self.watch(cluster, create):
            parts.append(len(answer.events))
            if sum(parts) == 110:
                break
        self.assertGreater(len([part for part in parts if part > 0]), 1)

    def watch(self, cluster, create):
        """The answers to a watch, as they come."""
        requests = queue.SimpleQueue()
        self.addCleanup(requests.put, None)
        requests.put(rpc_pb2.WatchRequest(create_request=create))
        answers = rpc_pb2_grpc.WatchStub(cluster.channels[0]).Watch(iter(requests.get, None), timeout=TIMEOUT_S)
        self.addCleanup(answers.cancel)
        return answers

    def test_S4_what_a_compaction_hides_is_found_as_the_difference_of_two_lists(self):
        cluster = self.cluster()
        through = self.relay_to(cluster)
        chance = random.Random(4)

        def change(count, tag):
            for i in range(count):
                key = b"/a/%d" % chance.randrange(60)
                if chance.random() < 0.4:
                    cluster.call(lambda kv, key=key: kv.DeleteRange(rpc_pb2.DeleteRangeRequest(key=key), timeout=5))
                else:
                    cluster.put(key, b"%s-%d" % (tag, i))

        def contents():
            answer = cluster.call(lambda kv: kv.Range(rpc_pb2.RangeRequest(key=b"/a/", range_end=b"/a0"), timeout=5))
            return {kv.key.decode(): kv.value.decode() for kv in answer.kvs}

        change(100, b"before")
        before = contents()
        probe = self.probe_of(f"127.0.0.1:{through.port}", "/a/")
        probe.until("listed")
        probe.tell("tell changes")
        for _ in before:
            probe.until(r"told \+.*")
        through.cut()
        change(200, b"after")
        cluster.put(b"/a/added", b"1")  # and one that there was not
        after = contents()
        last = cluster.put(b"/b/other")
        cluster.kvs[0].Compact(rpc_pb2.CompactionRequest(revision=last), timeout=10)
        told = len(probe.lines)
        through.mend()
        probe.until("listed")
        expected = [f"told +{key} {value}" for key, value in after.items() if key not in before]
        expected += [f"told {key} {before[key]} {value}" for key, value in after.items()
                     if key in before and before[key] != value]
        expected += [f"told -{key} {value}" for key, value in before.items() if key not in after]
        self.assertGreater(sum(line.startswith("told -") for line in expected), 3)
        # Whatever has not been told by then was not in the difference.
        cluster.put(b"/a/end", b"1")
        probe.until("told \\+/a/end 1")
        self.assertEqual(sorted(line for line in probe.lines[told:] if line.startswith("told")),
                         sorted([*expected, "told +/a/end 1"]))
        self.assertEqual(len([line for line in probe.lines if line.startswith("list ")]), 2)

    def test_S5_after_a_restart_it_goes_on_and_lists_nothing(self):
        cluster = self.cluster()
        probe = self.probe(cluster, "/a/")
        probe.until("listed")
        probe.until(f"rev {cluster.put(b'/a/1')} .*")
        for i in range(2):
            cluster.nodes[0].kill()
            cluster.nodes[0].start()
            probe.until(f"rev {cluster.put(b'/a/%d' % i)} .*")
        self.assertEqual(len([line for line in probe.lines if line.startswith("list ")]), 1)

    def test_S5_after_a_change_of_the_leader_it_goes_on_and_lists_nothing(self):
        cluster = self.cluster(3)
        probe = self.probe(cluster, "/a/")
        probe.until("listed")
        revisions = []
        for i in range(3):
            revisions.append(cluster.put(b"/a/%d" % i))
            statuses = [rpc_pb2_grpc.MaintenanceStub(channel).Status(rpc_pb2.StatusRequest(), timeout=5)
                        for channel in cluster.channels]
            (leader,) = [n for n, status in enumerate(statuses) if status.header.member_id == status.leader]
            cluster.nodes[leader].kill()
            revisions.append(cluster.put(b"/a/more"))
            probe.until(f"rev {revisions[-1]} .*")
            cluster.nodes[leader].start()
            cluster.wait_for(leader)
        told = [int(line.split()[1]) for line in probe.lines if line.startswith("rev ")]
        self.assertEqual(told, sorted(set(told)))
        self.assertLessEqual(set(revisions), set(told))
        self.assertEqual(len([line for line in probe.lines if line.startswith("list ")]), 1)

    def test_S5_a_member_that_has_lost_the_others_is_left(self):
        cluster = self.cluster(3)
        probe = self.probe_of(cluster.endpoints.split(",")[0], "/a/")
        probe.until("listed")
        for node in cluster.nodes[1:]:
            node.process.send_signal(signal.SIGSTOP)
        probe.until("error .*no leader")
        for node in cluster.nodes[1:]:
            node.process.send_signal(signal.SIGCONT)
        probe.until(f"rev {cluster.put(b'/a/1')} .*")
        self.assertEqual(len([line for line in probe.lines if line.startswith("list ")]), 1)

    def test_S7_a_wait_on_an_idle_prefix_ends_with_the_servers_progress(self):
        cluster = self.cluster()
        probe = self.probe(cluster, "/a/")
        probe.until("listed")
        revision = cluster.put(b"/b/1")
        probe.tell(f"wait {revision}")
        if self.orders_progress(cluster):
            probe.until(f"reached {revision}")
            self.assertIn(f"progress {revision}", probe.lines)
        else:
            probe.until("refused the server's progress may overtake its events")

    def test_S9_a_token_that_is_no_longer_valid_is_renewed(self):
        cluster = self.cluster(flags=CHEAP_LOGINS)
        enable_auth(cluster)
        probe = self.probe(cluster, "/a/", "root", "secret")
        probe.until("listed")

        def put(key):
            # A member that has just been killed fails the log-in as well.
            def attempt(kv):
                return kv.Put(rpc_pb2.PutRequest(key=key, value=b"x"), timeout=5, metadata=log_in(cluster))
            return cluster.call(attempt).header.revision

        probe.until(f"rev {put(b'/a/1')} .*")
        cluster.nodes[0].kill()  # tokens are in its memory
        cluster.nodes[0].start()
        probe.until(f"rev {put(b'/a/2')} .*")
        probe.tell("get /a/2")
        probe.until(r"got /a/2 \d+")
        self.assertEqual(len([line for line in probe.lines if line.startswith("list ")]), 1)

    def test_S9_a_token_that_has_expired_is_renewed_by_calls_and_by_the_watch(self):
        key = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "key")
        pathlib.Path(key).write_text("a secret of both", encoding="ascii")
        kinds = (("simple", "--auth-token-ttl", "1"), (f"jwt,sign-method=HS256,priv-key={key},ttl=1s",))
        begun = []
        for kind in kinds:
            cluster = self.cluster(flags=("--auth-token", *kind, *CHEAP_LOGINS))
            through = self.relay_to(cluster)
            enable_auth(cluster)
            token = log_in(cluster)
            reader = self.probe(cluster, "/a/", "root", "secret")
            watcher = self.probe_of(f"127.0.0.1:{through.port}", "/a/", "root", "secret")
            for probe in (reader, watcher):
                probe.until("listed")
            begun.append((cluster, through, token, reader, watcher))
        time.sleep(3)  # a simple token is found to have expired within a second
        for cluster, through, token, reader, watcher in begun:
            with self.assertRaises(grpc.RpcError) as refused:
                cluster.kvs[0].Range(rpc_pb2.RangeRequest(key=b"x"), timeout=5, metadata=token)
            self.assertIn("invalid auth token", refused.exception.details())
            through.mend()  # the watch is begun anew
            done = cluster.kvs[0].Put(rpc_pb2.PutRequest(key=b"/a/1"), timeout=5, metadata=log_in(cluster))
            watcher.until(f"rev {done.header.revision} .*")
            reader.tell("get /a/1")
            reader.until(r"got /a/1 \d+")
            for probe in (reader, watcher):
                self.assertEqual(len([line for line in probe.lines if line.startswith("list ")]), 1)

    def test_S12_a_list_of_100000_keys_holds_some_pages_at_a_time(self):
        cluster = self.cluster(flags=("--max-txn-ops", "1000"))
        value = b"v" * 512
        for first in range(0, 100_000, 1000):
            operations = [rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=b"/a/%06d" % i, value=value))
                          for i in range(first, first + 1000)]
            cluster.kvs[0].Txn(rpc_pb2.TxnRequest(success=operations), timeout=20)
        probe = self.probe_of("--source-alone", cluster.endpoints, "/a/")
        probe.until(r"list \d+")
        begun = peak_memory(probe.process)
        probe.until("listed")
        pages = [int(line.split()[1]) for line in probe.lines if line.startswith("page ")]
        self.assertEqual((sum(pages), max(pages)), (100_000, 100))
        self.assertLess(peak_memory(probe.process) - begun, 16 << 20, "of 50 MiB of values")

    def test_I20_a_consistent_get_is_never_older_than_a_put_that_returned_before(self):
        cluster = self.cluster(3)
        probe = self.probe(cluster, "/a/")
        probe.until("listed")
        chance = random.Random(20)
        for i in range(200):
            if i == 100:  # and while a member is away
                cluster.nodes[chance.randrange(3)].kill()
            key = b"/a/%d" % chance.randrange(5)
            revision = cluster.put(key, b"%d" % i)
            if chance.random() < 0.3:
                cluster.put(b"/b/other")
            probe.tell(f"get {key.decode()}")
            self.assertEqual(int(probe.until(rf"got {key.decode()} (\d+)")[1]), revision)


class KvorumTest(OnARealServer, unittest.TestCase):
    binary = KVORUM


@unittest.skipUnless(os.path.exists(ETCD), "there is no etcd of this version")
class EtcdTest(OnARealServer, unittest.TestCase):
    binary = ETCD

    def test_S11_the_packaged_version_is_3_4(self):
        """The tests above run over it as well; which of them differ there is told where they do."""
        version = subprocess.run([ETCD, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
        is_packaged = os.path.realpath(ETCD).endswith("/usr/bin/etcd")
        self.assertEqual(is_packaged, version.startswith("etcd Version: 3.4."))


if __name__ == "__main__":
    unittest.main()

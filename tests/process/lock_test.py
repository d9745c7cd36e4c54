"""Locks and elections of other people's clients, of kvorumctl and of the services, together and while leaders die:
never two holders at once, judged by the order of their writes; who waits gets its turn; who goes leaves nothing.
"""

import os
import signal
import subprocess
import threading
import time
import unittest

import etcd3
import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

import cluster
import lock_messages
import server

PEER = os.environ["KVORUM_PEER_DIR"]
NODE_MODULES = os.environ["KVORUM_NODE_DIR"]
HERE = os.path.dirname(os.path.abspath(__file__))
ETCDCTL = os.path.join(PEER, "etcdctl")
HOLDERS = 6


class Contender:
    """Takes its turns through whichever member answers. Its writes compare the creation revision of the key that it
    holds, so that one who has lost its turn and does not know it writes nothing."""

    def __init__(self, number, endpoints, lease):
        self.number = number
        self.endpoints = endpoints[number % len(endpoints):] + endpoints[:number % len(endpoints)]
        self.lease = lease
        self.key = b"%s/%x" % (self.NAME, lease)
        self.turns = 0
        self.failure = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _insist(self, ask):
        """Asks one member after the other until one answers. What is asked may have been done before."""
        at = 0
        while True:
            with cluster.channel_to(self.endpoints[at % len(self.endpoints)]) as channel:
                try:
                    return ask(channel)
                except grpc.RpcError as error:
                    # The last two: told by a member in trouble, whose attempt to leave the queue came late.
                    if error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNKNOWN):
                        raise
                    if "lease not found" in error.details():
                        raise
            at += 1
            time.sleep(0.05)

    def _created(self, channel):
        rows = server.get(server.kv(channel), self.key).kvs
        return rows[0].create_revision if rows else 0

    def _write(self, created, text):
        """False if the turn is lost."""
        value = b"%d %d %s" % (self.number, created, text)
        compare = rpc_pb2.Compare(result=rpc_pb2.Compare.EQUAL, target=rpc_pb2.Compare.CREATE, key=self.key,
                                  create_revision=created)
        put = rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=self.NAME + b"-log", value=value))
        txn = rpc_pb2.TxnRequest(compare=[compare], success=[put])
        return self._insist(lambda channel: server.kv(channel).Txn(txn, timeout=10)).succeeded

    def _hold(self):
        """Writes twice, unless the turn is lost."""
        created = self._insist(self._created)
        if not created or not self._write(created, b"begin"):
            return
        time.sleep(0.01)
        if self._write(created, b"end"):
            self.turns += 1

    def _run(self):
        try:
            while not self._stopping.is_set():
                self._turn()
        except Exception as error:
            self.failure = error

    def stop(self):
        self._stopping.set()

    def join(self):
        self._thread.join()


class Holder(Contender):
    """Locks, writes and unlocks, again and again."""

    NAME = b"lock"

    def _turn(self):
        def lock(channel):
            return lock_messages.Stub(channel).Lock(
                lock_messages.LockRequest(name=self.NAME, lease=self.lease), timeout=60)
        assert self._insist(lock).key == self.key
        self._hold()
        self._insist(lambda channel: lock_messages.Stub(channel).Unlock(
            lock_messages.UnlockRequest(key=self.key), timeout=10))


class Candidate(Contender):
    """Campaigns, writes as the elected one and resigns, again and again."""

    NAME = b"election"

    def _turn(self):
        def campaign(channel):
            return lock_messages.Stub(channel).Campaign(lock_messages.CampaignRequest(
                name=self.NAME, lease=self.lease, value=b"%d" % self.number), timeout=60)
        leader = self._insist(campaign).leader
        assert leader.key == self.key
        self._hold()
        self._insist(lambda channel: lock_messages.Stub(channel).Resign(
            lock_messages.ResignRequest(leader=leader), timeout=10))


class ProcessTest(unittest.TestCase):
    def background(self, *command, stdin=None):
        environment = {"PATH": os.environ["PATH"], "NODE_PATH": NODE_MODULES}
        if command[0] == ETCDCTL:
            environment["ETCDCTL_API"] = "3"
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process


class LeaderDiesTest(ProcessTest):
    def setUp(self):
        self.members = cluster.Cluster(3).start()
        self.addCleanup(self.members.close)

    def grant(self, ttl=600):
        with self.members.leader().channel() as channel:
            return rpc_pb2_grpc.LeaseStub(channel).LeaseGrant(rpc_pb2.LeaseGrantRequest(TTL=ttl), timeout=10).ID

    def log(self, key):
        """Every value that the key had."""
        with self.members.leader().channel() as channel:
            kv = server.kv(channel)
            last = server.get(kv, key)
            values = []
            revision = last.kvs[0].mod_revision
            while revision:
                row = server.get(kv, key, revision=revision).kvs[0]
                values.append(row.value.decode().split())
                revision = revision - 1 if row.version > 1 else 0
                if revision:
                    revision = server.get(kv, key, revision=revision).kvs[0].mod_revision
            return values[::-1]

    def test_a_lock_never_has_two_holders(self):
        self.check_turns(Holder)

    def test_an_election_never_has_two_leaders(self):
        self.check_turns(Candidate)

    def check_turns(self, kind):
        holders = [kind(i, self.members.endpoints, self.grant()) for i in range(HOLDERS)]
        for _ in range(3):
            turns = [holder.turns for holder in holders]
            cluster.wait_until(lambda: sum(holder.turns for holder in holders) > sum(turns) + HOLDERS or
                               any(holder.failure for holder in holders), "turns")
            leader = self.members.leader()
            leader.kill()
            self.members.leader()
            turns = sum(holder.turns for holder in holders)
            cluster.wait_until(lambda: sum(holder.turns for holder in holders) > turns + HOLDERS or
                               any(holder.failure for holder in holders), "turns behind the election")
            leader.start()
        for holder in holders:
            holder.stop()
        for holder in holders:
            holder.join()
            self.assertIsNone(holder.failure)
            self.assertGreater(holder.turns, 0)
        holding = None
        tenures = set()
        log = self.log(kind.NAME + b"-log")
        for number, created, what in log:
            tenure = (number, created)
            if what == "begin" and tenure != holding:
                self.assertNotIn(tenure, tenures, "it had ended")
                tenures.add(tenure)
                holding = tenure
            self.assertEqual(tenure, holding, "another one has begun")
        self.assertGreater(len(tenures), 3 * HOLDERS)
        self.assertEqual(sorted(tenures, key=lambda t: int(t[1])), [
            t for t in dict.fromkeys((n, c) for n, c, _ in log)], "in the order of their keys")
        self.members.check_equal()
        self.members.check_logs()

    def test_other_peoples_locks_outlive_the_leader(self):
        leader = self.members.leader()
        survivors = [member for member in self.members.alive if member is not leader]
        host, port = survivors[0].endpoint.split(":")
        python = etcd3.client(host=host, port=int(port), timeout=10)
        self.addCleanup(python.close)
        held = python.lock("python", ttl=60)
        self.assertTrue(held.acquire(timeout=10))
        hosts = [f"http://{member.endpoint}" for member in survivors]
        script = os.path.join(HERE, "node_lock.js")
        node = self.background("node", script, "node", *hosts, stdin=subprocess.PIPE)
        self.assertEqual(node.stdout.readline(), "locked\n")
        ctl = self.background(ETCDCTL, "--endpoints", survivors[1].endpoint, "lock", "--ttl", "60", "ctl")
        key = ctl.stdout.readline().strip()
        self.assertTrue(key.startswith("ctl/"), key)
        waiting = self.background(cluster.CTL, "--endpoints", survivors[0].endpoint, "lock", "ctl")
        with survivors[0].channel() as channel:
            cluster.wait_until(lambda: server.get(server.kv(channel), b"ctl/", range_end=b"ctl0").count == 2,
                               "one to wait")
        leader.kill()
        self.members.leader()
        host, port = survivors[1].endpoint.split(":")
        other = etcd3.client(host=host, port=int(port), timeout=10)
        self.addCleanup(other.close)
        self.assertTrue(held.is_acquired())
        wanted = other.lock("python", ttl=60)
        # The packaged client waits for a lock in a way that its packaged tenacity does not know.
        with self.assertRaises(TypeError):
            wanted.acquire(timeout=1)
        self.assertTrue(held.release())
        self.assertTrue(wanted.acquire(timeout=10))
        refused = self.background("node", script, "node", *hosts)
        self.assertEqual(refused.stdout.readline(), "taken\n", )
        node.stdin.write("\n")
        node.stdin.close()
        self.assertEqual(node.stdout.read(), "held\nreleased\n")
        self.assertIsNone(waiting.poll())
        ctl.send_signal(signal.SIGINT)
        self.assertEqual(ctl.wait(20), 0)
        line = waiting.stdout.readline()
        self.assertTrue(line.startswith("ctl/"), line or waiting.stderr.read())
        waiting.send_signal(signal.SIGTERM)
        self.assertEqual(waiting.wait(20), 0)

    def test_who_waits_at_a_member_that_stops_is_told(self):
        follower = self.members.followers()[0]
        first, second = self.grant(), self.grant()
        with follower.channel() as channel:
            stub = lock_messages.Stub(channel)
            stub.Lock(lock_messages.LockRequest(name=b"lock", lease=first), timeout=10)
            waiting = stub.Lock.future(lock_messages.LockRequest(name=b"lock", lease=second))
            cluster.wait_until(lambda: server.get(server.kv(channel), b"lock/%x" % second).kvs, "the place")
            code, seconds = follower.stop()
            self.assertEqual(code, 0)
            self.assertLess(seconds, 1.5)
            self.assertEqual(waiting.exception(10).code(), grpc.StatusCode.UNAVAILABLE)


class TogetherTest(ProcessTest):
    def setUp(self):
        self.member = server.Server()
        self.addCleanup(self.member.close)
        self.member.start()
        self.channel = self.member.channel()
        self.addCleanup(self.channel.close)
        self.kv = server.kv(self.channel)
        self.stub = lock_messages.Stub(self.channel)

    def ctl(self, program, *arguments):
        return self.background(program, "--endpoints", self.member.endpoint, *arguments)

    def keys(self, prefix):
        return [kv.key for kv in server.get(self.kv, prefix, range_end=prefix[:-1] + b"0").kvs]

    def wait_keys(self, prefix, count):
        return cluster.wait_until(lambda: len(self.keys(prefix)) == count, f"{count} keys")

    def end(self, process, code=0, number=signal.SIGINT):
        process.send_signal(number)
        self.assertEqual(process.wait(20), code)

    def test_locks_of_all_kinds_exclude_each_other(self):
        lease = rpc_pb2_grpc.LeaseStub(self.channel).LeaseGrant(rpc_pb2.LeaseGrantRequest(TTL=600), timeout=10).ID
        first = self.ctl(ETCDCTL, "lock", "l")
        key = first.stdout.readline()
        self.assertEqual([key.strip().encode()], self.keys(b"l/"))
        second = self.ctl(cluster.CTL, "lock", "l")
        self.wait_keys(b"l/", 2)
        third = self.stub.Lock.future(lock_messages.LockRequest(name=b"l", lease=lease))
        self.wait_keys(b"l/", 3)
        fourth = self.ctl(ETCDCTL, "lock", "l")
        self.wait_keys(b"l/", 4)
        fifth = self.ctl(cluster.CTL, "lock", "l", "--", "sh", "-c", "echo $ETCD_LOCK_KEY; exit 3")
        self.wait_keys(b"l/", 5)
        # One who waits leaves.
        self.end(fourth, code=1)
        self.wait_keys(b"l/", 4)
        self.assertFalse(third.done())
        self.end(first)
        self.assertTrue(second.stdout.readline().startswith("l/"))
        self.assertEqual(second.stdout.readline(), "\n")
        self.assertFalse(third.done())
        self.end(second, number=signal.SIGTERM)
        self.assertEqual(third.result(20).key, b"l/%x" % lease)
        self.assertIsNone(fifth.poll())
        self.stub.Unlock(lock_messages.UnlockRequest(key=b"l/%x" % lease), timeout=10)
        self.assertEqual(fifth.wait(20), 3)
        self.assertTrue(fifth.stdout.read().startswith("l/"))
        self.assertEqual(fifth.stderr.read(), "Error: exit status 3\n")
        self.assertEqual(self.keys(b"l/"), [])

    def test_kvorumctl_leaves_the_queue_when_it_is_interrupted(self):
        first = self.ctl(cluster.CTL, "lock", "l")
        first.stdout.readline()
        second = self.ctl(cluster.CTL, "lock", "l")
        self.wait_keys(b"l/", 2)
        self.end(second, code=1)
        self.assertEqual(second.stderr.read(), "Error: context canceled\n")
        self.wait_keys(b"l/", 1)
        server.kv(self.channel).DeleteRange(rpc_pb2.DeleteRangeRequest(key=self.keys(b"l/")[0]), timeout=10)
        third = self.ctl(ETCDCTL, "lock", "l")
        third.stdout.readline()
        self.end(first)
        self.assertEqual(len(self.keys(b"l/")), 1, "it gives back what it had, and nobody else's")
        self.end(third)

    def test_a_signal_that_comes_twice_in_an_instant_leaves_no_key(self):
        for command in (("lock", "twice"), ("elect", "twice", "me")):
            for older in (0, 1):  # one waits behind it
                if older:
                    server.put(server.kv(self.channel), b"twice/older", b"x")
                for first, second in ((signal.SIGTERM, signal.SIGINT), (signal.SIGINT, signal.SIGTERM)):
                    running = self.ctl(cluster.CTL, *command)
                    self.wait_keys(b"twice/", older + 1)
                    running.send_signal(first)
                    running.send_signal(second)
                    self.assertGreaterEqual(running.wait(20), 0, "it was not ended by the signal")
                    self.assertEqual(len(self.keys(b"twice/")), older, command)
                server.kv(self.channel).DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"twice/older"), timeout=10)

    def signal_later(self, process):
        """Signals as far apart as people send them."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
            process.send_signal(number)
            time.sleep(1.5)
        self.assertIsNone(process.poll())

    def test_later_signals_do_not_break_the_clean_up_off(self):
        for command in (("lock", "late"), ("elect", "late", "me")):
            running = self.ctl(cluster.CTL, *command)
            self.assertTrue(running.stdout.readline().startswith("late/"))
            self.member.process.send_signal(signal.SIGSTOP)
            try:
                self.signal_later(running)
            finally:
                self.member.process.send_signal(signal.SIGCONT)
            self.assertEqual(running.wait(20), 0)
            self.assertEqual(self.keys(b"late/"), [], command)

    def test_a_lock_is_held_while_its_program_runs_whatever_signals_come(self):
        running = self.ctl(cluster.CTL, "lock", "through", "--", "sh", "-c", "echo begun; sleep 6; echo ended")
        self.assertEqual(running.stdout.readline(), "begun\n")
        self.signal_later(running)
        self.assertEqual(len(self.keys(b"through/")), 1)
        self.assertEqual(running.wait(20), 0)
        self.assertEqual((running.stdout.read(), self.keys(b"through/")), ("ended\n", []))

    def test_elections_of_all_kinds_are_one(self):
        listeners = [self.ctl(program, "elect", "-l", "e") for program in (ETCDCTL, cluster.CTL)]
        observed = self.stub.Observe(lock_messages.LeaderRequest(name=b"e"))
        self.addCleanup(observed.cancel)
        first = self.ctl(ETCDCTL, "elect", "e", "one")
        told = [first.stdout.readline(), first.stdout.readline()]
        self.assertEqual(told[1], "one\n")
        second = self.ctl(cluster.CTL, "elect", "e", "two")
        self.wait_keys(b"e/", 2)
        self.assertEqual(next(observed).kv.value, b"one")
        leader = self.stub.Leader(lock_messages.LeaderRequest(name=b"e"), timeout=10)
        self.assertEqual((leader.kv.key.decode() + "\n", leader.kv.value), (told[0], b"one"))
        for listener in listeners:
            self.assertEqual([listener.stdout.readline(), listener.stdout.readline()], told)
        self.end(first)
        told = [second.stdout.readline(), second.stdout.readline()]
        self.assertEqual(told[1], "two\n")
        self.assertEqual(next(observed).kv.value, b"two")
        key = lock_messages.LeaderKey(name=b"e", key=told[0].strip().encode())
        row = server.get(self.kv, key.key).kvs[0]
        key.rev, key.lease = row.create_revision, row.lease
        self.stub.Proclaim(lock_messages.ProclaimRequest(leader=key, value=b"deux"), timeout=10)
        self.assertEqual(next(observed).kv.value, b"deux")
        for listener in listeners:
            self.assertEqual([listener.stdout.readline(), listener.stdout.readline()], told)
            self.assertEqual([listener.stdout.readline(), listener.stdout.readline()], [told[0], "deux\n"])
        self.end(second, number=signal.SIGTERM)
        self.wait_keys(b"e/", 0)
        for listener in listeners:
            self.end(listener)

    def test_a_connection_that_ends_leaves_the_queue(self):
        leases = [rpc_pb2_grpc.LeaseStub(self.channel).LeaseGrant(rpc_pb2.LeaseGrantRequest(TTL=600), timeout=10).ID
                  for _ in range(30)]
        self.stub.Lock(lock_messages.LockRequest(name=b"l", lease=leases[0]), timeout=10)
        other = cluster.channel_to(self.member.endpoint)
        stub = lock_messages.Stub(other)
        calls = [stub.Lock.future(lock_messages.LockRequest(name=b"l", lease=lease)) for lease in leases[1:]]
        self.wait_keys(b"l/", 30)
        other.close()
        self.wait_keys(b"l/", 1)
        self.assertTrue(all(call.done() for call in calls))

    def test_thousands_wait_and_get_their_turn(self):
        count = 2000
        calls = []
        first = self.stub.Lock(lock_messages.LockRequest(name=b"l"), timeout=10)
        threads = len(os.listdir(f"/proc/{self.member.process.pid}/task"))
        for _ in range(count):
            calls.append(self.stub.Lock.future(lock_messages.LockRequest(name=b"l"), timeout=300))
        cluster.wait_until(lambda: server.get(self.kv, b"l/", range_end=b"l0", count_only=True).count == count + 1,
                           "all to wait", timeout=120)
        self.assertEqual(len(os.listdir(f"/proc/{self.member.process.pid}/task")), threads, "waiting holds no thread")
        keys = [kv.key for kv in server.get(self.kv, b"l/", range_end=b"l0", sort_target=rpc_pb2.RangeRequest.CREATE,
                                            sort_order=rpc_pb2.RangeRequest.ASCEND).kvs]
        self.assertEqual(keys[0], first.key)
        for turn, key in enumerate(keys[:300], 1):
            self.stub.Unlock(lock_messages.UnlockRequest(key=key), timeout=10)
            cluster.wait_until(lambda n=turn: sum(call.done() for call in calls) == n, f"turn {turn}")
        self.assertEqual(sorted(call.result().key for call in calls if call.done()), sorted(keys[1:301]))
        for call in calls:
            call.cancel()
        self.wait_keys(b"l/", 1)  # who has it has not left


del ProcessTest  # a base, no test of its own

if __name__ == "__main__":
    unittest.main()

"""One cluster of etcd members and kvorum's: whoever is left behind by the log gets the database of the one that leads,
whichever of the two that is, and the members are swapped one by one under load, to kvorum and back.

The packaged etcd is 3.4, which ends at the entries by which members since 3.5 tell of themselves; these tests want one
of 3.7 in $KVORUM_PEER_DIR, which scripts/setup builds where it can. One of 3.6 in $KVORUM_PEER_36 is moved from and back
to as well. What can be shown without either is in snapshot_wire_test.py.
"""

import os
import pathlib
import subprocess
import sys
import threading
import unittest

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cluster  # noqa: E402
import history  # noqa: E402
import server  # noqa: E402
from mixed_state import everything, fill  # noqa: E402

ETCD = os.path.join(os.environ["KVORUM_PEER_DIR"], "etcd")
ETCD_36 = os.path.join(os.environ.get("KVORUM_PEER_36", ""), "etcd")
UTL = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorumutl")
SEED = int(os.environ.get("KVORUM_FAULT_SEED", "1"))
# The log is compacted soon, and hardly anything of it is kept for who is slow.
SHORT_LOG = (*cluster.QUICK, "--snapshot-count", "50", "--snapshot-catchup-entries", "5")


class Watcher(threading.Thread):
    """A watch of all the clients' keys from the first revision on, which goes on through other members."""

    def __init__(self, endpoints):
        super().__init__(name="watcher")
        self.endpoints = endpoints  # a function: they change
        self.events = []  # (revision, key, value or None)
        self.next = 2
        self.stopping = False
        self.error = None
        self.call = None

    def run(self):
        turn = 0
        while not self.stopping:
            endpoints = self.endpoints()
            turn += 1
            with cluster.channel_to(endpoints[turn % len(endpoints)]) as channel:
                try:
                    self.read(channel)
                except grpc.RpcError:
                    pass
                except Exception as error:  # nonsense ends the test, not only the thread
                    self.error = error
                    return

    def read(self, channel):
        ended = threading.Event()

        def requests():
            yield rpc_pb2.WatchRequest(create_request=rpc_pb2.WatchCreateRequest(
                key=b"k", range_end=b"l", start_revision=self.next))
            ended.wait()

        self.call = rpc_pb2_grpc.WatchStub(channel).Watch(requests())
        try:
            for answer in self.call:
                assert not answer.canceled, answer
                for event in answer.events:
                    assert event.kv.mod_revision >= self.next, f"{event} is of the past"
                    self.events.append((event.kv.mod_revision, event.kv.key,
                                        None if event.type else event.kv.value))
                if answer.events:
                    self.next = answer.events[-1].kv.mod_revision + 1
        finally:
            ended.set()

    def stop_at(self, revision):
        cluster.wait_until(lambda: self.error or self.next > revision, f"the watcher to reach {revision}")
        self.stopping = True
        self.call.cancel()
        self.join(30)
        if self.error is not None:
            raise self.error


def lead(members, member):
    """Hands the leadership over, as often as it takes."""
    def does():
        leader, status = members.leader(), member.status()
        if leader is member:
            return True
        if status is not None:
            try:
                members.ctl("move-leader", f"{status.header.member_id:x}", endpoints=[leader.endpoint])
            except AssertionError:
                pass  # another leads by now, or the member is too far behind to take over in time
        return False
    cluster.wait_until(does, f"{member.name} to lead")


class SnapshotsTest(unittest.TestCase):
    """One is left behind and gets a snapshot."""

    def begin(self, behind, leader, third=server.BINARY):
        """The programs of the one that is left behind, of the one that leads, and of the third."""
        members = cluster.Cluster(3, flags=SHORT_LOG)
        self.addCleanup(members.close)
        self.behind, self.leader, self.third = members.members
        self.behind.binary = behind
        self.leader.binary = leader
        self.third.binary = third
        self.members = members.start()
        cluster.wait_until(lambda: all(m.name and m.clientURLs for m in members.listed()), "all members' names")

    def story(self):
        with self.third.channel() as channel:
            fill(channel, 0)
            self.members.check_equal()
            lead(self.members, self.leader)
            self.behind.stop()
            fill(channel, 1)
            lead(self.members, self.leader)
            writing = threading.Event()
            writer = threading.Thread(target=self.write, args=(writing,))
            writer.start()
            self.addCleanup(writing.set)
            self.behind.start()
            writing.set()
            writer.join()
            self.assertGreater(self.written, 0)
            self.members.check_equal()
            states = []
            for member in self.members.members:
                with member.channel() as each:
                    states.append(everything(each))
            self.assertEqual(states[0], states[1])
            self.assertEqual(states[2], states[1])
        self.assertIn(b"applied snapshot", self.behind.log())
        # By whoever led then; the sender's line comes after the receiver's answer.
        cluster.wait_until(lambda: any(b"sent database snapshot" in m.log() for m in (self.leader, self.third)),
                           "the sender's line")
        # It goes on, and starts from what it was given.
        for stop in (lambda: self.behind.stop(), self.behind.kill):
            stop()
            self.behind.start()
            with self.behind.channel() as channel:
                server.put(server.kv(channel), b"once more", b"x")
            self.members.check_equal()
        self.members.check_logs()

    written = 0

    def write(self, ending):
        """Writes go on beside the snapshot, but for moments without a leader."""
        with self.third.channel() as channel:
            kv = server.kv(channel)
            while not ending.is_set() and self.written < 100000:
                try:
                    server.put(kv, b"beside %d" % (self.written % 100), b"y" * 1000)
                    self.written += 1
                except grpc.RpcError:
                    pass

    def test_an_etcd_leader_sends_its_own_to_one_of_ours(self):
        self.begin(behind=server.BINARY, leader=ETCD)
        self.story()
        self.assertIn(b"converting a snapshot of etcd's format", self.behind.log_of(2))

    def test_a_leader_of_ours_sends_an_etcd_member_etcds(self):
        self.begin(behind=ETCD, leader=server.BINARY)
        self.story()

    def test_between_ours_it_is_ours(self):
        self.begin(behind=server.BINARY, leader=server.BINARY, third=ETCD)
        self.story()
        self.assertNotIn(b"of etcd's format", self.behind.log_of(2))


class MovingCase(history.HistoryCase):
    """A cluster under load with auth on, and with a watch of all that the clients write, whose members are swapped one by
    one."""

    USER = ("root", "secret")
    FLAGS = (*SHORT_LOG, "--bcrypt-cost", "4")

    def begin_with(self, program):
        members = cluster.Cluster(3, flags=self.FLAGS)
        for member in members.members:
            member.binary = program
        self.begin(members)
        self.turn_auth_on(members)
        self.watcher = Watcher(lambda: [m.endpoint for m in self.members.alive] or self.members.endpoints)
        self.watcher.start()
        self.addCleanup(lambda: setattr(self.watcher, "stopping", True))
        with members.members[0].channel() as channel:
            fill(channel, 0)
        # Clients that know of every address that there will be.
        self.reserved = [members.new_member(f"m{number}") for number in range(4, 10)]
        endpoints = members.endpoints
        for member in self.reserved:
            members.forget(member)
        self.history.start_revision = members.members[0].wait_status().header.revision
        self.history.lines[0] = f"start {self.history.start_revision}"
        # While a leader of etcd hands its leadership over, it drops what followers forward to it, and tells nobody: clients
        # of all followers wait for as long as they have patience. That is no gap that the move makes.
        self.history.start_clients(endpoints, count=4, seed=SEED, patience_s=1)

    def check_hashes(self):
        """Under load: at a revision that all members have."""
        revision = self.members.leader().wait_status().header.revision
        cluster.wait_until(lambda: all(m.wait_status().header.revision >= revision for m in self.members.members),
                           f"all members to have revision {revision}")
        found = set()
        for member in self.members.members:
            with member.channel() as channel:
                told = server.maintenance(channel).HashKV(rpc_pb2.HashKVRequest(revision=revision), timeout=30)
            found.add((told.hash, told.compact_revision))
        self.assertEqual(len(found), 1, found)

    def longest_gap_s(self):
        """Between two answers to writes of any client."""
        times = []
        for line in self.history.lines[1:]:
            _, _, returned, operation = line.split(" ")[:4]
            if operation in ("put", "del", "txn") and returned != "-":
                times.append(int(returned))
        times.sort()
        return max(b - a for a, b in zip(times, times[1:])) / 1e9

    def turn_auth_on(self, members):
        members.ctl("user", "add", ":".join(self.USER))
        members.ctl("user", "grant-role", self.USER[0], "root")
        members.ctl("auth", "enable")
        cluster.caller = self.USER
        self.addCleanup(setattr, cluster, "caller", None)

    def finish_move(self):
        self.history.stop_clients()
        self.history.read_all(self.members)
        revision = self.members.check_equal()
        with self.members.members[0].channel() as channel:
            # A last event, up to which the watcher can be waited for.
            last = server.put(server.kv(channel), b"k1", b"last").header.revision
            self.watcher.stop_at(last)
            self.check_events(channel, revision)
        self.history.check(self.members.folder, least=500)
        self.members.check_logs()
        gap_s = self.longest_gap_s()
        # What says that the move stops no writes is `swap`: they go on while a member is away. How long they pause
        # depends on the machine.
        print(f"the longest gap in writes: {gap_s:.2f} s", flush=True)
        self.fine = True

    def check_events(self, channel, revision):
        """No event was missed or came twice: replayed, they give each key's last value."""
        revisions = [(r, k) for r, k, _ in self.watcher.events]
        self.assertEqual(revisions, sorted(set(revisions)), "an event came twice, or out of order")
        replayed = {}
        versions = {}
        for at, key, value in self.watcher.events:
            if at > revision:
                continue
            replayed[key] = value
            versions[key] = 0 if value is None else versions.get(key, 0) + 1
        rows = server.kv(channel).Range(rpc_pb2.RangeRequest(key=b"k", range_end=b"l", revision=revision), timeout=30)
        self.assertEqual({k: v for k, v in replayed.items() if v is not None}, {r.key: r.value for r in rows.kvs})
        self.assertEqual({k: v for k, v in versions.items() if v}, {r.key: r.version for r in rows.kvs},
                         "each put of a key counts its version up")


class RollingMoveTest(MovingCase):
    """Each member is removed, and one of the other program is added, with an empty folder: it gets the database."""

    def swap(self, program, old):
        """One makes place for a new one, whom the last one leads."""
        self.history.wait_more(50)
        gone = old.wait_status().header.member_id
        lead(self.members, self.members.members[-1])
        self.members.change("MemberRemove", rpc_pb2.MemberRemoveRequest(ID=gone), without=old)
        if old.alive:
            old.kill()
        self.members.forget(old)
        self.history.wait_more(20)
        new = self.reserved.pop(0)
        new.binary = program
        self.members.change("MemberAdd", rpc_pb2.MemberAddRequest(peerURLs=[new.peer_url]))
        self.members.members.append(new)
        new.start()
        self.members.leader()
        self.history.wait_more(50)
        self.check_hashes()

    def there_and_back(self, program, count=3):
        """`count` members: if it is not all, the last one stays what it is."""
        self.begin_with(program)
        with self.members.members[0].channel() as channel:
            before = everything(channel, clients_keys=False, members=False)
        for there in (server.BINARY, program):
            stays = 0 if there is server.BINARY else 3 - count
            for _ in range(count):
                self.swap(there, self.members.members[stays])
            cluster.wait_until(lambda: all(m.name and m.clientURLs for m in self.members.listed()), "all names")
            with self.members.members[0].channel() as channel:
                self.assertEqual(everything(channel, clients_keys=False, members=False), before)
        self.finish_move()

    def test_from_etcd_and_back(self):
        self.there_and_back(ETCD)

    @unittest.skipUnless(os.path.exists(ETCD_36), "no etcd of 3.6 in $KVORUM_PEER_36")
    def test_from_etcd_3_6_and_back(self):
        # Its own rules let no new member of 3.6 join once all are newer.
        self.there_and_back(ETCD_36, count=2)
        self.assertEqual(self.members.details(self.members.members[0])["storageVersion"], "3.6.0")


class RollingAdoptionTest(MovingCase):
    """Each member is stopped, its directory is adopted or released, and the other program starts from it."""

    def swap(self, program, member):
        self.history.wait_more(50)
        other = next(m for m in self.members.members if m is not member)
        if self.members.leader() is member:
            lead(self.members, other)
        member.stop(timeout=60)
        self.history.wait_more(20)
        command = "adopt" if program is server.BINARY else "release"
        done = subprocess.run([UTL, command, "--data-dir", member.data_dir, "--drop-old"], capture_output=True, check=False,
                              timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        member.binary = program
        member.start()
        self.members.leader()
        self.history.wait_more(50)
        self.check_hashes()

    def there_and_back(self, program, count):
        """`count` members: if it is not all, the last one stays what it is."""
        self.begin_with(program)
        with self.members.members[0].channel() as channel:
            before = everything(channel, clients_keys=False)
        for there in (server.BINARY, program):
            for member in self.members.members[:count]:
                self.swap(there, member)
            with self.members.members[0].channel() as channel:
                self.assertEqual(everything(channel, clients_keys=False), before)
        self.finish_move()

    def test_from_etcd_and_back(self):
        self.there_and_back(ETCD, count=3)

    @unittest.skipUnless(os.path.exists(ETCD_36), "no etcd of 3.6 in $KVORUM_PEER_36")
    def test_from_etcd_3_6_and_back(self):
        self.there_and_back(ETCD_36, count=2)


def has_peer():
    shown = subprocess.run([ETCD, "--version"], capture_output=True, check=True, timeout=30).stdout.decode()
    return tuple(int(part) for part in shown.split()[2].split(".")[:2]) >= (3, 7)


if __name__ == "__main__":
    if not has_peer():
        print(f"SKIPPED: {ETCD} is no etcd of 3.7")
        sys.exit(0)
    unittest.main()

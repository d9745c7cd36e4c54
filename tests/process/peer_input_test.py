"""Input on the peer port from strangers and broken members: refused with the protocol's answers, no member ends
or grows, and clients are served all the while.

Raft's messages are encoded by hand (raft_messages.py), so that they say what no honest member would.
"""

import http.client
import http.server
import os
import random
import socket
import struct
import threading
import unittest

from etcd3.etcdrpc import rpc_pb2

import cluster
import history
import raft_messages
from raft_messages import (APP, APP_RESP, CONF_CHANGE, CONF_CHANGE_V2, HEARTBEAT, HEARTBEAT_RESP, NORMAL, PRE_VOTE, PROP,
                           READ_INDEX, READ_INDEX_RESP, SNAP, TAKEN, VOTE, entry, message)

SEED = int(os.environ.get("KVORUM_FAULT_SEED", "1"))
GARBAGE_ROUNDS = 60
FLOOD = 3000
GROWTH_BYTES = 96 << 20

# Answers to posts.
UNREADABLE = (400, "error unmarshalling raft message")
UNKNOWN_SENDER = (403, "unknown sender")
NOT_FOR_US = (403, "cannot process message to mismatch member")

LOCAL = (0, 1, 10, 11, 12, 19, 20, 21, 22, 23)
FAR = 1 << 62


class FakeMember(http.server.BaseHTTPRequestHandler):
    """Answers the members' stream requests with frames that are none."""

    protocol_version = "HTTP/1.1"
    frames = ()
    asked = threading.Semaphore(0)

    def do_GET(self):
        if not self.path.startswith("/raft/stream"):
            self.send_error(404)
            return
        self.send_response(200)
        for name, value in (("X-Etcd-Cluster-ID", self.headers["X-Etcd-Cluster-ID"]), ("X-Server-Version", "3.7.1"),
                            ("Connection", "close")):
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(random.choice(type(self).frames))
            self.wfile.flush()
        except OSError:
            pass
        self.close_connection = True
        type(self).asked.release()

    def log_message(self, *_):
        pass


class PeerInputTest(history.HistoryCase):
    def setUp(self):
        self.begin(cluster.Cluster(3, cluster.STEADY))
        self.leader = self.members.leader()
        status = self.leader.status()
        self.cluster_id = status.header.cluster_id
        self.term = status.raftTerm
        self.ids = {m: m.wait_status().header.member_id for m in self.members.members}
        self.before = {m: m.resident_bytes() for m in self.members.members}
        self.history.start_clients(self.members.endpoints, count=3, seed=SEED, pinned=True)
        self.history.wait_more(50)

    def finish(self):
        for client in self.history.clients:
            self.history.wait_more(20, clients=[client])
        self.history.stop_clients()
        self.check_members(least=100)

    def check_members(self, least):
        self.assertIs(self.members.leader(), self.leader)
        self.assertEqual(self.leader.wait_status().raftTerm, self.term)
        for member in self.members.members:
            self.assertEqual(member.starts, 1)
            self.assertTrue(member.alive, member.tail())
            self.assertLess(member.resident_bytes() - self.before[member], GROWTH_BYTES, member.name)
        self.judge(least)

    def applied(self, member):
        return self.members.details(member)["raftAppliedIndex"]

    def headers(self, sender):
        return raft_messages.headers(self.cluster_id, sender)

    def post(self, member, body, sender, expected, path="/raft"):
        # The texts tell that raft's part refused, not the parser of the HTTP around it.
        self.assertEqual(raft_messages.ask(member, "POST", path, body, self.headers(sender)), expected)

    def test_requests_that_are_not_for_this_cluster_are_refused(self):
        member, other = self.members.members[:2]
        me, peer = self.ids[member], self.ids[other]
        stream = f"/raft/stream/message/{peer:x}"
        to = {"X-Raft-To": f"{me:x}"}
        expected = [
            ("GET", "/raft", {}, 405, ""),
            ("POST", "/raft", {"X-Etcd-Cluster-ID": "1234"}, 412, "cluster ID mismatch"),
            ("POST", "/raft", {"X-Server-Version": "2.0.0", "X-Min-Cluster-Version": "2.0.0"}, 412,
             "incompatible version"),
            ("POST", stream, to, 405, ""),
            ("GET", stream, {**to, "X-Etcd-Cluster-ID": "1234"}, 412, "cluster ID mismatch"),
            ("GET", "/raft/stream/nonsense/" + f"{peer:x}", to, 404, "invalid path"),
            ("GET", "/raft/stream/message/xyz", to, 404, "invalid from"),
            ("GET", "/raft/stream/message/abcdef", {**to, "X-Server-From": "abcdef"}, 404, "error sender not found"),
            ("GET", stream, {"X-Raft-To": "abcdef"}, 412, "to field mismatch"),
        ]
        for method, path, changes, status, text in expected:
            with self.subTest(method=method, path=path, changes=changes):
                headers = {**self.headers(peer), **changes}
                answer = raft_messages.ask(member, method, path, b"" if method == "POST" else None, headers)
                self.assertIsNotNone(answer)
                self.assertEqual(answer[0], status, answer)
                self.assertIn(text, answer[1])
        self.finish()

    def test_garbage_and_lengths_beyond_reason_are_refused(self):
        rng = random.Random(SEED)
        peer = self.ids[self.members.members[0]]
        idle = []
        for round_number in range(GARBAGE_ROUNDS):
            member = rng.choice(self.members.members)
            # No field has the wire type 7.
            garbage = b"\x07" + rng.randbytes(rng.randrange(5000))
            start = rng.choice([
                b"", b"POST /raft HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999\r\n\r\n",
                b"POST /raft HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
                b"POST /raft HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffff\r\n",
                b"POST /raft/snapshot HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n" + b"\xff" * 8,
                b"GET /" + b"a" * 100000, b"GET / HTTP/1.1\r\nX: " + b"b" * 100000,
            ])
            raw = socket.create_connection(("127.0.0.1", member.peer_port), timeout=10)
            try:
                raw.sendall(start + garbage)
            except OSError:
                pass
            # Some stay open and never end what they began.
            (idle.append if round_number % 3 == 0 else lambda s: s.close())(raw)
            self.post(member, garbage, peer, UNREADABLE)
            for size, why in ((1 << 60, "rafthttp: error limit exceeded"), (len(garbage), "raft: malformed message")):
                self.post(member, struct.pack(">Q", size) + garbage, peer,
                          (400, f"failed to decode raft message ({why})"), path="/raft/snapshot")
        self.history.wait_more(100)
        for raw in idle:
            raw.close()
        self.finish()

    def test_messages_of_strangers_and_of_kinds_that_are_never_sent_change_nothing(self):
        stranger = 0xABCDEF
        for member in self.members.members:
            me, peer = self.ids[member], next(i for m, i in self.ids.items() if m is not member)
            for kind in (PROP, APP, APP_RESP, VOTE, HEARTBEAT, HEARTBEAT_RESP, READ_INDEX, READ_INDEX_RESP, PRE_VOTE):
                for term in (0, self.term, self.term + 1, FAR):
                    self.post(member, message(kind, me, stranger, term, index=FAR, commit=FAR), stranger,
                              UNKNOWN_SENDER)
            for kind in LOCAL:
                self.post(member, message(kind, me, peer, self.term, index=5), peer, TAKEN)
            for kind in (24, 77, 1 << 40):
                self.post(member, message(kind, me, peer, self.term, index=5), peer, UNREADABLE)
            # Sent to somebody else.
            self.post(member, message(HEARTBEAT, stranger, peer, self.term, commit=FAR), peer, NOT_FOR_US)
        self.finish()

    def test_well_made_messages_with_positions_far_beyond_the_log_are_refused(self):
        # A member that lies in these is broken, not evil: nobody believes that the log has such an end.
        leader_id = self.ids[self.leader]
        follower = next(m for m in self.members.members if m is not self.leader)
        me = self.ids[follower]
        for term in (self.term, self.term - 1):
            for body in (
                    message(HEARTBEAT, me, leader_id, term, commit=FAR),
                    message(APP, me, leader_id, term, log_term=term, index=FAR, commit=FAR),
                    message(APP, me, leader_id, term, log_term=term, index=FAR, entries=[entry(term, FAR + 1)],
                            commit=FAR),
                    message(APP, me, leader_id, term, index=FAR, entries=[entry(term, 3), entry(term, 9)]),
                    message(APP, me, leader_id, term, index=(1 << 64) - 1, entries=[entry(term, 0)]),
                    message(READ_INDEX_RESP, me, leader_id, term, index=FAR, entries=[entry(0, 0, b"12345678")]),
                    message(SNAP, me, leader_id, term),
                    message(SNAP, me, leader_id, term, snapshot=b"")):
                self.post(follower, body, leader_id, TAKEN)
            for body in (
                    message(APP_RESP, leader_id, me, term, index=FAR),
                    message(APP_RESP, leader_id, me, term, index=FAR, reject=1, hint=FAR, log_term=FAR),
                    message(HEARTBEAT_RESP, leader_id, me, term, commit=FAR, context=b"x" * 8),
                    message(READ_INDEX, leader_id, me, term),
                    message(PROP, leader_id, me, 0),
                    # An entry that no member could apply would end all of them, at every start.
                    message(PROP, leader_id, me, 0, entries=[entry(0, 0, b"\xff\xff\xff")] * 10),
                    message(PROP, leader_id, me, 0, entries=[entry(0, 0, b"\xff\xff\xff", kind=CONF_CHANGE)])):
                self.post(self.leader, body, me, TAKEN)
        self.post(self.leader, message(PROP, leader_id, me, 0, entries=[entry(0, 0, b"", kind=9)]), me, UNREADABLE)
        self.finish()

    def test_a_joint_configuration_change_is_neither_taken_nor_applied(self):
        """docs/decisions/0018. Each comes in a form that is taken with an ordinary entry, which the end shows."""
        self.history.stop_clients()  # so that the end of the log is known
        leader_id = self.ids[self.leader]
        follower = next(m for m in self.members.members if m is not self.leader)
        me = self.ids[follower]
        last = self.leader.wait_status().raftIndex
        cluster.wait_until(lambda: self.applied(follower) == last, "the follower to apply the log")
        listed = [(m.ID, m.name) for m in self.members.listed()]

        def append(index, data, kind):
            return message(APP, me, leader_id, self.term, log_term=self.term, index=index, commit=index + 1,
                           entries=[entry(self.term, index + 1, data, kind)])

        for data in raft_messages.joint_changes(0xABCDEF, leader_id):
            self.post(follower, append(last, data, CONF_CHANGE_V2), leader_id, TAKEN)
            self.post(self.leader, message(PROP, leader_id, me, 0, entries=[entry(0, 0, data, CONF_CHANGE_V2)]), me,
                      TAKEN)
        snapshot = message(SNAP, me, leader_id, self.term, snapshot=raft_messages.joint_snapshot(
            self.ids.values(), leader_id, last + 10, self.term))
        self.post(follower, snapshot, leader_id, TAKEN)
        cluster.wait_until(lambda: b"an entry that no member could apply" in follower.log(), "a word of the refusal")

        # Whoever writes now is behind all of that.
        for member in self.members.members:
            with member.channel() as channel:
                client = history.Client(self.history, f"behind-{member.name}", [member.endpoint], SEED)
                client.connect(channel)
                client.put("k1", f"behind.{member.name}")
        self.assertEqual(self.leader.wait_status().raftIndex, last + len(self.members.members), "nothing else is in the log")
        self.assertEqual([(m.ID, m.name) for m in self.members.listed()], listed)
        self.check_members(least=50)

        # The members differ from here on.
        last += len(self.members.members)
        self.post(follower, append(last, b"", NORMAL), leader_id, TAKEN)
        cluster.wait_until(lambda: self.applied(follower) == last + 1, "an ordinary entry to be applied")

    def test_a_flood_of_old_terms_costs_nothing_that_stays(self):
        follower = next(m for m in self.members.members if m is not self.leader)
        me, other = self.ids[follower], self.ids[self.leader]
        connection = http.client.HTTPConnection("127.0.0.1", follower.peer_port, timeout=10)
        body = message(APP, me, other, 1, log_term=1, index=1, entries=[entry(1, 2, b"x" * 1000)])
        for _ in range(FLOOD):
            connection.request("POST", "/raft", body, self.headers(other))
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, 204)
        connection.close()
        self.finish()

    def test_a_member_that_answers_with_broken_frames_is_left_alone(self):
        rng = random.Random(SEED)
        FakeMember.frames = [
            struct.pack(">Q", 1 << 60), struct.pack(">Q", 1 << 40) + b"x" * 100,
            struct.pack(">Q", 10) + b"\xff" * 10, b"\x01" + struct.pack(">Q", 1 << 50),
            b"\x02" + struct.pack(">Q", 1 << 50), b"\x07" * 50, b"\x00" * 9, rng.randbytes(5000), b"",
            b"\x01" + struct.pack(">QQ", 1, 1 << 60),
        ]
        fake = http.server.ThreadingHTTPServer(("127.0.0.1", 0), FakeMember)
        thread = threading.Thread(target=fake.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{fake.server_port}"
            self.members.change("MemberAdd", rpc_pb2.MemberAddRequest(peerURLs=[url]))
            added = next(member for member in self.members.listed() if url in member.peerURLs)
            for _ in range(60):
                self.assertTrue(FakeMember.asked.acquire(timeout=30), "the members ask it no more")
            self.history.wait_more(100)
            self.members.change("MemberRemove", rpc_pb2.MemberRemoveRequest(ID=added.ID))
        finally:
            fake.shutdown()
            thread.join()
            fake.server_close()
        self.finish()


if __name__ == "__main__":
    unittest.main()

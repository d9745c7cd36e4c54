"""Databases between members, as bytes: what a leader posts to a member that is not one of ours, what a member takes from
one, and connections that break in the middle.

The other end is played: by a server that answers as etcd's do, and by posts in a member's name. Real ones are in
mixed_snapshots_test.py.
"""

import http.client
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading
import unittest

from etcd3.etcdrpc import rpc_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cluster  # noqa: E402
import raft_messages  # noqa: E402
import relay  # noqa: E402
import server  # noqa: E402
from mixed_state import everything, fill  # noqa: E402

# Since 3.6 another tool of etcd's looks at files.
TOOL = next((path for path in (os.path.join(os.environ["KVORUM_PEER_DIR"], name) for name in ("etcdutl", "etcdctl"))
             if os.path.exists(path)), None)
SHORT_LOG = (*cluster.QUICK, "--snapshot-count", "50", "--snapshot-catchup-entries", "5")
PAGE_BYTES = 4096


class EtcdLike:
    """A member that has nothing, asks for nothing, and keeps the snapshot that it is sent."""

    def __init__(self, leader):
        self.leader = leader
        self.cluster_id = leader.wait_status().header.cluster_id
        self.head = None
        self.message = None
        self.image = None
        self.id = None
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, status, body=b""):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                if self.path == "/raft/probing":
                    return self.answer(200, b'{"OK":true,"Now":"2026-08-01T12:00:00Z"}\n')
                if self.path == "/version":
                    return self.answer(200, b'{"etcdserver":"3.7.1","etcdcluster":"3.7.0"}')
                return self.answer(404)

            def do_POST(self):
                if self.path == "/raft":
                    body = self.rfile.read(int(self.headers["Content-Length"]))
                    self.answer(204)
                    return owner.reply(raft_messages.numbers(body))
                length = int.from_bytes(self.chunked(8), "big")
                owner.message = self.chunked(length)
                owner.image = self.chunked(None)
                owner.head = dict(self.headers)
                return self.answer(204)

            def chunked(self, size):
                """That many bytes of the body, or all that is left."""
                taken = getattr(self, "taken", b"")
                while size is None or len(taken) < size:
                    length = int(self.rfile.readline(), 16)
                    taken += self.rfile.read(length)
                    self.rfile.readline()
                    if length == 0:
                        break
                self.taken = taken[size:] if size is not None else b""
                return taken if size is None else taken[:size]

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def reply(self, asked):
        """Refuses every append, as an empty log does."""
        kind, sender, term = asked[1], asked[3], asked[4]
        if self.id is None:
            return  # it is asked again
        if kind == raft_messages.HEARTBEAT:
            body = raft_messages.message(raft_messages.HEARTBEAT_RESP, sender, self.id, term)
        elif kind == raft_messages.APP:
            body = raft_messages.message(raft_messages.APP_RESP, sender, self.id, term, index=asked[6], reject=1)
        else:
            return
        raft_messages.ask(self.leader, "POST", "/raft", body, raft_messages.headers(self.cluster_id, self.id))

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def post_snapshot(member, cluster_id, sender, message, content):
    """(status, body) of a snapshot as etcd's members post it: without a length, in chunks."""
    fields = {**raft_messages.headers(cluster_id, sender), "Content-Type": "application/octet-stream"}
    body = len(message).to_bytes(8, "big") + message + content
    pieces = (body[at:at + 30_000] for at in range(0, len(body), 30_000))
    connection = http.client.HTTPConnection("127.0.0.1", member.peer_port, timeout=60)
    try:
        connection.request("POST", "/raft/snapshot", pieces, fields, encode_chunked=True)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace").strip()
    except (http.client.HTTPException, ConnectionError) as error:
        return None, str(error)
    finally:
        connection.close()


def saved_image(member):
    """The database as etcd's file, by the API, without its hash."""
    with member.channel() as channel:
        answers = server.maintenance(channel).Snapshot(rpc_pb2.SnapshotRequest(), timeout=60)
        return b"".join(answer.blob for answer in answers)[:-32]


class FromOursTest(unittest.TestCase):
    @unittest.skipUnless(TOOL, "no tool of etcd's is installed")
    def test_an_etcd_member_gets_a_file_that_etcds_tool_reads(self):
        with cluster.Cluster(1, flags=SHORT_LOG) as members:
            members.start()
            leader = members.members[0]
            with leader.channel() as channel:
                fill(channel, 0)
                other = EtcdLike(leader)
                self.addCleanup(other.close)
                members.ctl("member", "add", "other", "--learner", "--peer-urls", other.url)
                other.id = next(m.ID for m in members.listed() if m.peerURLs == [other.url])
                fill(channel, 1)
                cluster.wait_until(lambda: other.image, "a snapshot")
                revision = server.put(server.kv(channel), b"later", b"").header.revision
            self.assertNotIn("X-Kvorum-Snapshot-Format", other.head)
            self.assertEqual(other.head["Content-Type"], "application/octet-stream")
            self.assertIn(b'"/0/members/%x/raftAttributes"' % other.id, other.message, "for members up to 3.6")
            path = os.path.join(members.folder, "image.db")
            with open(path, "wb") as file:
                file.write(other.image)
            shown = subprocess.run([TOOL, "snapshot", "status", path, "-w", "json"], capture_output=True, check=True,
                                   timeout=60, env={"PATH": os.environ["PATH"], "ETCDCTL_API": "3"}).stdout
            self.assertGreater(json.loads(shown)["revision"], revision - 250)
            cluster.wait_until(lambda: b"sent database snapshot" in leader.log(), "the leader to know")


class ToOursTest(unittest.TestCase):
    """The third member of a cluster is left behind, the others end, and it is sent what one of them would have."""

    def setUp(self):
        self.members = cluster.Cluster(3, flags=SHORT_LOG)
        self.addCleanup(self.members.close)
        self.members.start()
        self.leader = self.members.leader()
        other, self.behind = (member for member in self.members.members if member is not self.leader)
        with self.leader.channel() as channel:
            fill(channel, 0)
            self.members.check_equal()
            # What is on its way by then may still reach it.
            self.behind.pause()
            fill(channel, 1)
            self.state = everything(channel)
        self.image = saved_image(self.leader)
        details = self.members.details(self.leader)
        self.index, self.term = details["raftAppliedIndex"], details["raftTerm"]
        self.cluster_id = self.leader.wait_status().header.cluster_id
        named = {m.name: m.ID for m in self.members.listed()}
        self.ids = named.values()
        self.sender, self.id = named[self.leader.name], named[self.behind.name]
        self.leader.kill()
        other.kill()
        self.behind.resume()

    def post(self, content):
        configuration = b"".join(raft_messages.field(1, each) for each in self.ids)
        metadata = (raft_messages.field(1, configuration) + raft_messages.field(2, self.index + 1) +
                    raft_messages.field(3, self.term))
        message = raft_messages.message(
            raft_messages.SNAP, self.id, self.sender, self.term + 50,
            snapshot=raft_messages.field(1, b'{"Root":{}}') + raft_messages.field(2, metadata))
        return post_snapshot(self.behind, self.cluster_id, self.sender, message, content)

    def left(self):
        return [name for name in os.listdir(os.path.join(self.behind.data_dir, "member", "snap")) if ".snap.db" in name]

    def wait_installed(self):
        cluster.wait_until(lambda: b"applied snapshot" in self.behind.log(), "the snapshot to be installed")

    def test_etcds_file_becomes_the_database(self):
        self.assertEqual(self.post(self.image), (204, ""))
        self.wait_installed()
        cluster.wait_until(lambda: self.left() == [], "its file to be removed")
        with self.behind.channel() as channel:
            rows = server.kv(channel).Range(rpc_pb2.RangeRequest(key=b"\0", range_end=b"\0", serializable=True),
                                            timeout=30).kvs
        self.assertEqual([(r.key, r.value, r.create_revision, r.mod_revision, r.version, r.lease) for r in rows],
                         self.state["rows"])
        # What it was given is what it starts from, and the others, when they are back, have the same.
        # The entry that the snapshot stands for was made up, so this member has to be in the first majority: without it,
        # the others would elect a leader that has another entry in its place.
        self.behind.kill()
        first, last = (member for member in self.members.members if member is not self.behind)
        for member in (self.behind, first):
            member.launch()
        for member in (self.behind, first):
            member.wait_ready()
        last.launch()
        last.wait_ready()
        self.members.check_equal()
        with self.behind.channel() as channel:
            self.assertEqual(everything(channel), self.state)

    def test_damage_is_refused_and_changes_nothing(self):
        pages = len(self.image) // PAGE_BYTES
        spoiled = {
            "nothing": b"",
            "other content": b"x" * 100_000,
            "its front alone": self.image[:PAGE_BYTES],
            "cut off": self.image[:-PAGE_BYTES],
            "too long": self.image + b"\0",
            "its first page": self.image[:20] + b"\xff" + self.image[21:2 * PAGE_BYTES],
            "swapped pages": self.swapped(2, pages - 2),
        }
        for what, content in spoiled.items():
            with self.subTest(what):
                status, body = self.post(content)
                self.assertEqual(status, 500, body)
                self.assertTrue(body.startswith("failed to save KV snapshot ("), body)
                cluster.wait_until(lambda: self.left() == [], "its file to be removed")
        self.assertTrue(self.behind.alive)
        self.assertNotIn(b"applied snapshot", self.behind.log())
        self.assertEqual(self.post(self.image), (204, ""))
        self.wait_installed()

    def swapped(self, a, b):
        pages = [self.image[at:at + PAGE_BYTES] for at in range(0, len(self.image), PAGE_BYTES)]
        pages[a], pages[b] = pages[b], pages[a]
        return b"".join(pages)


class Breaking(relay.Relay):
    """Hangs up connections that carry more than `bytes_` to the target, `times` times."""

    def __init__(self, target, bytes_, times):
        self.bytes = bytes_
        self.times = times
        self.broken = 0
        super().__init__(target)

    def _pump(self, source, sink):
        try:
            towards = sink.getpeername()[1]
        except OSError:  # it has left
            return relay.hang_up(source)
        if towards != self.target or self.broken >= self.times:
            return super()._pump(source, sink)
        carried = 0
        try:
            while data := source.recv(65536):
                carried += len(data)
                if carried > self.bytes and self.broken < self.times:
                    self.broken += 1
                    break
                sink.sendall(data)
        except OSError:
            pass
        relay.hang_up(source)
        relay.hang_up(sink)
        return None


class BreakingTest(unittest.TestCase):
    def test_one_that_breaks_off_begins_again_until_it_is_through(self):
        members = cluster.Cluster(3, flags=(*SHORT_LOG, "--snapshot-rate-bytes", str(8 << 20)))
        self.addCleanup(members.close)
        behind = members.members[2]
        breaking = Breaking(behind.peer_port, bytes_=3_000_000, times=3)
        self.addCleanup(breaking.close)
        behind.advertised_peer_port = breaking.port
        members.start()
        leader = members.members[0]
        with leader.channel() as channel:
            kv = server.kv(channel)
            server.put(kv, b"before", b"")
            behind.stop()
            for i in range(200):
                server.put(kv, b"large %d" % i, os.urandom(50_000))
            behind.start()
            members.check_equal()
        self.assertEqual(breaking.broken, 3)
        log = members.leader().log()
        self.assertGreaterEqual(log.count(b"failed to send database snapshot"), 3)
        self.assertEqual([n for n in os.listdir(os.path.join(behind.data_dir, "member", "snap")) if ".snap.db" in n], [])
        members.check_logs()


if __name__ == "__main__":
    unittest.main()

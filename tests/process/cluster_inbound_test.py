"""A member that the others cannot reach, while it reaches them: what passes its own peer port is lost, silently.

The others read from it by streams that they open, and these go dead; it reads from them by streams of its own. Who
reads nothing for five seconds closes the stream, and its sender, which has no stream then, posts: that is a connection
of its own again. So the member loses its lead, if it had it, and goes on as a follower. (Twice those five seconds make
this test as long as it is.)
"""

import json
import time
import unittest
import urllib.error
import urllib.request

import cluster
import history
import relay
import server

# In which etcd's tests of such a cut want an answer, or none (http_health_check_test.go).
PROBE_S = 2


def probe(member, path):
    """(status, text) of a page of its client port; None if it does not answer in time."""
    try:
        with urllib.request.urlopen(member.client_url + path, timeout=PROBE_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()
    except TimeoutError:
        return None


class InboundTest(history.HistoryCase):
    def setUp(self):
        # The leader hears nothing of this member for five seconds. A log compacted past what it last heard would mean a
        # snapshot, and snapshots come by the port that is cut.
        members = cluster.Cluster(3, (*cluster.QUICK, "--snapshot-catchup-entries", "10000000"))
        for member in members.members:
            member.relay = relay.Relay(member.peer_port)
            self.addCleanup(member.relay.close)
            member.advertised_peer_port = member.relay.port
        self.begin(members)

    def test_its_client_port_tells_at_once_that_it_cannot_confirm_a_read(self):
        """Before anybody has noticed the cut (five seconds): it lives, serves what it has, and is not ready."""
        for leads in (False, True):
            member = self.members.leader() if leads else self.members.followers()[0]
            others = [m for m in self.members.members if m is not member]
            with member.channel() as channel:
                server.put(server.kv(channel), b"a", b"1")
            member.relay.cut()
            begun = time.monotonic()
            self.assertEqual(probe(member, "/health?serializable=true"), (200, '{"health":"true","reason":""}'))
            self.assertEqual(probe(member, "/livez")[0], 200)
            ready, health = probe(member, "/readyz"), probe(member, "/health?serializable=false")
            with member.channel() as channel:
                answer = server.get(server.kv(channel), b"a", serializable=True)
            self.assertEqual(answer.kvs[0].value, b"1")
            self.assertLess(time.monotonic() - begun, 5)
            if ready is not None:
                self.assertEqual(ready[0], 503)
                self.assertIn("[-]linearizable_read failed: etcdserver: leader changed", ready[1])
            if health is not None:
                self.assertEqual(health[0], 503)
                self.assertIn(json.loads(health[1])["reason"], ("RAFT NO LEADER", "RANGE ERROR:etcdserver: leader changed"))
            # The others write meanwhile, and it has all of that once the cut is mended.
            with self.members.leader(among=others).channel() as channel:
                server.put(server.kv(channel), b"a", b"2")
            member.relay.mend()
            cluster.wait_until(lambda cut=member: (probe(cut, "/readyz") or [0])[0] == 200, "it to be ready again")
            self.members.check_equal()
        self.fine = True

    def test_it_goes_on_as_a_follower_by_posts(self):
        self.history.start_clients(self.members.endpoints, count=3, pinned=True)
        self.history.wait_more(100)
        for choose in (lambda: self.members.followers()[0], self.members.leader):
            member = choose()
            others = [m for m in self.members.members if m is not member]
            member.relay.cut()
            self.members.leader(among=others)
            # Nothing that its clients wrote while its answers were lost is told to have happened: judged at the end.
            own = [c for c in self.history.clients if c.endpoints[0] == member.endpoint]
            cluster.wait_until(lambda cut=member: b"lost TCP streaming connection with remote peer" in cut.log(),
                               f"{member.name} to see that nobody reads from it")
            self.history.wait_more(50, clients=own)
            # Not at any moment: a disk that stalls for an election's time may give it the lead again, which its posts
            # and the streams that it opened carry as well as another's.
            ids = [other.wait_status().header.member_id for other in others]
            cluster.wait_until(lambda cut=member, known=ids: cut.wait_status().leader in known,
                               f"{member.name} to follow one of the others")
            member.relay.mend()
            self.history.wait_more(50)
        self.finish(least=200)


if __name__ == "__main__":
    unittest.main()

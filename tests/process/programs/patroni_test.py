"""Patroni's own code for etcd (python package patroni) on the JSON gateway: a cluster's first steps, a leader that comes and
goes, a lost lease, and what it makes of our errors.

An error is as etcd 3.7.3 sends it, {"code":5,"message":"..."}; etcd up to 3.5 sent its text as "error" too, which Debian
12's Patroni looks for, and otherwise takes the code. So it finds the class of the code, beside us as beside 3.7.3.
"""

import logging
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import server  # noqa: E402
from cluster import wait_until  # noqa: E402

try:
    from patroni.dcs import get_dcs
    from patroni.dcs.etcd3 import Etcd3ClientError, FailedPrecondition, InvalidArgument, NotFound
except ImportError:
    get_dcs = None


class PatroniTest(unittest.TestCase):
    def setUp(self):
        logging.disable(logging.CRITICAL)  # it tells of every error
        self.addCleanup(logging.disable, logging.NOTSET)
        self.served = server.Server()
        self.addCleanup(self.served.close)
        self.served.start()

    def store(self, name, ttl=30):
        return get_dcs({"scope": "demo", "name": name, "namespace": "/service/", "ttl": ttl, "loop_wait": 1,
                        "retry_timeout": 10, "etcd3": {"host": self.served.endpoint}})

    @staticmethod
    def shown(store):
        seen = store.get_cluster()
        return seen.leader and seen.leader.name, seen.initialize, sorted(member.name for member in seen.members)

    def test_a_leader_comes_and_another_follows(self):
        first, second = self.store("pg1"), self.store("pg2")
        self.assertTrue(first.initialize(sysid="7"))
        self.assertFalse(second.initialize(sysid="8"))
        for store in (first, second):
            self.assertTrue(store.touch_member({"conn_url": "postgres://x", "state": "running"}))
        self.assertTrue(first.attempt_to_acquire_leader())
        self.assertFalse(second.attempt_to_acquire_leader())
        self.assertTrue(first.set_config_value('{"ttl":30}'))
        # What it shows is a copy that its watch keeps.
        wait_until(lambda: self.shown(second) == ("pg1", "7", ["pg1", "pg2"]), "the cluster with its leader")
        # Its lease goes with all that hangs on it; the next leader takes over.
        # pylint: disable=protected-access
        first._client.call_rpc("/lease/revoke", {"ID": first._lease})
        wait_until(lambda: second.get_cluster().leader is None, "the leader's key to be gone")
        self.assertTrue(second.attempt_to_acquire_leader())
        self.assertFalse(first.touch_member({"conn_url": "postgres://y", "state": "running"}))

    def test_it_understands_our_errors(self):
        client = self.store("pg1")._client  # pylint: disable=protected-access
        for method, fields, kind in [
                ("/lease/revoke", {"ID": 5}, NotFound), ("/kv/put", {"key": "YQ==", "lease": 5}, NotFound),
                ("/auth/authenticate", {"name": "x", "password": "y"}, FailedPrecondition),
                ("/kv/range", {}, InvalidArgument), ("/kv/put", {"key": 5}, InvalidArgument)]:
            with self.assertRaises(Etcd3ClientError) as raised:
                client.call_rpc(method, fields)
            self.assertIsInstance(raised.exception, kind, (method, fields))


if __name__ == "__main__":
    if get_dcs is not None:
        unittest.main()
    print("SKIPPED: there is no Patroni")

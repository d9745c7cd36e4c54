"""A snapshot that is saved while writers go on as fast as they can is one state: that of the revision that it has."""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

from etcd3.etcdrpc import rpc_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cluster  # noqa: E402
import ctl  # noqa: E402
import server  # noqa: E402

UTL = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorumutl")
ETCDUTL = os.path.join(os.environ["KVORUM_PEER_DIR"], "etcdutl")  # its numbers count too, if it is there
WRITERS = 6
SAVES = 3


def told(tool, *line):
    done = subprocess.run([tool, *line, "-w", "json"], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


class Writer(threading.Thread):
    """Puts, deletions and transactions, one after another."""

    def __init__(self, endpoint, number):
        super().__init__(name=f"writer {number}")
        self.endpoint = endpoint
        self.rng = random.Random(number)
        self.stopping = False
        self.written = 0
        self.error = None

    def run(self):
        try:
            with cluster.channel_to(self.endpoint) as channel:
                kv = server.kv(channel)
                while not self.stopping:
                    self.write(kv)
                    self.written += 1
        except Exception as error:
            self.error = error

    def write(self, kv):
        key = b"key %d" % self.rng.randrange(500)
        put = rpc_pb2.PutRequest(key=key, value=self.rng.randbytes(self.rng.randrange(4000)))
        kind = self.rng.randrange(10)
        if kind == 0:
            kv.DeleteRange(rpc_pb2.DeleteRangeRequest(key=key), timeout=30)
        elif kind == 1:
            other = rpc_pb2.PutRequest(key=b"other", value=key)
            kv.Txn(rpc_pb2.TxnRequest(success=[rpc_pb2.RequestOp(request_put=each) for each in (put, other)]), timeout=30)
        else:
            kv.Put(put, timeout=30)


class SnapshotLoadTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kvorum-load-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.member = server.Server().start()
        self.addCleanup(self.member.close)
        self.channel = self.member.channel()
        self.addCleanup(self.channel.close)

    def load(self):
        writers = [Writer(self.member.endpoint, number) for number in range(WRITERS)]

        def stop():
            for writer in writers:
                writer.stopping = True
            for writer in writers:
                writer.join()
        for writer in writers:
            writer.start()
        self.addCleanup(stop)
        return writers, stop

    def written(self, writers):
        return sum(writer.written for writer in writers)

    def test_each_file_is_the_state_of_its_revision(self):
        writers, stop = self.load()
        cluster.wait_until(lambda: self.written(writers) > 3000, "some history")
        # One compaction before all saves: the hashes of all revisions behind it can be asked for.
        kv = server.kv(self.channel)
        revision = server.get(kv, b"a").header.revision
        kv.Compact(rpc_pb2.CompactionRequest(revision=revision - 100, physical=True), timeout=60)
        for number in range(SAVES):
            file = os.path.join(self.folder, f"{number}.db")
            before = self.written(writers)
            ctl.succeed(self.member.endpoint, "snapshot", "save", file)
            self.assertGreater(self.written(writers), before + WRITERS, "nobody wrote meanwhile")
            self.check(file)
        stop()
        for writer in writers:
            if writer.error is not None:
                raise writer.error

    def check(self, file):
        status = told(UTL, "snapshot", "status", file)
        revision = status["revision"]
        expected = server.maintenance(self.channel).HashKV(rpc_pb2.HashKVRequest(revision=revision), timeout=30)
        live = server.kv(self.channel).Range(
            rpc_pb2.RangeRequest(key=b"\0", range_end=b"\0", count_only=True, revision=revision), timeout=30)
        self.assertEqual(status["totalKey"], live.count)
        for tool in (UTL, *((ETCDUTL,) if os.path.exists(ETCDUTL) else ())):
            self.assertEqual(told(tool, "snapshot", "status", file), status)
            copy = shutil.copy(file, file + ".copy")  # etcdutl opens it for writing
            self.assertEqual(told(tool, "hashkv", copy), {
                "hash": expected.hash, "hashRevision": revision, "compactRevision": expected.compact_revision})


if __name__ == "__main__":
    unittest.main()

"""Every processor is kept busy by a thread like any other. What the server computes in the background gives way to
it at once, and yet ends: on its idle threads alone (base/background/aside.h) it would get a seventieth of a processor.
"""

import glob
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from etcd3.etcdrpc import rpc_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import ctl  # noqa: E402
import server  # noqa: E402

OPERATIONS = 5_000
TRANSACTIONS = 120
VALUE = b"v" * 100
LIMIT_SECONDS = 45
SPIN = "import os\nos.sched_setaffinity(0, {%d})\nwhile True:\n    pass"


def one_transaction():
    return rpc_pb2.TxnRequest(success=[
        rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=b"key %06d" % n, value=VALUE)) for n in range(OPERATIONS)])


class BusyProcessorsTest(unittest.TestCase):
    def setUp(self):
        self.member = server.Server(f"--max-txn-ops={OPERATIONS}", "--log-level=debug").start()
        self.addCleanup(self.member.close)
        self.channel = self.member.channel()
        self.addCleanup(self.channel.close)
        self.endpoint = f"127.0.0.1:{self.member.port}"
        self.transaction = one_transaction()
        self.write()
        for cpu in os.sched_getaffinity(0):
            spinner = subprocess.Popen([*server.ENDS_WITH_US, sys.executable, "-c", SPIN % cpu])
            self.addCleanup(spinner.wait)
            self.addCleanup(spinner.send_signal, signal.SIGKILL)

    def write(self):
        kv = server.kv(self.channel)
        for _ in range(TRANSACTIONS):
            kv.Txn(self.transaction, timeout=LIMIT_SECONDS)

    def within_the_limit(self, what, act):
        begin = time.monotonic()
        act()
        took = time.monotonic() - begin
        print(f"{what}: {took:.1f} s", flush=True)
        self.assertLess(took, LIMIT_SECONDS, what)

    def test_what_somebody_waits_for_ends(self):
        saved = os.path.join(self.member.folder, "saved.db")
        for words in (("endpoint", "hashkv"), ("snapshot", "save", saved), ("defrag",)):
            self.within_the_limit(words[0], lambda words=words: ctl.succeed(
                self.endpoint, "--command-timeout=600s", *words, timeout=600))

    def test_the_log_goes_on_in_its_next_segments(self):
        def segments():
            return sorted(os.path.basename(path) for path in glob.glob(f"{self.member.data_dir}/member/wal/*.wal"))

        before = segments()
        self.within_the_limit("two segments", lambda: [self.write() for _ in range(2)])
        self.assertGreater(segments()[-1], before[-1])

    def test_a_background_thread_says_how_it_gives_way(self):
        self.assertIn(b"background threads give way", self.member.log())


if __name__ == "__main__":
    unittest.main()

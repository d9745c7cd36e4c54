"""The space that history takes, kept small by the real process itself: automatic compaction."""

import json
import time
import unittest

import grpc

import server


class SpaceTest(unittest.TestCase):
    def setUp(self):
        self.member = server.Server()
        self.addCleanup(self.member.close)

    def wait_for(self, told, what, seconds=60):
        """The first true value of what()."""
        end = time.monotonic() + seconds
        while True:
            value = what()
            if value:
                return value
            self.assertLess(time.monotonic(), end, f"{told}: {self.member.log().decode(errors='replace')}")
            time.sleep(0.05)

    def lines(self, message):
        """The log's lines with this message, as objects."""
        found = [json.loads(line) for line in self.member.log().splitlines() if message.encode() in line]
        return [line for line in found if line["msg"] == message]

    def is_compacted(self, stub, revision):
        try:
            server.get(stub, b"k", revision=revision)
            return False
        except grpc.RpcError as error:
            self.assertIn("required revision has been compacted", error.details())
            return True

    def test_history_older_than_the_retention_goes(self):
        self.member.start("--auto-compaction-retention", "2s")
        with self.member.channel() as channel:
            stub = server.kv(channel)
            for i in range(100):
                revision = server.put(stub, b"k", b"%d" % i).header.revision
            self.wait_for("not compacted", lambda: self.is_compacted(stub, revision - 1))
            self.assertEqual(server.get(stub, b"k", revision=revision).kvs[0].value, b"99")
            self.wait_for("compaction not finished", lambda: self.lines("finished scheduled compaction"))
        starting = self.lines("starting auto periodic compaction")[0]
        self.assertEqual((starting["level"], starting["compact-period"]), ("info", "2s"))
        completed = self.lines("completed auto periodic compaction")[0]
        self.assertEqual(completed["revision"], starting["revision"])
        self.assertIn("took", completed)
        self.assertEqual(self.lines("failed auto periodic compaction"), [])

    def test_the_newest_revisions_are_kept(self):
        self.member.start("--auto-compaction-mode", "revision", "--auto-compaction-retention", "10",
                          "--auto-compaction-revision-interval", "500ms")
        with self.member.channel() as channel:
            stub = server.kv(channel)
            for i in range(100):
                revision = server.put(stub, b"k", b"%d" % i).header.revision
            self.wait_for("not compacted", lambda: self.is_compacted(stub, revision - 11))
            self.assertEqual(server.get(stub, b"k", revision=revision - 10).kvs[0].value, b"89")
        last = self.wait_for("no line", lambda: [
            line for line in self.lines("completed auto revision compaction")
            if line["revision"] == revision - 10])[0]
        self.assertEqual(last["revision-compaction-retention"], 10)

    def test_what_is_no_retention_is_refused(self):
        for retention, text in [
                ("abc", 'error parsing CompactionRetention: time: invalid duration \\"abc\\"'),
                ("-1", 'error parsing CompactionRetention: time: missing unit in duration \\"-1\\"'),
                ("-1h", "error parsing CompactionRetention")]:
            with self.subTest(retention=retention):
                code, said = self.member.refuse("--auto-compaction-retention=" + retention)
                self.assertEqual(code, 1, said)
                self.assertIn(text.replace("\\", "") if "\\" not in said else text, said)


if __name__ == "__main__":
    unittest.main()

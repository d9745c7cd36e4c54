"""kvorumutl defrag and migrate on the directory of an etcd 3.7, beside etcdutl; etcd starts from what they leave."""

import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import adopt_test  # noqa: E402
import ctl  # noqa: E402
import server  # noqa: E402

UTL = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorumutl")
OWNER = (12345, 23456)
ETCDUTL = os.path.join(os.environ["KVORUM_PEER_DIR"], "etcdutl")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def told(done):
    """Exit code, output, and what was logged: level, message and fields, without times and sources."""
    lines = []
    for line in done.stderr.splitlines():
        parts = line.split("\t")
        if len(parts) >= 4 and parts[1] in ("info", "warn") and "bbolt" not in line:
            lines.append((parts[1], parts[-2], json.loads(parts[-1])))
        elif line.endswith("forcefully cleared storage version") or "forcefully cleared storage version\t" in line:
            lines.append(("warn", "forcefully cleared storage version", {}))
        elif line.startswith("Error: "):
            lines.append(line)
    return done.returncode, done.stdout, lines


def database(data_dir):
    return os.path.join(data_dir, "member", "snap", "db")


class EtcdsDirectoryTest(unittest.TestCase):
    def setUp(self):
        self.member = adopt_test.Member()
        self.addCleanup(self.member.close)

    def copy(self):
        folder = tempfile.mkdtemp(prefix="kvorum-migrate-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return shutil.copytree(self.member.data_dir, os.path.join(folder, "data"))

    def status(self, tool, path):
        return json.loads(run(tool, "snapshot", "status", path, "-w", "json").stdout)

    def test_defrag_gives_back_what_is_free(self):
        member = self.member
        member.start_etcd()
        kv = server.kv(member.channel)
        for i in range(20):
            server.put(kv, b"large", bytes([i]) * 300_000)
        member.write(1, operations=250)  # it compacts all of that
        before = member.seen()
        line = ("defrag", "--data-dir", member.data_dir)
        refused = run(UTL, *line, "--timeout", "100ms")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("held by another process", refused.stderr)
        member.stop()
        theirs = self.copy()
        size = os.path.getsize(database(member.data_dir))
        done = run(UTL, *line)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        expected = run(ETCDUTL, "defrag", "--data-dir", theirs)
        self.assertEqual(expected.returncode, 0)
        told = [[line.split("\t") for line in each.stderr.splitlines()] for each in (done, expected)]
        messages = [[fields[-2] for fields in lines if len(fields) > 1 and "defragmenting" in fields[-2]] for lines in told]
        self.assertEqual(messages[0], ["defragmenting", "finished defragmenting directory"])
        self.assertEqual(messages[0], messages[1])
        self.assertLess(os.path.getsize(database(member.data_dir)), size / 4)
        self.assertLessEqual(os.path.getsize(database(member.data_dir)), os.path.getsize(database(theirs)))
        ours, expected = (self.status(ETCDUTL, database(path)) for path in (member.data_dir, theirs))
        self.assertEqual((ours["hash"], ours["revision"]), (expected["hash"], expected["revision"]))
        self.assertEqual(glob.glob(database(member.data_dir) + "?*"), [])
        member.start_etcd()
        self.assertEqual(member.seen(), before)

    def test_migrate_says_and_does_what_etcdutl_does(self):
        member = self.member
        member.start_etcd()
        member.write(1, operations=250)
        before = member.seen()
        member.stop()
        for target in ("3.7", "3.6", "3.5", "3.8", "4.0", "3.4", "3", "3.x"):
            for force in ((), ("--force",)):
                with self.subTest(target=target, force=force):
                    ours, theirs = self.copy(), self.copy()
                    line = (f"--target-version={target}", *force)
                    self.assertEqual(told(run(UTL, "migrate", "--data-dir", ours, *line)),
                                     told(run(ETCDUTL, "migrate", "--data-dir", theirs, *line)))
                    self.assertEqual(self.status(UTL, database(ours))["hash"], self.status(UTL, database(theirs))["hash"])
                    self.assertEqual(self.status(UTL, database(ours))["version"], self.status(UTL, database(theirs))["version"])
                    if target == "3.5" and not force:
                        # From 3.5 up again, the last step first missing.
                        self.assertEqual(told(run(UTL, "migrate", "--data-dir", ours, "--target-version", "3.7")),
                                         told(run(ETCDUTL, "migrate", "--data-dir", theirs, "--target-version", "3.7")))
        done = run(UTL, "migrate", "--data-dir", member.data_dir, "--target-version", "3.6")
        self.assertEqual(done.returncode, 0, done.stderr)
        member.start_etcd()
        self.assertEqual(member.seen(), before)

    @unittest.skipUnless(os.geteuid() == 0, "not root")
    def test_what_root_makes_is_the_owners(self):
        member = self.member
        member.start_etcd()
        member.write(1, operations=250)
        before = member.seen()
        saved = os.path.join(member.folder, "saved.db")
        ctl.succeed(member.endpoint, "snapshot", "save", saved)
        member.stop()
        self.give_away(member.data_dir)
        for line in (("defrag",), ("migrate", "--target-version", "3.6"), ("adopt",), ("defrag",), ("adopt", "--drop-old"),
                     ("release",), ("release", "--drop-old")):
            done = run(UTL, *line, "--data-dir", member.data_dir)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.owners(member.data_dir), {OWNER}, line)
        member.start_etcd()
        self.assertEqual(member.seen(), before)
        restored = os.path.join(member.folder, "restored")
        os.mkdir(restored)
        self.give_away(restored)
        done = run(UTL, "snapshot", "restore", saved, "--data-dir", restored)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.owners(restored), {OWNER})

    def give_away(self, folder):
        for path in (folder, *glob.glob(os.path.join(folder, "**"), recursive=True)):
            os.chown(path, *OWNER)

    def owners(self, folder):
        found = set()
        for path in (folder, *glob.glob(os.path.join(folder, "**"), recursive=True)):
            told = os.lstat(path)
            found.add((told.st_uid, told.st_gid))
        return found


if __name__ == "__main__":
    if not os.path.exists(ETCDUTL) or not adopt_test.peer_is_3_7():
        print("SKIPPED: there is no etcd of 3.7")
        sys.exit(0)
    unittest.main()

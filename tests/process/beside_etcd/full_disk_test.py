"""A full disk, met while a directory is adopted or released and while a member receives a snapshot: an error that says
so, the state from before, and all is well once there is room again. The disk is a small one in memory, which only root
can mount."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import adopt_test  # noqa: E402
import cluster  # noqa: E402
import ctl  # noqa: E402
import server  # noqa: E402
from mixed_snapshots_test import SHORT_LOG  # noqa: E402

UTL = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorumutl")
FULL = "No space left on device"
LARGE = 30


class Disk:
    """A file system of its own, in which a file takes all the room but a few MB while `filled`."""

    def __init__(self, size_mb=1000):
        self.path = tempfile.mkdtemp(prefix="kvorum-disk-")
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "none", self.path], capture_output=True,
                              text=True, check=False, timeout=30)
        if done.returncode != 0:
            os.rmdir(self.path)
            raise OSError(done.stderr)
        self.filler = os.path.join(self.path, "filler")

    def fill(self, free_mb):
        free = shutil.disk_usage(self.path).free - (free_mb << 20)
        with open(self.filler, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, free)

    def empty(self):
        os.remove(self.filler)

    def close(self):
        subprocess.run(["umount", "--lazy", self.path], check=True, timeout=30)
        os.rmdir(self.path)


def can_mount():
    try:
        Disk(1).close()
        return True
    except OSError as error:
        print(f"SKIPPED: no disk can be mounted: {error}", flush=True)
        return False


def files(folder):
    """Name and size of each."""
    return {os.path.relpath(os.path.join(where, name), folder): os.path.getsize(os.path.join(where, name))
            for where, _, names in os.walk(folder) for name in names}


class FullDiskTest(unittest.TestCase):
    def setUp(self):
        self.disk = Disk()
        self.addCleanup(self.disk.close)

    def move(self, command, member):
        return subprocess.run([UTL, command, "--data-dir", member.data_dir], capture_output=True, text=True, timeout=120,
                              check=False)

    def check_move(self, command, member, owner, start):
        """The command on a full disk, then with room."""
        before, seen = files(member.data_dir), member.seen_before
        self.disk.fill(free_mb=1)
        done = self.move(command, member)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, rf"^Error: .*{FULL}\n$")
        after = files(member.data_dir)
        for lock in ("member/lock", "member/wal/lock", "member/snap/db-lock"):
            before.pop(lock, None)
            after.pop(lock, None)
        self.assertEqual(after, before)
        told = member.verify()
        self.assertEqual((told["owner"], told["wouldStart"]), (owner, True), told)
        self.disk.empty()
        done = self.move(command, member)
        self.assertEqual(done.returncode, 0, done.stderr)
        start()
        self.assertEqual(member.seen(), seen)

    def test_adopt_and_release(self):
        member = adopt_test.Member()
        self.addCleanup(member.close)
        member.data_dir = os.path.join(self.disk.path, "data")
        member.start_etcd()
        for number in range(LARGE):
            server.put(server.kv(member.channel), b"large %d" % number, os.urandom(100_000))
        member.write(1, operations=250)
        member.seen_before = member.seen()
        member.stop()
        self.check_move("adopt", member, "etcd", member.start_kvorum)
        member.stop()
        self.check_move("release", member, "kvorum", member.start_released)

    def test_a_snapshot_of_the_leader(self):
        members = cluster.Cluster(3, flags=SHORT_LOG)
        self.addCleanup(members.close)
        victim = members.members[2]
        victim.data_dir = os.path.join(self.disk.path, "data")
        members.start()
        cluster.wait_until(lambda: members.listed()[2].name, "all names")
        victim.stop()
        leader = members.leader()
        before = leader.status().raftIndex
        with leader.channel() as channel:
            for number in range(LARGE):
                server.put(server.kv(channel), b"large %d" % number, os.urandom(1 << 20))
            for number in range(100):
                server.put(server.kv(channel), b"small %d" % number, b"")
        members.wait_log_cut(leader, before)
        self.disk.fill(free_mb=12)
        victim.launch()
        cluster.wait_until(lambda: FULL.encode() in victim.log() and b"snapshot" in victim.log(), "an error")
        self.assertTrue(victim.alive, victim.tail())
        # Nobody writes while a member has no room.
        cluster.wait_until(lambda: "NOSPACE" in members.ctl("alarm", "list", endpoints=[leader.endpoint]), "the alarm")
        self.disk.empty()
        members.check_equal()
        self.assertIn(b"applied snapshot", victim.log())
        members.ctl("alarm", "disarm", endpoints=[leader.endpoint])
        members.ctl("put", "afterwards", "goes on", endpoints=[victim.endpoint])
        members.check_equal()
        members.check_logs()


if __name__ == "__main__":
    if not can_mount() or not ctl.etcd_is_here():
        print("SKIPPED: there is no etcd, or no disk")
        sys.exit(0)
    unittest.main()

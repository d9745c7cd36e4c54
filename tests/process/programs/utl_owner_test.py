"""kvorumutl as root on a directory of another user's: what it makes is the user's, and the links that the user has put
there lead root nowhere."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import ctl  # noqa: E402
import server  # noqa: E402

UTL = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorumutl")
OWNER = (12345, 23456)
ROOT = (0, 0)


def run(*command):
    return subprocess.run([UTL, *command], capture_output=True, text=True, timeout=60, check=False)


def owner_of(path):
    told = os.lstat(path)
    return told.st_uid, told.st_gid


def everything_in(folder):
    """Links, too, and nothing behind them."""
    found = [folder]
    for place, folders, files in os.walk(folder):
        found += [os.path.join(place, name) for name in folders + files]
    return found


def give_away(folder):
    for path in everything_in(folder):
        os.lchown(path, *OWNER)


class OwnerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="kvorum-owner-")
        os.chmod(cls.folder, 0o755)
        with server.Server() as member:
            member.start()
            with member.channel() as channel:
                for number in range(20):
                    server.put(server.kv(channel), b"key %d" % number, b"value")
            cls.saved = os.path.join(cls.folder, "saved.db")
            ctl.succeed(member.endpoint, "snapshot", "save", cls.saved)
            member.stop()
            cls.original = os.path.join(cls.folder, "original")
            shutil.copytree(member.data_dir, cls.original)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def setUp(self):
        self.place = tempfile.mkdtemp(dir=self.folder)
        os.chmod(self.place, 0o755)
        self.data = self.path("data")
        shutil.copytree(self.original, self.data)
        self.snap = os.path.join(self.data, "member", "snap")
        self.wal = os.path.join(self.data, "member", "wal")
        # What is root's, and has to stay so.
        self.victim = self.path("victim")
        os.mkdir(self.victim)
        pathlib.Path(self.victim, "file").write_text("root's")

    def path(self, *names):
        return os.path.join(self.place, *names)

    def succeed(self, *command):
        done = run(*command)
        self.assertEqual(done.returncode, 0, (command, done.stderr))
        return done.stdout

    def release(self):
        self.succeed("release", "--drop-old", "--data-dir", self.data)

    def is_owners(self, *folders):
        for folder in folders:
            for path in everything_in(folder):
                self.assertEqual(owner_of(path), OWNER, path)

    def victim_is_whole(self):
        self.assertEqual({owner_of(path) for path in everything_in(self.victim)}, {ROOT})
        self.assertEqual(sorted(os.listdir(self.victim)), ["file"])
        self.assertEqual(pathlib.Path(self.victim, "file").read_text(), "root's")

    def test_a_wrong_wal_dir_is_not_given_away(self):
        self.release()
        give_away(self.data)
        for command in ("adopt", "release"):
            run(command, "--data-dir", self.data, "--wal-dir", self.victim)
            self.victim_is_whole()

    def test_links_to_folders_of_roots_give_nothing_away(self):
        self.release()
        shutil.rmtree(self.wal)
        os.symlink(self.victim, self.wal)
        give_away(self.data)
        for command in (("release",), ("adopt",), ("defrag",), ("migrate", "--target-version", "3.6"), ("verify",)):
            run(*command, "--data-dir", self.data)
            self.victim_is_whole()

    def test_nothing_is_written_through_a_link(self):
        """Each name that a tool makes with the content that it finds, or makes one."""
        victim = os.path.join(self.victim, "file")
        for name in ("member/lock", "member/snap/db-lock", "member/format.tmp"):
            for target in (victim, os.path.join(self.victim, "new")):
                for command in (("release",), ("adopt",), ("defrag",), ("verify",), ("snapshot", "status"), ("hashkv",),
                                ("dump",)):
                    with self.subTest(name=name, command=command):
                        path = os.path.join(self.data, name)
                        pathlib.Path(path).unlink(missing_ok=True)
                        os.symlink(target, path)
                        give_away(self.data)
                        named = command[0] in ("release", "adopt", "defrag", "verify")
                        run(*command, *(["--data-dir"] if named else []), self.data, "--timeout", "1s")
                        self.victim_is_whole()
        for target in (victim, os.path.join(self.victim, "new")):
            path = self.snap + "/db-lock"
            pathlib.Path(path).unlink(missing_ok=True)
            os.symlink(target, path)
            give_away(self.data)
            run("snapshot", "restore", self.snap + "/db", "--skip-hash-check", "--data-dir", self.path("restored"),
                "--timeout", "1s")
            self.victim_is_whole()

    def test_what_is_made_behind_a_link_is_the_owners(self):
        self.release()
        elsewhere = self.path("elsewhere")
        os.rename(self.snap, elsewhere)
        os.symlink(elsewhere, self.snap)
        give_away(self.data)
        give_away(elsewhere)
        for command in ("adopt", "defrag", "release"):
            self.succeed(command, "--data-dir", self.data)
            self.is_owners(self.data, elsewhere)

    def test_a_log_elsewhere(self):
        wal = self.path("wal")
        shutil.move(self.wal, wal)
        give_away(self.data)
        give_away(wal)
        for command in ("release", "adopt", "verify"):
            self.succeed(command, "--data-dir", self.data, "--wal-dir", wal)
            self.is_owners(self.data, wal)

    def test_a_restored_log_elsewhere_is_the_owners(self):
        for number, place in enumerate((self.path("new", "deep"), self.path("wal"))):
            data = self.path(f"restored {number}")
            os.mkdir(data)
            give_away(data)
            self.succeed("snapshot", "restore", self.saved, "--data-dir", data, "--wal-dir", place)
            self.is_owners(data, place)
        self.is_owners(self.path("new"))
        self.assertEqual(owner_of(self.place), ROOT)

    def test_a_restored_log_comes_to_no_place_behind_a_link(self):
        data = self.path("restored")
        folder = self.path("folder")
        for path in (data, folder):
            os.mkdir(path)
        os.symlink(self.victim, os.path.join(folder, "link"))
        for path in (data, folder):
            give_away(path)
        done = run("snapshot", "restore", self.saved, "--data-dir", data, "--wal-dir", os.path.join(folder, "link", "new"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("Permission denied", done.stderr)
        self.victim_is_whole()

    def test_a_restore_that_fails_leaves_nothing(self):
        spoiled = self.path("spoiled.db")
        content = bytearray(pathlib.Path(self.saved).read_bytes())
        at = content.index(b"value")
        content[at - 3:at + 5] = b"\xff" * 8
        pathlib.Path(spoiled).write_bytes(content)
        data = self.path("restored")
        os.mkdir(data)
        give_away(data)
        done = run("snapshot", "restore", spoiled, "--skip-hash-check", "--data-dir", data, "--wal-dir",
                   self.path("new", "deep"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(os.listdir(data), [])
        self.assertFalse(os.path.exists(self.path("new")), done.stderr)
        self.succeed("snapshot", "restore", self.saved, "--data-dir", data, "--wal-dir", self.path("new", "deep"))

    def test_a_new_directory_is_that_of_the_folders_owner(self):
        folder = self.path("folder")
        os.mkdir(folder)
        give_away(folder)
        self.succeed("snapshot", "restore", self.saved, "--data-dir", os.path.join(folder, "new"))
        self.is_owners(folder)
        self.succeed("snapshot", "restore", self.saved, "--data-dir", self.path("roots"))
        self.assertEqual({owner_of(path) for path in everything_in(self.path("roots"))}, {ROOT})

    def test_a_copy_in_a_folder_of_roots(self):
        """The owner could not get there."""
        closed = self.path("closed")
        os.mkdir(closed, 0o700)
        data = os.path.join(closed, "data")
        shutil.move(self.data, data)
        give_away(data)
        for command in (("snapshot", "status"), ("hashkv",), ("dump",)):
            self.succeed(*command, data)
        for command in (("verify",), ("defrag",), ("release",), ("migrate", "--target-version", "3.6"), ("defrag",),
                        ("release", "--drop-old"), ("adopt",), ("verify",)):
            told = self.succeed(*command, "--data-dir", data)
            self.assertNotIn("/proc", told)
            self.is_owners(data)
        os.mkdir(os.path.join(closed, "restored"))
        give_away(os.path.join(closed, "restored"))
        for name in ("restored", "restored/in/it"):
            self.succeed("snapshot", "restore", data + "/member/snap/db", "--skip-hash-check", "--data-dir",
                         os.path.join(closed, name))
            self.is_owners(os.path.join(closed, "restored"))
            shutil.rmtree(os.path.join(closed, "restored", "member"), ignore_errors=True)

    def test_looking_needs_no_right_to_write(self):
        """As another user, who could run the tool nowhere but in a folder that is open to all."""
        tool = self.path("kvorumutl")
        shutil.copy(UTL, tool)
        for kind in ("kvorum", "etcd"):
            if kind == "etcd":
                self.release()
            pathlib.Path(self.snap, "db-lock").unlink(missing_ok=True)
            for path in everything_in(self.data):
                os.chmod(path, 0o555 if os.path.isdir(path) else 0o444)
            before = {path: os.lstat(path) for path in everything_in(self.data)}
            for command in (("verify", "--data-dir"), ("snapshot", "status"), ("hashkv",), ("dump",)):
                for path in (self.data, self.snap + "/db"):
                    if command[0] == "verify" and path != self.data:
                        continue
                    done = subprocess.run([tool, *command, path], capture_output=True, text=True, timeout=60, check=False,
                                          user=OWNER[0], group=OWNER[1], extra_groups=[])
                    self.assertEqual(done.returncode, 0, (kind, command, path, done.stderr))
            after = {path: os.lstat(path) for path in everything_in(self.data)}
            self.assertEqual({path: (told.st_size, told.st_mtime_ns) for path, told in before.items()},
                             {path: (told.st_size, told.st_mtime_ns) for path, told in after.items()})

    def test_a_file_that_the_owner_may_not_open_is_told(self):
        give_away(self.data)
        os.chown(self.snap + "/db", *ROOT)
        done = run("defrag", "--data-dir", self.data)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{self.snap}/db", done.stderr)
        self.assertIn("Permission denied; root works there with the rights of user 12345, the owner", done.stderr)
        self.assertEqual(owner_of(self.snap + "/db"), ROOT)


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("SKIPPED: not root")
        sys.exit(0)
    unittest.main()

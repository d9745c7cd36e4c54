#!/usr/bin/env python3
"""kvorumctl mirror against real servers, kvorum and the etcd of $KVORUM_PEER_DIR: a folder that is equal to the store,
also after a kill, and in which nothing else is touched."""

import contextlib
import os
import pathlib
import random
import signal
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "process"))

import ctl  # noqa: E402
from long_run import LongRun, OnEtcd, OnKvorum, Store, wait_until  # noqa: E402
from real_server_test import ETCD, KVORUM, Cluster  # noqa: E402

ROUNDS = int(os.environ.get("KVORUM_ROUNDS", "3"))


class MirrorTest:
    """The tests; its heirs give the endpoint of a server, which all share."""

    def setUp(self):
        store = Store(self.endpoint)
        store.clear()
        self.put, self.delete = store.put, store.delete
        root = tempfile.TemporaryDirectory(prefix="kvorum-mirror-")
        self.addCleanup(root.cleanup)
        self.root = pathlib.Path(root.name)
        self.folder = self.root / "mirror"

    def start(self, *arguments, prefix="/a/"):
        running = LongRun(self.endpoint, "mirror", prefix, str(self.folder), *arguments)
        self.addCleanup(lambda: running.process.poll() is None and running.end(signal.SIGKILL))
        return running

    def paths(self):
        """Of all but the mirror's own folder, which changes while it is looked at."""
        for folder, folders, files in os.walk(self.folder):  # passes over what has just gone
            folders[:] = [name for name in folders if name != ".kvorum-mirror"]
            yield from (pathlib.Path(folder, name) for name in folders + files)

    def files(self):
        """{path: content}"""
        found = {}
        for path in self.paths():
            # Something else may have come in its place, or nothing.
            with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
                found[str(path.relative_to(self.folder))] = path.read_bytes()
        return found

    def folders(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.paths() if path.is_dir())

    def wait_for(self, files):
        wait_until(lambda: self.files() == files, f"files {sorted(files)}")

    def test_keys_are_files_and_changes_follow(self):
        self.put(b"/a/1", b"one")
        self.put(b"/a/deep/er/2", b"two")
        self.put(b"/b", b"elsewhere")
        running = self.start()
        synced = running.wait_for("synced")
        self.assertEqual((synced["files"], synced["skipped"]), (2, 0))
        self.assertEqual(self.files(), {"1": b"one", "deep/er/2": b"two"})
        big = random.Random(1).randbytes(1_400_000)
        self.put(b"/a/big", big)
        self.put(b"/a/1", b"\x00\xff\n")
        self.put(b"/a/empty", b"")
        self.delete(b"/a/deep/er/2")
        self.wait_for({"1": b"\x00\xff\n", "big": big, "empty": b""})
        wait_until(lambda: self.folders() == [], "empty folders to go")
        self.assertEqual(running.end(), (0, ""))
        self.assertEqual(self.files()["big"], big)  # what there is stays

    def test_a_prefix_is_a_folder_also_without_its_slash(self):
        self.put(b"/a/1", b"one")
        self.put(b"/ab", b"another")
        running = self.start(prefix="/a")
        running.wait_for("synced")
        self.assertEqual(self.files(), {"1": b"one"})
        self.assertEqual(running.end(), (0, ""))

    def test_hostile_keys_are_named_and_lead_nowhere(self):
        outside = self.root / "outside"
        outside.write_text("precious")
        bad = {b"/a/../outside": "it has the part '..'",
               b"/a/x/../../outside": "it has the part '..'",
               b"/a/.": "it has the part '.'",
               b"/a//etc": "it has an empty part",
               b"/a/folder/": "it has an empty part",
               b"/a/": "it is the prefix itself",
               b"/a/zero\x00byte": "it has a zero byte",
               b"/a/" + b"n" * 256: "it has a part of more than 255 bytes",
               b"/a/" + b"n/" * 2000 + b"n": "it has more than 3072 bytes",
               b"/a/.kvorum-mirror/files": "it has the name of the mirror's own folder, .kvorum-mirror"}
        for key in bad:
            self.put(key, b"bad")
        self.put(b"/a/good", b"good")
        self.put(b"/a/\xff\n", b"odd")
        running = self.start()
        synced = running.wait_for("synced")
        self.assertEqual((synced["files"], synced["skipped"]), (2, len(bad)))
        warnings = [event["error"] for event in running.told if event["event"] == "error"]
        self.assertEqual(sorted(warning.split(" has no file: ")[1] for warning in warnings), sorted(bad.values()))
        names = {os.fsencode(path.name) for path in self.folder.iterdir()}
        self.assertEqual(names, {b".kvorum-mirror", b"good", b"\xff\n"})
        self.assertEqual(outside.read_text(), "precious")
        for key in bad:  # the rest goes on
            self.put(key, b"worse")
            self.delete(key)
        self.put(b"/a/good", b"better")
        running.wait_for("written", path="good")
        self.assertEqual([event for event in running.told if event["event"] == "error"][len(bad):], [])
        self.assertEqual(running.end(), (0, ""))

    def test_a_key_with_keys_below_it_has_a_file_while_it_has_none(self):
        self.put(b"/a/k", b"one")
        running = self.start()
        running.wait_for("synced")
        self.put(b"/a/k/below", b"two")
        self.wait_for({"k/below": b"two"})
        self.assertEqual(running.wait_for("error")["error"], "key /a/k has no file: it has keys below it")
        self.put(b"/a/k", b"three")
        self.put(b"/a/other")
        self.wait_for({"k/below": b"two", "other": b"x"})
        self.delete(b"/a/k/below")
        self.wait_for({"k": b"three", "other": b"x"})
        running.end(signal.SIGKILL)
        # And the other way round while nobody looks.
        self.put(b"/a/k/below", b"four")
        running = self.start()
        running.wait_for("synced")
        self.assertEqual(self.files(), {"k/below": b"four", "other": b"x"})
        running.end(signal.SIGKILL)
        self.delete(b"/a/k/below")
        running = self.start()
        running.wait_for("synced")
        self.assertEqual(self.files(), {"k": b"three", "other": b"x"})
        self.assertEqual(running.end(), (0, ""))

    def test_no_symbolic_link_is_followed(self):
        outside = self.root / "outside"
        outside.mkdir()
        self.folder.mkdir()
        (self.folder / "link").symlink_to(outside)
        self.put(b"/a/link/file", b"bad")
        self.put(b"/a/good", b"good")
        running = self.start()
        self.assertEqual(running.wait_for("error")["error"], "link/file: link is in the way")
        running.wait_for("synced")
        self.assertEqual(list(outside.iterdir()), [])
        self.assertEqual((self.folder / "good").read_text(), "good")
        (self.folder / "link").unlink()
        self.wait_for({"good": b"good", "link/file": b"bad"})  # tried again
        self.assertEqual(running.end(), (0, ""))

    def test_after_a_restart_it_is_equal_again_and_what_is_equal_is_not_touched(self):
        for key in (b"same", b"changed", b"gone", b"scribbled", b"lost", b"x/y/gone"):
            self.put(b"/a/" + key, key)
        running = self.start()
        running.wait_for("synced")
        running.end(signal.SIGKILL)
        (self.folder / "foreign").write_text("mine")
        (self.folder / "x/y/foreign").write_text("mine")
        (self.folder / "scribbled").write_text("scribble!")
        (self.folder / "lost").unlink()
        before = os.stat(self.folder / "same")
        self.put(b"/a/changed", b"new")
        self.put(b"/a/added", b"added")
        self.delete(b"/a/gone")
        self.delete(b"/a/x/y/gone")
        running = self.start()
        synced = running.wait_for("synced")
        self.assertEqual(synced["files"], 5)
        self.assertEqual(self.files(), {
            "same": b"same", "changed": b"new", "added": b"added", "scribbled": b"scribbled", "lost": b"lost",
            "foreign": b"mine", "x/y/foreign": b"mine"})
        after = os.stat(self.folder / "same")
        self.assertEqual((before.st_ino, before.st_mtime_ns), (after.st_ino, after.st_mtime_ns))
        told = sorted((event["event"], event["path"]) for event in running.told if "path" in event)
        self.assertEqual(told, [("removed", "gone"), ("removed", "x/y/gone"), ("written", "added"),
                                ("written", "changed"), ("written", "lost"), ("written", "scribbled")])
        self.assertEqual(running.end(), (0, ""))

    def test_killed_again_and_again_it_ends_equal_and_no_file_is_ever_half(self):
        chance = random.Random(5)
        truth = {}
        for _ in range(ROUNDS):
            running = self.start()
            for _ in range(60):
                path = f"{chance.randrange(4)}/{chance.randrange(15)}"
                if path in truth and chance.random() < 0.3:
                    self.delete(b"/a/" + path.encode())
                    del truth[path]
                else:
                    truth[path] = bytes([chance.randrange(256)]) * chance.choice((1, 100, 100_000))
                    self.put(b"/a/" + path.encode(), truth[path])
                for content in self.files().values():
                    self.assertEqual(len(set(content)), 1)
                    self.assertIn(len(content), (1, 100, 100_000))
            running.end(signal.SIGKILL)
        running = self.start()
        running.wait_for("synced")
        self.assertEqual(self.files(), truth)
        self.assertEqual(running.end(), (0, ""))

    def test_a_program_runs_once_after_a_batch(self):
        for i in range(250):  # more than a page of the list
            self.put(b"/a/%d" % i)
        log, gate = self.root / "log", self.root / "gate"
        running = self.start("--exec", f'echo "$KVORUM_MIRROR $(ls $KVORUM_MIRROR | wc -l)" >>{log}; echo out; '
                             f'while test ! -e {gate}; do sleep 0.02; done; test "$(ls $KVORUM_MIRROR | wc -l)" != 259')
        wait_until(log.exists, "first run")
        for i in range(10):
            self.delete(b"/a/%d" % i)
        for i in range(20):
            self.put(b"/a/new%d" % i)
        running.wait_for("written", path="new19")
        gate.touch()
        wait_until(lambda: len(log.read_text().splitlines()) == 2, "second run")
        self.assertEqual(log.read_text(), f"{self.folder} 250\n{self.folder} 260\n")
        self.delete(b"/a/249")
        self.assertEqual(running.wait_for("error")["error"], f"{self.folder}: --exec: exit status 1")
        self.delete(b"/a/248")
        wait_until(lambda: log.read_text().splitlines()[-1].endswith(" 258"), "run after the failure")
        self.assertEqual(running.end()[0], 0)
        running = self.start("--exec", f"echo again >>{log}")
        running.wait_for("synced")
        self.put(b"/a/248")
        wait_until(lambda: "again" in log.read_text(), "run")
        self.assertEqual(log.read_text().count("again"), 1)  # none for the start, which changed nothing
        self.assertEqual(running.end(), (0, ""))

    def test_a_program_that_failed_is_run_again_also_by_the_next_start(self):
        ready, applied = self.root / "ready", self.root / "applied"
        command = f"test -e {ready} && cp {self.folder}/x {applied}"

        def shows(value):
            return lambda: applied.exists() and applied.read_text() == value
        running = self.start("--exec", command)
        self.put(b"/a/x", b"1")
        running.wait_for("error", error=f"{self.folder}: --exec: exit status 1")
        ready.touch()
        wait_until(shows("1"), "run again after the failure")
        for end in (signal.SIGTERM, signal.SIGKILL):
            value = f"ended by {end}"
            ready.unlink()
            self.put(b"/a/x", value.encode())
            running.wait_for("error", error=f"{self.folder}: --exec: exit status 1")
            running.end(end)
            ready.touch()
            running = self.start("--exec", command)
            wait_until(shows(value), "run by the next start")
        self.assertEqual(running.end()[0], 0)

    def test_the_programs_runs_are_counted(self):
        ready = self.root / "ready"
        running = self.start("--metrics-address", "127.0.0.1:0", "--exec", f"test -e {ready}")
        address = running.wait_for("metrics")["address"]

        def metrics():
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as page:
                lines = page.read().decode().splitlines()
            return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}
        ok, failed, waiting = 'kvsync_exec_runs_total{result="ok"}', 'kvsync_exec_runs_total{result="error"}', "kvsync_exec_waiting"
        running.wait_for("synced")
        self.put(b"/a/x", b"1")
        wait_until(lambda: metrics().get(failed, 0) >= 1, "the failure to be counted")
        wait_until(lambda: metrics()[waiting] == 1, "the change that waits")
        self.assertEqual(metrics().get(ok, 0), 0)
        ready.touch()
        wait_until(lambda: metrics()[ok] == 1, "the success to be counted")
        self.assertEqual(metrics()[waiting], 0)
        failures = metrics()[failed]
        self.put(b"/a/x", b"2")
        wait_until(lambda: metrics()[ok] == 2, "another success")
        self.assertEqual((metrics()[failed], metrics()[waiting]), (failures, 0))
        self.assertEqual(running.end()[0], 0)

    def test_later_signals_do_not_break_a_program_off_that_ends_in_its_time(self):
        log = self.root / "log"
        running = self.start("--exec", f"trap '' TERM; echo begun >>{log}; sleep 4; echo ended >>{log}")
        running.wait_for("synced")
        self.put(b"/a/x")
        wait_until(log.exists, "begin of the run")
        for number in (signal.SIGTERM, signal.SIGINT):
            running.process.send_signal(number)
            time.sleep(1.5)
        self.assertEqual(running.wait(), (0, ""))
        self.assertEqual(log.read_text(), "begun\nended\n")

    def test_it_goes_on_after_the_server_was_killed(self):
        cluster = Cluster(self.binary, 1)
        self.addCleanup(cluster.close)
        running = LongRun(cluster.endpoints, "mirror", "/a/", str(self.folder))
        self.addCleanup(lambda: running.process.poll() is None and running.end(signal.SIGKILL))
        cluster.put(b"/a/before")
        running.wait_for("written", path="before")
        cluster.nodes[0].kill()
        cluster.nodes[0].start()
        cluster.put(b"/a/after")
        running.wait_for("written", path="after")
        self.assertEqual(self.files(), {"before": b"x", "after": b"x"})
        self.assertEqual(len([event for event in running.told if event["event"] == "synced"]), 1)
        self.assertEqual(running.end()[0], 0)

    def test_a_folder_has_one_mirror_and_one_prefix(self):
        running = self.start()
        running.wait_for("synced")
        done = ctl.run(self.endpoint, "mirror", "/a/", self.folder)
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"Error: {self.folder}: another mirror has this folder\n"))
        self.assertEqual(running.end(), (0, ""))
        done = ctl.run(self.endpoint, "mirror", "/b/", self.folder)
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"Error: {self.folder}: this folder mirrors another prefix\n"))
        for arguments, code in ((["/a/"], 128), (["/a/", "/proc/none"], 1), (["/a/", "x", "-w", "table"], 4)):
            self.assertEqual(ctl.run(self.endpoint, "mirror", *arguments).returncode, code)


class MirrorOnKvorumTest(OnKvorum, MirrorTest, unittest.TestCase):
    binary = KVORUM


class MirrorOnEtcdTest(OnEtcd, MirrorTest, unittest.TestCase):
    binary = ETCD


if __name__ == "__main__":
    unittest.main()

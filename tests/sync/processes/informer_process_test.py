#!/usr/bin/env python3
"""kvorumctl informer against real servers, kvorum and the etcd of $KVORUM_PEER_DIR: what it tells, what it answers at its
socket, and what it runs."""

import base64
import contextlib
import json
import os
import pathlib
import pty
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "process"))

import ctl  # noqa: E402
from long_run import LongRun, OnEtcd, OnKvorum, Store, wait_until  # noqa: E402


class InformerTest:
    """The tests; its heirs give the endpoint of a server, which all share."""

    def setUp(self):
        self.store = Store(self.endpoint)
        self.store.clear()
        folder = tempfile.TemporaryDirectory(prefix="kvorum-informer-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.socket = str(self.folder / "socket")

    def start(self, *arguments, **more):
        running = LongRun(self.endpoint, "informer", "run", "/a/", "--socket", self.socket, *arguments, **more)
        self.addCleanup(lambda: running.process.poll() is None and running.end(signal.SIGKILL))
        return running

    def put(self, key, value):
        self.store.put(key.encode(), value.encode())

    def delete(self, key):
        self.store.delete(key.encode())

    def ask(self, *arguments):
        return ctl.run(self.endpoint, "informer", *arguments, "--socket", self.socket)

    def test_it_tells_what_there_is_and_every_change(self):
        self.put("/a/1", "one")
        self.put("/b/1", "elsewhere")
        running = self.start()
        self.assertEqual(running.wait_for("add")["initial"], True)
        self.assertEqual(running.wait_for("synced")["objects"], 1)
        self.put("/a/2", "two")
        added = running.next_event()
        self.assertEqual((added["event"], added["key"], added["value"]), ("add", "/a/2", "two"))
        self.assertNotIn("initial", added)
        self.put("/a/1", "new")
        changed = running.next_event()
        self.assertEqual((changed["event"], changed["key"], changed["value"]), ("update", "/a/1", "new"))
        self.assertEqual(changed["mod_revision"], added["mod_revision"] + 1)
        self.delete("/a/1")
        gone = running.next_event()
        self.assertEqual((gone["event"], gone["key"], gone["value"]), ("delete", "/a/1", "new"))
        self.assertEqual(running.end(), (0, ""))
        self.assertFalse(os.path.exists(self.socket))

    def test_resync_tells_every_object_again(self):
        self.put("/a/1", "one")
        running = self.start("--resync", "1s")
        running.wait_for("synced")
        self.assertEqual(running.next_event()["event"], "resync")
        self.assertEqual(running.wait_for("resync")["value"], "one")
        self.assertEqual(running.end(signal.SIGINT), (0, ""))

    def test_list_finds_by_indexes_and_values_that_are_no_json_are_in_none(self):
        self.put("/a/1", '{"zone":"eu","tags":["x","y"]}')
        self.put("/a/2", '{"zone":"us","tags":["y"]}')
        self.put("/a/3", "rubbish")
        self.put("/a/4", '{"zone":"eu"')
        running = self.start("--index", "zone=/zone", "--index", "tag=/tags")
        running.wait_for("synced")
        keys = ("list", "--keys-only")
        self.assertEqual(self.ask(*keys).stdout, "/a/1\n/a/2\n/a/3\n/a/4\n")
        self.assertEqual(self.ask(*keys, "--by", "zone=eu").stdout, "/a/1\n")
        self.assertEqual(self.ask(*keys, "--by", "tag=y").stdout, "/a/1\n/a/2\n")
        self.assertEqual(self.ask(*keys, "--by", "tag=").stdout, "")
        self.put("/a/3", '{"zone":"eu"}')
        self.put("/a/1", "{}")
        running.wait_for("update", key="/a/1")
        self.assertEqual(self.ask("list", "--by", "zone=eu").stdout, '/a/3\n{"zone":"eu"}\n')
        listed = json.loads(self.ask("list", "--by", "zone=eu", "-w", "json").stdout)
        self.assertEqual((listed["key"], listed["version"], listed["lease"]), ("/a/3", 2, 0))
        self.assertEqual(self.ask(*keys, "--by", "tag=x").stdout, "")
        done = self.ask("list", "--by", "other=x")
        self.assertEqual((done.returncode, done.stderr), (1, "Error: there is no index of the name other\n"))
        self.assertEqual(running.end(), (0, ""))

    def test_get_is_the_copys_and_with_consistent_no_older_than_a_put_before(self):
        running = self.start()
        running.wait_for("synced")
        for i in range(10):
            self.put("/a/1", str(i))
            self.assertEqual(self.ask("get", "/a/1", "--consistent").stdout, f"/a/1\n{i}\n")
        self.assertEqual(self.ask("get", "/a/1").stdout, "/a/1\n9\n")
        self.assertEqual(json.loads(self.ask("get", "/a/1", "-w", "json").stdout)["version"], 10)
        done = self.ask("get", "/a/none")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        done = self.ask("get", "/b/1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not begin with the informer's prefix /a/", done.stderr)
        self.assertEqual(json.loads(self.ask("status", "-w", "json").stdout)["objects"], 1)
        self.assertEqual(running.end(), (0, ""))

    def test_bytes_that_are_no_text_come_in_base64(self):
        key, value = b"/a/\xff\x00", b"\xfe" * 10 + b"\n"
        self.store.put(key, value)
        running = self.start()
        added = running.wait_for("add")
        self.assertEqual(base64.b64decode(added["key_base64"]), key)
        self.assertEqual(base64.b64decode(added["value_base64"]), value)
        listed = json.loads(self.ask("list", "-w", "json").stdout)
        self.assertEqual(base64.b64decode(listed["key_base64"]), key)
        self.assertEqual(running.end(), (0, ""))

    def test_a_program_runs_for_each_change_and_a_failure_stops_nothing(self):
        self.put("/a/1", "one")
        log = self.folder / "log"
        running = self.start(
            "--exec", f'echo "$KVORUM_EVENT $KVORUM_KEY $KVORUM_MOD_REVISION $(cat)" >>{log}; echo out; '
            'test "$KVORUM_KEY" != /a/2')
        wait_until(lambda: log.exists() and len(log.read_text().splitlines()) == 1, "first run")
        self.put("/a/2", "two")
        self.assertEqual(running.wait_for("error")["error"], "/a/2: --exec: exit status 1")
        self.delete("/a/1")

        def runs():
            return [line.split()[:2] + line.split()[3:] for line in log.read_text().splitlines()]
        wait_until(lambda: ["delete", "/a/1", "one"] in runs(), "run for the deletion")
        wait_until(lambda: runs().count(["add", "/a/2", "two"]) >= 2, "the failed run again")
        self.assertEqual([run for run in runs() if run[1] == "/a/1"], [["add", "/a/1", "one"], ["delete", "/a/1", "one"]])
        self.assertEqual(running.end()[0], 0)

    def test_what_the_program_makes_ends_as_the_keys_are(self):
        made, ready = self.folder / "made", self.folder / "ready"
        made.mkdir()
        ready.touch()
        running = self.start(
            "--exec", f'test -e {ready} || exit 1; n={made}/$(basename "$KVORUM_KEY"); '
            'if test "$KVORUM_EVENT" = delete; then rm -f "$n"; else cat >"$n"; fi')
        self.put("/a/changed", "1")
        self.put("/a/deleted", "1")

        def files():
            found = {}
            for path in made.iterdir():
                with contextlib.suppress(FileNotFoundError):  # the program removes files meanwhile
                    found[path.name] = path.read_text()
            return found
        wait_until(lambda: files() == {"changed": "1", "deleted": "1"}, "first files")
        ready.unlink()
        self.put("/a/changed", "2")
        self.delete("/a/deleted")
        self.put("/a/came", "1")
        for key in ("changed", "deleted", "came"):
            running.wait_for("error", error=f"/a/{key}: --exec: exit status 1")
        self.delete("/a/came")
        ready.touch()
        wait_until(lambda: files() == {"changed": "2"}, "files that are as the keys")
        self.assertEqual(running.end()[0], 0)

    def test_deletions_are_remembered_over_restarts_and_runs_are_counted(self):
        made, ready, state = self.folder / "made", self.folder / "ready", self.folder / "state"
        made.mkdir()
        ready.touch()
        flags = ("--metrics-address", "127.0.0.1:0", "--state", state, "--exec",
                 f'test -e {ready} || exit 1; n={made}/$(basename "$KVORUM_KEY"); '
                 'if test "$KVORUM_EVENT" = delete; then rm "$n"; else cat >"$n"; fi')

        def files():
            return sorted(path.name for path in made.iterdir())

        def metric(line):
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as page:
                return line in page.read().decode().splitlines()
        running = self.start(*flags)
        address = running.wait_for("metrics")["address"]
        for key in ("stays", "fails", "while-down"):
            self.put(f"/a/{key}", "1")
        wait_until(lambda: files() == ["fails", "stays", "while-down"], "first files")
        wait_until(lambda: metric('kvsync_exec_runs_total{result="ok"} 3'), "the runs to be counted")
        self.assertTrue(metric("kvsync_exec_waiting 0"))
        ready.unlink()
        self.delete("/a/fails")
        running.wait_for("error", error="/a/fails: --exec: exit status 1")
        wait_until(lambda: metric('kvsync_exec_runs_total{result="error"} 1'), "the failure to be counted")
        running.end(signal.SIGKILL)
        self.delete("/a/while-down")
        ready.touch()
        running = self.start(*flags)
        wait_until(lambda: files() == ["stays"], "the deletions to be run")
        self.assertEqual(running.end()[0], 0)
        self.assertEqual(self.start("--state", state).wait()[0], 128)

    def test_a_key_that_changes_while_the_program_runs_is_run_once_with_its_newest_value(self):
        log, gate = self.folder / "log", self.folder / "gate"
        running = self.start("--exec", f'echo "$KVORUM_KEY $(cat)" >>{log}; while test ! -e {gate}; do sleep 0.02; done')
        running.wait_for("synced")
        self.put("/a/first", "1")
        wait_until(log.exists, "first run")
        for i in range(30):
            self.put(f"/a/{i % 3}", str(i))
        self.put("/a/came", "x")
        self.delete("/a/came")
        running.wait_for("delete", key="/a/came")
        gate.touch()
        wait_until(lambda: len(log.read_text().splitlines()) == 4, "fourth run")
        self.put("/a/last", "1")
        wait_until(lambda: "last" in log.read_text(), "last run")
        self.assertEqual(log.read_text().splitlines(), ["/a/first 1", "/a/0 27", "/a/1 28", "/a/2 29", "/a/last 1"])
        self.assertEqual(running.end(), (0, ""))

    def test_a_program_that_hangs_does_not_hold_up_the_end(self):
        self.put("/a/1", "one")
        log = self.folder / "log"
        running = self.start("--exec", f"touch {log}; sleep 1000")
        wait_until(log.exists, "run")
        self.assertEqual(running.end(), (0, ""))

    def test_a_reader_that_stops_does_not_hold_up_the_end(self):
        self.put("/a/1", "x" * 300_000)  # more than a pipe holds
        running = self.start(events=False)
        wait_until(lambda: self.ask("status").stdout.startswith("prefix\t/a/\nlisted\ttrue"), "list")
        self.assertEqual(running.end()[0], 0)

    def test_bad_clients_of_its_socket_change_nothing(self):
        self.put("/a/1", "x" * 1_000_000)
        running = self.start()
        running.wait_for("synced")
        clients = []
        for request in (b'{"command":"list"}\n' * 100, b"\x00\xff\n" * 100, b"[" * 100_000, b""):
            client = socket.socket(socket.AF_UNIX)
            self.addCleanup(client.close)
            client.connect(self.socket)
            client.sendall(request)
            clients.append(client)  # and reads nothing
        self.put("/a/2", "two")
        running.wait_for("add", key="/a/2")
        self.assertEqual(self.ask("list", "--keys-only").stdout, "/a/1\n/a/2\n")
        self.assertEqual(running.end(), (0, ""))

    def test_the_socket_of_a_dead_informer_is_taken_over_and_that_of_a_live_one_is_not(self):
        first = self.start()
        first.wait_for("synced")
        second = self.start()
        code, said = second.end(0)
        self.assertEqual(code, 1)
        self.assertIn(self.socket, said)
        first.end(signal.SIGKILL)
        self.assertTrue(os.path.exists(self.socket))
        done = self.ask("list")
        self.assertEqual((done.returncode, done.stderr), (2, f"Error: {self.socket}: no process listens there\n"))
        third = self.start()
        third.wait_for("synced")
        self.assertEqual(self.ask("list").returncode, 0)
        self.assertEqual(third.end(), (0, ""))
        self.assertEqual(self.ask("list").returncode, 2)

    def test_metrics_are_served(self):
        self.put("/a/1", "one")
        running = self.start("--metrics-address", "127.0.0.1:0")
        address = running.wait_for("metrics")["address"]
        running.wait_for("synced")
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
            page = answer.read().decode()
        self.assertIn("\nkvsync_informer_objects 1\n", page)
        self.assertIn("\nkvsync_source_relists_total{reason=\"start\"} 1\n", page)
        self.assertEqual(running.end(), (0, ""))

    def test_on_a_terminal_one_line_shows_how_it_is(self):
        self.put("/a/1", "one")
        ours, theirs = pty.openpty()
        running = subprocess.Popen(
            [ctl.CTL, "--endpoints", self.endpoint, "informer", "run", "/a/"], stdout=subprocess.DEVNULL,
            stderr=theirs, stdin=subprocess.DEVNULL)
        os.close(theirs)
        shown = b""
        while b"objects at revision" not in shown:
            shown += os.read(ours, 4096)
        running.terminate()
        self.assertEqual(running.wait(timeout=30), 0)
        try:
            while more := os.read(ours, 4096):
                shown += more
        except OSError:  # the terminal's other side is closed
            pass
        os.close(ours)
        self.assertRegex(shown.decode(), r"\r/a/: 1 objects at revision \d+, 1 changes\x1b\[K")
        self.assertTrue(shown.endswith(b"\r\n"))

    def test_what_is_wrong_with_a_line_is_named(self):
        for arguments, code, why in (
                (["run"], 128, "informer run takes one prefix"),
                (["run", "/a/", "--index", "zone"], 128, '--index "zone" is not NAME=POINTER'),
                (["run", "/a/", "--index", "zone=x"], 128, "is not a JSON pointer"),
                (["run", "/a/", "--index", "z=/a", "--index", "z=/b"], 128, '--index has the name "z" twice'),
                (["run", "/a/", "--resync", "-1s"], 128, "--resync is below zero"),
                (["run", "/a/", "--metrics-address", "nowhere"], 128, '--metrics-address "nowhere" is not HOST:PORT'),
                (["run", "/a/", "-w", "fields"], 4, "fields not supported as output format"),
                (["run", "/a/", "--socket", "/no/such/folder/s"], 1, "/no/such/folder/s"),
                (["get", "--socket", "s"], 128, "informer get takes one key"),
                (["list", "--by", "zone", "--socket", "s"], 128, "--by is not name=value: zone"),
                (["list"], 1, 'required flag(s) "socket" not set')):
            done = ctl.run(self.endpoint, "informer", *arguments)
            self.assertEqual(done.returncode, code, (arguments, done.stderr))
            self.assertIn(why, done.stderr)


class InformerOnKvorumTest(OnKvorum, InformerTest, unittest.TestCase):
    pass


class InformerOnEtcdTest(OnEtcd, InformerTest, unittest.TestCase):
    pass


if __name__ == "__main__":
    unittest.main()

"""kvorumctl top: redrawn on a terminal, lines without one, a clean end; and the colours of other commands."""

import base64
import json
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import ctl  # noqa: E402
import server  # noqa: E402
from cluster import Cluster  # noqa: E402

ENTER, LEAVE = b"\x1b[?1049h\x1b[?25l", b"\x1b[?25h\x1b[?1049l"


class Writer:
    """Puts keys below /hot/ until the end of the with."""

    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        import grpc  # pylint: disable=import-outside-toplevel
        with grpc.insecure_channel(self.endpoint, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
            stub = server.kv(channel)
            number = 0
            while not self.ending.is_set():
                server.put(stub, b"/hot/spot/%d" % (number % 100), b"v")
                number += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()


def run_on_terminal(arguments, wanted, environment=None, timeout=60):
    """Everything that it draws on a terminal of its own until `wanted` is among it, and the process; SIGINT is up to
    the caller."""
    terminal, side = pty.openpty()
    process = subprocess.Popen([ctl.CTL, *arguments], stdin=side, stdout=side, stderr=side,
                               env={"PATH": os.environ["PATH"], "TERM": "xterm", **(environment or {})})
    os.close(side)
    text = b""
    end = time.monotonic() + timeout
    while not wanted(text):
        ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
        assert ready, f"waited in vain, there was: {text[-2000:]}"
        text += os.read(terminal, 65536)
    return terminal, process, text


def rest_of(terminal):
    text = b""
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # its other side is closed
            break
        if not chunk:
            break
        text += chunk
    os.close(terminal)
    return text


class TopTest(unittest.TestCase):
    def frame(self, endpoints, *arguments):
        lines = ctl.succeed(endpoints, "top", "--once", "-w", "json", "--interval", "2s", *arguments).splitlines()
        self.assertEqual(len(lines), 1)
        return json.loads(lines[0])

    def check_hot(self, endpoint):
        with Writer(endpoint):
            frame = self.frame(endpoint)
        self.assertEqual(base64.b64decode(frame["hot"][0]["prefix"]), b"/hot/spot/")
        self.assertEqual(frame["hot"][0]["share"], 1)
        member = frame["members"][0]
        self.assertEqual(member["role"], "leader")
        self.assertGreater(member["writes_per_s"], 0)
        self.assertGreater(member["sync_p99_s"], 0)
        self.assertGreater(frame["revisions_per_s"], 0)

    def test_rates_and_hot_prefixes(self):
        with server.Server().start() as node:
            self.check_hot(node.endpoint)
            self.assertEqual(self.frame(node.endpoint, "--hot", "0")["hot"], [])

    def test_the_packaged_etcd(self):
        if not ctl.etcd_is_here():
            self.skipTest("no packaged etcd here")
        with ctl.Etcd() as etcd:
            self.check_hot(etcd.endpoint)

    def test_a_cluster_with_a_member_down(self):
        with Cluster(3).start() as cluster:
            leader = cluster.leader()
            frame = self.frame(leader.endpoint)
            self.assertEqual(frame["leader"], leader.name)
            self.assertEqual(sorted(member["role"] for member in frame["members"]), ["follower", "follower", "leader"])
            down = cluster.followers()[0]
            down.kill()
            frame = self.frame(leader.endpoint)
            self.assertEqual([m["name"] for m in frame["members"] if m["role"] == "down"], [down.name])
            text = ctl.succeed(leader.endpoint, "top", "--once", "--interval", "2s")
            self.assertIn(f"leader {leader.name}", text)
            self.assertIn(f"\n{down.name}: ", text)

    def test_without_a_terminal_each_member_has_a_line(self):
        with server.Server().start() as node:
            for ending in (signal.SIGINT, signal.SIGTERM):
                with subprocess.Popen([ctl.CTL, "--endpoints", node.endpoint, "top", "--interval", "200ms"],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
                    lines = [running.stdout.readline() for _ in range(3)]
                    running.send_signal(ending)
                    rest, errors = running.communicate(timeout=30)
                self.assertEqual((running.returncode, errors), (0, b""))
                for line in lines:
                    self.assertRegex(line, rb"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ default role=leader term=\d+ revision=\d+ ")
                self.assertNotIn(b"\x1b", b"".join(lines) + rest)

    def test_on_a_terminal_it_is_redrawn_and_leaves_the_screen_as_it_was(self):
        with server.Server().start() as node:
            for ending in (signal.SIGINT, signal.SIGTERM):
                terminal, process, text = run_on_terminal(
                    ["--endpoints", node.endpoint, "top", "--interval", "200ms"], lambda t: t.count(b"\x1b[H") >= 3)
                process.send_signal(ending)
                self.assertEqual(process.wait(30), 0)
                text += rest_of(terminal)
                self.assertTrue(text.startswith(ENTER), text[:100])
                self.assertTrue(text.endswith(LEAVE), text[-100:])
                self.assertIn(b"MEMBER", text)
                self.assertIn(b"\x1b[1mcluster ", text, "in colours")

    def test_who_wants_no_colours_gets_none(self):
        with server.Server().start() as node:
            for arguments, environment in ((["--no-color"], {}), ([], {"NO_COLOR": "1"})):
                terminal, process, text = run_on_terminal(
                    ["--endpoints", node.endpoint, "top", "--interval", "200ms", *arguments],
                    lambda t: b"MEMBER" in t, environment)
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(30), 0)
                self.assertNotIn(b"m", [text[at + 2:at + 4][-1:] for at in range(len(text)) if text[at:at + 2] == b"\x1b["
                                        and text[at + 2:at + 3].isdigit()])
                rest_of(terminal)

    def test_nobody_there(self):
        done = ctl.run("127.0.0.1:1", "top", "--once", "--interval", "1s")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no member answers", done.stderr)


class TerminalTest(unittest.TestCase):
    """What other commands do on a terminal and not elsewhere."""

    def on_terminal(self, *arguments, environment=None):
        terminal, process, text = run_on_terminal(arguments, lambda _: True, environment)
        text += rest_of(terminal)
        return process.wait(30), text

    def test_colours_columns_and_progress(self):
        with server.Server().start() as node:
            at = ["--endpoints", node.endpoint]
            ctl.succeed(node.endpoint, "put", "a", "1")
            code, text = self.on_terminal(*at, "diff", "--rev", "1")
            self.assertEqual(code, 1)
            self.assertIn(b"\x1b[32m+ a\x1b[0m\r\n", text)
            _, text = self.on_terminal(*at, "diff", "--rev", "1", environment={"NO_COLOR": "1"})
            self.assertIn(b"+ a\r\n", text)
            self.assertNotIn(b"\x1b", text)
            _, text = self.on_terminal(*at, "du")
            self.assertIn(b"2 B            1  (top)\r\n", text)
            self.assertIn(b"100% 1 of 1 keys", text)
            _, text = self.on_terminal(*at, "doctor")
            self.assertIn("│ MEMBER".encode(), text)
            # Commands that etcdctl has print the same everywhere.
            for arguments in (("get", "a"), ("member", "list", "-w", "table"), ("put", "b", "1")):
                _, text = self.on_terminal(*at, *arguments)
                self.assertEqual(text.replace(b"\r\n", b"\n").decode(), ctl.succeed(node.endpoint, *arguments))


if __name__ == "__main__":
    unittest.main()

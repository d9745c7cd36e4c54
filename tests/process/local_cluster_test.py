"""scripts/cluster: the front door of several members."""

import os
import pty
import random
import select
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import grpc

import ports
import server

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "cluster")


def free_first_port():
    """The members' ports follow from it, and m3's are below those that the kernel gives out."""
    while True:
        first = random.randrange(1024, ports.END - 30001, 2)
        members = (first, first + 20000, first + 30000)
        if all(ports.keep_block(port) for port in members) and \
                all(ports.is_free(port + n) for port in members for n in (0, 1)):
            return first


class LocalClusterTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="kvorum-local-")
        self.addCleanup(self.folder.cleanup)
        self.port = free_first_port()
        self.environment = {"PATH": os.environ["PATH"], "KVORUM_BIN_DIR": os.environ["KVORUM_BIN_DIR"],
                            "KVORUM_DATA_DIR": self.folder.name, "PORT": str(self.port), "TERM": "xterm"}

    def read_until(self, descriptor, wanted, timeout=60):
        """Its output up to `wanted`, which may be a function of the output."""
        text = b""
        end = time.monotonic() + timeout
        while not (wanted(text) if callable(wanted) else wanted in text):
            ready, _, _ = select.select([descriptor], [], [], max(0, end - time.monotonic()))
            self.assertTrue(ready, f"waited in vain, there was: {text[-2000:]}")
            chunk = os.read(descriptor, 65536)
            self.assertTrue(chunk, f"it ended: {text[-2000:]}")
            text += chunk
        return text

    def put(self, number):
        port = self.port + (number * 10000 if number > 1 else 0)
        with grpc.insecure_channel(f"localhost:{port}") as channel:
            server.put(server.kv(channel), b"a", b"b")

    def assert_ports_are_free(self):
        for number in (1, 2, 3):
            port = self.port + (number * 10000 if number > 1 else 0)
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))

    def test_without_a_terminal_it_prints_changes_and_stops_cleanly(self):
        process = subprocess.Popen([SCRIPT], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        try:
            self.read_until(process.stdout.fileno(),
                            lambda text: text.count(b"follower") >= 2 and b"leader" in text.splitlines()[-1])
            for number in (1, 2, 3):
                self.put(number)
            process.send_signal(signal.SIGINT)
            rest = process.stdout.read().decode()
            self.assertEqual(process.wait(20), 0, rest)
            self.assertIn("stopped; the data stays in", rest)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        self.assert_ports_are_free()
        # Started again it has its data, and refuses ports that are taken.
        blocker = socket.socket()
        self.addCleanup(blocker.close)
        # Remains of the members' connections do not keep it from listening.
        blocker.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        blocker.bind(("127.0.0.1", self.port + 20000))
        blocker.listen()
        done = subprocess.run([SCRIPT], env=self.environment, capture_output=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"port {self.port + 20000} is in use".encode(), done.stderr)

    def test_in_the_background_of_a_script_it_stops_at_sigterm(self):
        # Shells without job control start what is in the background with Ctrl-C ignored.
        process = subprocess.Popen(["sh", "-c", 'trap "" INT; exec "$0"', SCRIPT], env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        try:
            self.read_until(process.stdout.fileno(), b"leader")
            process.terminate()
            self.assertEqual(process.wait(20), 0)
            self.assertIn(b"stopped; the data stays in", process.stdout.read())
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        self.assert_ports_are_free()

    def test_at_a_terminal_keys_kill_and_start_members(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(SCRIPT, [SCRIPT], self.environment)
        ended = False
        try:
            self.read_until(terminal, b"3 of 3 answer")
            self.read_until(terminal, b"leader")
            os.write(terminal, b"2")
            self.read_until(terminal, b"DOWN (9)")
            os.write(terminal, b"2")
            self.read_until(terminal, b"3 of 3 answer")
            os.write(terminal, b"\x03")
            rest = self.read_until(terminal, b"the data stays in")
            self.assertNotIn(b"ended with", rest)
            _, status = os.waitpid(pid, 0)
            ended = True
            self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        finally:
            if not ended:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            os.close(terminal)
        self.assert_ports_are_free()


if __name__ == "__main__":
    unittest.main()

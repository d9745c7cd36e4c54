"""The process as scripts and harnesses expect it: start, log, ports, signals, the data directory."""

import array
import fcntl
import json
import os
import pathlib
import re
import signal
import socket
import stat
import subprocess
import sys
import termios
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import ports  # noqa: E402
import server  # noqa: E402


class MannersTest(unittest.TestCase):
    def setUp(self):
        self.member = server.Server()
        self.addCleanup(self.member.close)

    def test_version(self):
        done = subprocess.run([server.BINARY, "--version"], capture_output=True, check=True)
        lines = done.stdout.decode().splitlines()
        self.assertEqual(lines[0], "etcd Version: 3.7.3")
        self.assertTrue(lines[1].startswith("kvorum Version: "))

    def test_help_names_every_flag_and_exits_0(self):
        done = subprocess.run([server.BINARY, "--help"], capture_output=True, check=True)
        for flag in (b"--data-dir", b"--quota-backend-bytes", b"--listen-client-urls", b"--log-level"):
            self.assertIn(flag, done.stdout)

    def test_the_log_says_with_what_the_server_starts(self):
        """Under etcd's names, which its tests look for; flags that are deprecated are warned of."""
        self.member.flags += ["--snapshot-catchup-entries", "1000", "--max-snapshots", "3", "--election-timeout", "1500"]
        self.member.start()
        entries = [json.loads(line) for line in self.member.log().splitlines()]
        start = next(entry for entry in entries if entry["msg"] == "starting an etcd server")
        self.assertEqual(start["snapshot-catchup-entries"], 1000)
        self.assertEqual((start["heartbeat-interval"], start["election-timeout"]), ("100ms", "1.5s"))
        self.assertEqual(start["v2-deprecation"], "write-only")
        self.assertEqual({name[10:]: value for name, value in start.items() if name.startswith("discovery-")},
                         {"token": "", "endpoints": "", "dial-timeout": "2s", "request-timeout": "5s",
                          "keepalive-time": "2s", "keepalive-timeout": "6s", "insecure-transport": True,
                          "insecure-skip-tls-verify": False, "cert": "", "key": "", "cacert": "", "user": ""})
        self.assertEqual((start["corrupt-check-time-interval"], start["compact-check-time-interval"]), ("0s", "1m0s"))
        self.assertIn(b'"snapshot-catchup-entries":1000', self.member.log())
        warnings = [entry["msg"] for entry in entries if entry["level"] == "warn"]
        self.assertIn("--max-snapshots is deprecated in 3.6 and will be decommissioned in 3.8.", warnings)

    def test_log_lines_are_json_with_the_usual_keys(self):
        self.member.start()
        self.member.stop()
        lines = self.member.log().splitlines()
        self.assertGreater(len(lines), 10)
        for line in lines:
            entry = json.loads(line)
            self.assertEqual(list(entry)[:4], ["level", "ts", "caller", "msg"])
            self.assertNotIn(entry["level"], ("error", "fatal", "panic"))
            self.assertRegex(entry["ts"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,6}(Z|[+-]\d{4})$")

    def test_sigterm_ends_it_in_time_with_0_even_with_open_connections(self):
        self.member.start()
        with self.member.channel() as channel:
            server.put(server.kv(channel), b"a", b"b")
            code, seconds = self.member.stop()
        self.assertEqual(code, 0)
        self.assertLess(seconds, 1.5)

    def test_the_data_directory_is_private(self):
        os.mkdir(self.member.data_dir, 0o755)
        self.member.start()
        mode = stat.S_IMODE(os.stat(self.member.data_dir).st_mode)
        self.assertEqual(mode, 0o700)
        self.assertTrue(os.path.exists(self.member.data_dir + "/member/snap/db"))
        self.assertTrue(any(n.endswith(".wal") for n in os.listdir(self.member.data_dir + "/member/wal")))

    def test_foreign_files_are_left_alone_and_told(self):
        data = self.member.data_dir
        for name in ("lost+found", ".snapshot", "fixtures"):
            os.makedirs(os.path.join(data, name), 0o700)
        with open(os.path.join(data, ".nfs0001"), "wb"):
            pass
        self.member.start()
        self.member.stop()
        for folder in ("wal", "snap", ""):
            os.mkdir(os.path.join(data, "member", folder, "lost+found"), 0o700)
        self.member.start()
        foreign = [".nfs0001", ".snapshot", "lost+found", "member/lost+found", "member/snap/lost+found",
                   "member/wal/lost+found"]
        told = [entry["path"] for entry in map(json.loads, self.member.log().splitlines())
                if entry["level"] == "warn" and "path" in entry]
        self.assertEqual(sorted(os.path.relpath(path, data) for path in told), foreign)
        for name in foreign:
            self.assertTrue(os.path.exists(os.path.join(data, name)), name)

    def test_the_directory_may_be_copied_when_stopped(self):
        self.member.start()
        with self.member.channel() as channel:
            server.put(server.kv(channel), b"a", b"b")
        self.member.stop()
        copy = self.member.folder + "/copy"
        subprocess.run(["cp", "-r", self.member.data_dir, copy], check=True)
        self.member.data_dir = copy
        self.member.start()
        with self.member.channel() as channel:
            self.assertEqual(server.get(server.kv(channel), b"a").kvs[0].value, b"b")

    def test_environment_and_port_0_and_unix_sockets(self):
        env = {
            "PATH": os.environ["PATH"],
            "ETCD_DATA_DIR": self.member.folder + "/env",
            "ETCD_LISTEN_CLIENT_URLS": "http://127.0.0.1:0,unix://localhost:20001",
            "ETCD_ADVERTISE_CLIENT_URLS": "http://127.0.0.1:2379",
            "ETCD_LISTEN_PEER_URLS": "http://127.0.0.1:0",
            "ETCD_NO_SUCH_THING": "1",
        }
        log_path = self.member.folder + "/env.log"
        with open(log_path, "wb") as log:
            process = subprocess.Popen([server.BINARY], env=env, cwd=self.member.folder, stdout=log, stderr=log)
        try:
            end = time.monotonic() + 20
            text = ""
            while "serving client traffic" not in text:
                self.assertLess(time.monotonic(), end, text)
                time.sleep(0.02)
                with open(log_path, encoding="utf8") as log:
                    text = log.read()
            self.assertIn("unrecognized environment variable ETCD_NO_SUCH_THING", text)
            port = int(re.search(r'"address":"127\.0\.0\.1:(\d+)"}', text.split("ready to serve")[1]).group(1))
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/version", timeout=5) as answer:
                self.assertEqual(json.load(answer)["etcdserver"], "3.7.3")
            self.assertTrue(os.path.exists(self.member.folder + "/localhost:20001"))
        finally:
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(10), 0)

    def test_ready_is_told_to_the_supervisor(self):
        path = self.member.folder + "/notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
            supervisor.bind(path)
            supervisor.settimeout(20)
            self.member.port = ports.free_port()
            process = subprocess.Popen(
                self.member.command(), env={"PATH": os.environ["PATH"], "NOTIFY_SOCKET": path},
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                # Its role is told in between.
                for word in (b"READY=1", b"STOPPING=1"):
                    while word not in (told := supervisor.recv(100)).split(b"\n"):
                        self.assertTrue(told.startswith(b"STATUS="), told)
                    if word == b"READY=1":
                        process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(10), 0)
            finally:
                process.kill()
                process.wait()

    def test_serving_goes_on_while_the_log_s_reader_stands_still(self):
        self.member.port = ports.free_port()
        process = subprocess.Popen(
            self.member.command("--warning-unary-request-duration", "1ns"), env={"PATH": os.environ["PATH"]},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            self.wait_healthy()
            with self.member.channel() as channel:
                stub = server.kv(channel)
                for i in range(3000):  # a line each, far more than a pipe holds, and nobody reads
                    server.put(stub, b"key%d" % (i % 10), b"value")
            # Its pipe was full all the while: no line fits behind what nobody has read. Each of its pages may have
            # room for less than a line, which is shorter than a quarter of one.
            unread = array.array("i", [0])
            fcntl.ioctl(process.stdout, termios.FIONREAD, unread)
            self.assertGreater(unread[0], fcntl.fcntl(process.stdout, fcntl.F_GETPIPE_SZ) * 3 // 4)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def wait_healthy(self):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"http://{self.member.endpoint}/health", timeout=5) as answer:
                    return json.load(answer)
            except OSError:
                time.sleep(0.02)
        raise AssertionError("never healthy")

    def test_quota_alarm_compaction_and_defragmentation(self):
        """A quota of a few pages: filled, alarmed, kept over a restart, cleaned up, disarmed."""
        self.member.flags += ["--quota-backend-bytes", str(16 * 4096 * 16)]
        self.member.start()
        with self.member.channel() as channel:
            stub, admin = server.kv(channel), server.maintenance(channel)
            refusal = None
            for _ in range(2000):
                try:
                    server.put(stub, b"key", b"v" * 4096)
                except server.grpc.RpcError as error:
                    refusal = error
                    break
            self.assertIsNotNone(refusal, "2,000 puts fit into a quota of 256 pages")
            self.assertEqual(refusal.details(), "etcdserver: mvcc: database space exceeded")
            self.assertEqual(refusal.code(), server.grpc.StatusCode.RESOURCE_EXHAUSTED)
            alarms = admin.Alarm(server.rpc_pb2.AlarmRequest(action=server.rpc_pb2.AlarmRequest.GET)).alarms
            self.assertEqual([alarm.alarm for alarm in alarms], [server.rpc_pb2.NOSPACE])
        self.member.kill()
        self.member.start()
        with self.member.channel() as channel:
            stub, admin = server.kv(channel), server.maintenance(channel)
            with self.assertRaises(server.grpc.RpcError) as caught:
                server.put(stub, b"a", b"b")
            self.assertEqual(caught.exception.details(), "etcdserver: mvcc: database space exceeded")
            # Before there is room: with room the alarm ends by itself a few seconds later.
            member = admin.Alarm(server.rpc_pb2.AlarmRequest()).alarms[0].memberID
            revision = server.get(stub, b"key").header.revision
            stub.Compact(server.rpc_pb2.CompactionRequest(revision=revision, physical=True), timeout=30)
            before = admin.Status(server.rpc_pb2.StatusRequest()).dbSize
            admin.Defragment(server.rpc_pb2.DefragmentRequest(), timeout=30)
            self.assertLess(admin.Status(server.rpc_pb2.StatusRequest()).dbSize, before)
            disarm = server.rpc_pb2.AlarmRequest(
                action=server.rpc_pb2.AlarmRequest.DEACTIVATE, alarm=server.rpc_pb2.NOSPACE,
                memberID=member)
            admin.Alarm(disarm)
            self.assertEqual(len(admin.Alarm(server.rpc_pb2.AlarmRequest()).alarms), 0)
            server.put(stub, b"a", b"b")


if __name__ == "__main__":
    unittest.main()

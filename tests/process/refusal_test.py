"""The refusals of the process: a clear message, a non-zero exit, and the data as it was."""

import glob
import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

import server


def digest(folder):
    """The content of every file except the lock files and the preallocated space of the log."""
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            if name.endswith("lock"):
                continue
            path = os.path.join(root, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
    return found


class RefusalTest(unittest.TestCase):
    def setUp(self):
        self.member = server.Server()
        self.addCleanup(self.member.close)

    def fill(self, count=50):
        self.member.start()
        with self.member.channel() as channel:
            stub = server.kv(channel)
            for i in range(count):
                server.put(stub, b"key%d" % i, b"v" * 300)
        self.assertEqual(self.member.stop()[0], 0)

    def fill_until_snapshot(self):
        pattern = self.member.data_dir + "/member/snap/*.snap"
        deadline = time.monotonic() + 30
        self.member.start()
        with self.member.channel() as channel:
            stub = server.kv(channel)
            while not glob.glob(pattern):
                self.assertLess(time.monotonic(), deadline, "no snapshot of the log's state was made")
                server.put(stub, b"key", b"value")
        self.assertEqual(self.member.stop()[0], 0)

    def check_refusal(self, *texts, flags=()):
        before = digest(self.member.data_dir)
        code, said = self.member.refuse(*flags)
        self.assertEqual(code, 1, said)
        for text in texts:
            self.assertIn(text, said)
        self.assertEqual(digest(self.member.data_dir), before)

    def flip(self, path, offset):
        with open(path, "r+b") as file:
            file.seek(offset)
            byte = file.read(1)
            file.seek(offset)
            file.write(bytes([byte[0] ^ 0x40]))

    def test_a_bad_record_in_the_middle_of_the_log(self):
        self.fill()
        segment = sorted(glob.glob(self.member.data_dir + "/member/wal/*.wal"))[0]
        self.flip(segment, 4000)
        self.check_refusal(os.path.basename(segment), "offset")

    def test_a_truncated_database(self):
        self.fill()
        database = self.member.data_dir + "/member/snap/db"
        os.truncate(database, os.path.getsize(database) // 2 // 4096 * 4096)
        self.check_refusal(database)

    def test_a_database_that_is_none(self):
        self.fill()
        database = self.member.data_dir + "/member/snap/db"
        with open(database, "r+b") as file:
            file.write(b"\x5a" * 8192)
        self.check_refusal(database)

    def test_a_data_directory_of_another_version(self):
        self.fill()
        with open(self.member.data_dir + "/member/format", "w", encoding="ascii") as file:
            file.write("kvorum data 99\n")
        self.check_refusal("kvorum data 99")

    def test_a_data_directory_of_another_program(self):
        self.fill()
        os.remove(self.member.data_dir + "/member/format")
        self.check_refusal("another program")

    def test_a_database_older_than_the_log(self):
        self.fill(10)
        database = self.member.data_dir + "/member/snap/db"
        shutil.copy(database, self.member.folder + "/old")
        self.member.flags += ["--snapshot-count", "10"]
        self.fill_until_snapshot()
        shutil.copy(self.member.folder + "/old", database)
        self.check_refusal("failed to find database snapshot file (snap: snapshot file doesn't exist)")

    def test_a_second_process_on_the_directory(self):
        self.member.start()
        first = self.member.port
        code, said = self.member.refuse()
        self.assertEqual(code, 1)
        self.assertIn("in use by another process", said)
        self.member.port = first
        with self.member.channel() as channel:
            server.put(server.kv(channel), b"still", b"serving")

    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            code, said = self.member.refuse("--listen-client-urls", "http://" + address)
        self.assertEqual(code, 1)
        self.assertIn(f"listen tcp {address}: bind: address already in use", said)
        self.assertFalse(os.path.exists(self.member.data_dir), "the data directory was touched")

    def test_a_directory_that_cannot_be_written(self):
        with open(self.member.folder + "/file", "w", encoding="ascii"):
            pass
        self.member.data_dir = self.member.folder + "/file/data"
        code, said = self.member.refuse()
        self.assertEqual(code, 1)
        self.assertIn(self.member.data_dir, said)

    def test_joining_a_cluster_that_is_not_there(self):
        code, said = self.member.refuse("--initial-cluster-state", "existing")
        self.assertEqual(code, 1)
        self.assertIn("cannot fetch cluster info from peer urls", said)

    def test_bad_flags(self):
        cases = [
            (["--no-such-flag"], 2, "flag provided but not defined: -no-such-flag"),
            (["--snapshot-count", "many"], 2, 'invalid value "many" for flag -snapshot-count: parse error'),
            (["--snapshot-count"], 2, "flag needs an argument: -snapshot-count"),
            (["--pre-vote=perhaps"], 2, 'invalid boolean value "perhaps" for -pre-vote: parse error'),
            (["stray"], 1, '"stray" is not a valid flag'),
            (["--heartbeat-interval", "0"], 1, "--heartbeat-interval must be >0"),
            (["--election-timeout", "300"], 1, "should be at least as 5 times as --heartbeat-interval"),
            (["--election-timeout", "60000"], 1, "is too long"),
            (["--listen-client-urls", "127.0.0.1:2379"], 2, "first path segment in URL cannot contain colon"),
            (["--listen-client-urls", "localhost:2379"], 2, "URL scheme must be http"),
            (["--listen-client-urls", "http://example.com:2379"], 1, "expected IP in URL for binding"),
            (["--log-level", "loud"], 2, "unrecognized level"),
            (["--logger", "zapp"], 1, 'unknown logger option "zapp"'),
            (["--v2-deprecation", "not-yet"], 2, 'invalid value "not-yet" for flag -v2-deprecation'),
            (["--discovery-fallback", "bogus"], 2, 'invalid value "bogus" for flag -discovery-fallback'),
            (["--auto-compaction-mode", "bogus"], 1, 'unknown auto-compaction-mode "bogus"'),
            (["--log-format", "xml"], 1, "unknown log format"),
            (["--initial-cluster-state", "old"], 2, "invalid value"),
            (["--initial-cluster", "default"], 1, "error setting up initial cluster: URL scheme must be"),
            (["--listen-peer-urls", "http://127.0.0.1:99999"], 1, "address 99999: invalid port"),
            (["--name", "x", "--initial-cluster", "y=http://localhost:2380"], 1, "couldn't find local name"),
            (["--initial-cluster", "default=http://127.0.0.1:1", "--initial-advertise-peer-urls",
              "http://127.0.0.1:2"], 1,
             "--initial-cluster has default=http://127.0.0.1:1 but missing from "
             "--initial-advertise-peer-urls=http://127.0.0.1:2"),
            (["--cert-file", "/x"], 1, "KeyFile and CertFile must both be present[key: , cert: /x]"),
            (["--discovery-token", "x"], 1, "both --discovery-token and --discovery-endpoints must be set"),
            (["--discovery-token", "x", "--discovery-endpoints", "a:1", "--initial-cluster-state", "existing"], 1,
             "discovery URL should not be set when joining existing initial cluster"),
            (["--max-request-bytes", "0"], 1, "--max-request-bytes must be >0"),
        ]
        for flags, code, text in cases:
            with self.subTest(flags=flags):
                got, said = self.member.refuse(*flags)
                self.assertEqual(got, code, said)
                self.assertIn(text, said)

    def test_a_flag_and_its_environment_variable(self):
        done = subprocess.run(
            [server.BINARY, "--name", "a"], capture_output=True, check=False, timeout=20,
            cwd=self.member.folder, env={"PATH": os.environ["PATH"], "ETCD_NAME": "b"})
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'"ETCD_NAME" is shadowed by corresponding command-line flag "--name"', done.stderr)

    def test_a_full_disk(self):
        """Writes are refused while reads go on; with room again and the alarm disarmed they are taken
        again; nothing that was acknowledged is lost."""
        disk = self.mount_disk()
        ballast = disk + "/ballast"
        with open(ballast, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 96 << 20)
        self.member.data_dir = disk + "/data"
        self.member.start()
        acknowledged = {}
        refusal = None
        with self.member.channel() as channel:
            stub = server.kv(channel)
            for i in range(2000):
                key = b"key%d" % i
                try:
                    server.put(stub, key, b"v" * 200_000)
                    acknowledged[key] = 200_000
                except server.grpc.RpcError as error:
                    refusal = error
                    break
            self.assertIsNotNone(refusal, "the disk never got full")
            self.assertIn("database space exceeded", refusal.details())
            for key, size in acknowledged.items():
                self.assertEqual(len(server.get(stub, key, serializable=True).kvs[0].value), size)
            os.remove(ballast)
            self.write_after_disarming(channel)
        self.member.kill()
        self.member.start()
        with self.member.channel() as channel:
            stub = server.kv(channel)
            for key, size in [*acknowledged.items(), (b"again", 1)]:
                self.assertEqual(len(server.get(stub, key).kvs[0].value), size)

    def mount_disk(self):
        disk = tempfile.mkdtemp(prefix="kvorum-tmpfs-")
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256m", "tmpfs", disk], check=False, capture_output=True)
        self.assertEqual(mounted.returncode, 0, "this test needs root, to mount a small tmpfs")
        self.addCleanup(os.rmdir, disk)
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        self.addCleanup(self.member.close)  # before the umount
        return disk

    def test_a_disk_that_another_program_fills_to_the_last_byte(self):
        """The member stays up read-only, stops and starts on the full disk, and goes on in the same
        process when there is room."""
        disk = self.mount_disk()
        self.member.data_dir = disk + "/data"
        self.member.start()
        with self.member.channel() as channel:
            server.put(server.kv(channel), b"early", b"v")
        ballast = disk + "/ballast"
        with open(ballast, "wb", buffering=0) as file:
            with self.assertRaises(OSError):
                while True:
                    file.write(b"b" * 65536)
        with self.member.channel() as channel:
            self.wait_for_alarm(channel)
            stub = server.kv(channel)
            # Deletes need room in the database and are not refused.
            for i in range(300):
                stub.DeleteRange(server.rpc_pb2.DeleteRangeRequest(key=b"none%d" % i), timeout=10)
            self.assertEqual(server.get(stub, b"early", serializable=True).kvs[0].value, b"v")
            self.assertIsNone(self.member.process.poll(), self.member.log())
        self.assertEqual(self.member.stop()[0], 0)
        self.member.start()
        with self.member.channel() as channel:
            stub = server.kv(channel)
            self.assertEqual(server.get(stub, b"early", serializable=True).kvs[0].value, b"v")
            os.remove(ballast)
            self.write_after_disarming(channel)
        self.member.kill()
        self.member.start()
        with self.member.channel() as channel:
            for key in (b"early", b"again"):
                self.assertEqual(server.get(server.kv(channel), key).kvs[0].value, b"v")

    def wait_for_alarm(self, channel):
        """No client's put has asked for it."""
        deadline = time.monotonic() + 30
        admin = server.maintenance(channel)
        while not admin.Alarm(server.rpc_pb2.AlarmRequest()).alarms:
            self.assertLess(time.monotonic(), deadline, "no alarm was raised")
            time.sleep(0.1)

    def write_after_disarming(self, channel):
        """The log looks for space once a second, so that a disarm just before raises the alarm again."""
        deadline = time.monotonic() + 10
        while True:
            admin = server.maintenance(channel)
            for alarm in admin.Alarm(server.rpc_pb2.AlarmRequest()).alarms:
                admin.Alarm(server.rpc_pb2.AlarmRequest(
                    action=server.rpc_pb2.AlarmRequest.DEACTIVATE, memberID=alarm.memberID,
                    alarm=alarm.alarm))
            try:
                return server.put(server.kv(channel), b"again", b"v")
            except server.grpc.RpcError as error:
                self.assertIn("database space exceeded", error.details())
                self.assertLess(time.monotonic(), deadline, "still refused with room again")
                time.sleep(0.1)


if __name__ == "__main__":
    unittest.main()

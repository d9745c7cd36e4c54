"""kvorumutl and kvorumctl snapshot save: backups there and back, with etcd's tools beside them where they are."""

import base64
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import ctl  # noqa: E402
import ports  # noqa: E402
import server  # noqa: E402

UTL = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorumutl")
ETCDCTL = os.path.join(os.environ["KVORUM_PEER_DIR"], "etcdctl")
# A folder with etcdutl of etcd 3.7, whose output is compared if it is there.
ETCDUTL = os.path.join(os.environ["KVORUM_PEER_DIR"], "etcdutl")
SEED = int(os.environ.get("KVORUM_SEED", random.randrange(1 << 32)))


def run(*command, timeout=120):
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False,
                          env={"PATH": os.environ["PATH"], "ETCDCTL_API": "3"})


def succeed(*command):
    done = run(*command)
    assert done.returncode == 0, (command, done.returncode, done.stdout, done.stderr)
    return done.stdout


def utl(*arguments):
    return succeed(UTL, *arguments)


def status(path):
    return json.loads(utl("snapshot", "status", path, "-w", "json"))


def write_a_history(channel, rng, changes=300):
    """Random puts, deletions, leases and transactions; returns the last revision."""
    kv = server.kv(channel)
    lease = rpc_pb2_grpc.LeaseStub(channel).LeaseGrant(rpc_pb2.LeaseGrantRequest(TTL=3600), timeout=10).ID
    revision = 1
    for _ in range(changes):
        key = b"key %d" % rng.randrange(changes // 3)
        if rng.random() < 0.2:
            header = kv.DeleteRange(rpc_pb2.DeleteRangeRequest(key=key), timeout=10).header
        else:
            header = server.put(kv, key, rng.randbytes(rng.randrange(2000)),
                                lease=lease if rng.random() < 0.1 else 0).header
        revision = header.revision
    return revision


def hashes(channel, revisions):
    """HashKV at each of the revisions."""
    stub = server.maintenance(channel)
    return [stub.HashKV(rpc_pb2.HashKVRequest(revision=revision), timeout=30).hash for revision in revisions]


def status_of(channel):
    return server.maintenance(channel).Status(rpc_pb2.StatusRequest(), timeout=10)


def content(channel):
    """Every key with its value, revisions and lease, and the ids of all leases."""
    answer = server.kv(channel).Range(rpc_pb2.RangeRequest(key=b"\0", range_end=b"\0"), timeout=30)
    leases = rpc_pb2_grpc.LeaseStub(channel).LeaseLeases(rpc_pb2.LeaseLeasesRequest(), timeout=10).leases
    return ([(kv.key, kv.value, kv.create_revision, kv.mod_revision, kv.version, kv.lease) for kv in answer.kvs],
            sorted(lease.ID for lease in leases))


class BackupTest(unittest.TestCase):
    def setUp(self):
        self.rng = random.Random(SEED)
        self.folder = tempfile.mkdtemp(prefix="kvorum-utl-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.file = os.path.join(self.folder, "saved.db")
        self.restored = os.path.join(self.folder, "restored")

    def serve(self, data_dir=None):
        member = server.Server(data_dir=data_dir).start()
        self.addCleanup(member.close)
        channel = member.channel()
        self.addCleanup(channel.close)
        return member, channel

    def large(self):
        """A member with 20 MB."""
        member, channel = self.serve()
        for i in range(40):
            server.put(server.kv(channel), b"large %d" % i, self.rng.randbytes(500_000))
        return member

    def saved(self, *flags, **more):
        """A member with a history, and its snapshot in self.file."""
        member, channel = self.serve()
        write_a_history(channel, self.rng, **more)
        succeed(ctl.CTL, "--endpoints", member.endpoint, "snapshot", "save", self.file, *flags)
        return member, channel


    def three_of(self, programs, *flags):
        """Starts a cluster of the snapshot's content: a tool and a server for each member. Returns the endpoints, when
        a key "next" has been written."""
        peers = ports.free_ports(3)
        cluster = ",".join(f"m{i}=http://127.0.0.1:{port}" for i, port in enumerate(peers))
        endpoints = []
        for i, (port, (tool, binary)) in enumerate(zip(peers, programs)):
            data_dir, url = os.path.join(self.folder, f"m{i}"), f"http://127.0.0.1:{port}"
            common = ("--name", f"m{i}", "--initial-cluster", cluster)
            succeed(tool, "snapshot", "restore", self.file, "--data-dir", data_dir, *common,
                    "--initial-advertise-peer-urls", url, "--wal-dir", data_dir + ".wal", *flags)
            endpoints.append(f"127.0.0.1:{ports.free_port()}")
            with open(os.path.join(self.folder, f"log{i}"), "wb") as log:
                process = subprocess.Popen(
                    [*server.ENDS_WITH_US, binary, "--data-dir", data_dir, "--wal-dir", data_dir + ".wal", *common,
                     "--listen-peer-urls", url, "--initial-advertise-peer-urls", url, "--listen-client-urls",
                     f"http://{endpoints[-1]}", "--advertise-client-urls", f"http://{endpoints[-1]}"],
                    stdout=log, stderr=log)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
        end = time.monotonic() + 60
        while ctl.run(endpoints, "put", "next", "1").returncode != 0:
            self.assertLess(time.monotonic(), end, "the cluster does not begin")
        return endpoints


class RoundTripTest(BackupTest):
    def test_what_is_saved_comes_back(self):
        member, channel = self.serve()
        last = write_a_history(channel, self.rng)
        compacted = last // 3
        server.kv(channel).Compact(rpc_pb2.CompactionRequest(revision=compacted, physical=True), timeout=60)
        last = write_a_history(channel, self.rng, changes=100)
        said = succeed(ctl.CTL, "--endpoints", member.endpoint, "snapshot", "save", self.file)
        self.assertEqual(said, f"Snapshot saved at {self.file}\nServer version 3.7.0\n")
        self.assertEqual(os.listdir(self.folder), ["saved.db"])
        # A running member remembers another hash of the compacted revision itself: of the records before it ran.
        revisions = [compacted + 1, (compacted + last) // 2, last, 0]
        before = hashes(channel, revisions)
        saved = status(self.file)
        self.assertEqual((saved["revision"], saved["version"]), (last, "3.7.0"))
        self.assertEqual(saved["totalKey"], len(content(channel)[0]))
        for revision, expected in zip(revisions, before):
            found = json.loads(utl("hashkv", self.file, "--rev", str(revision), "-w", "json"))
            self.assertEqual((found["hash"], found["compactRevision"]), (expected, compacted))

        told = run(UTL, "snapshot", "restore", self.file, "--data-dir", self.restored)
        self.assertEqual(told.returncode, 0, told.stderr)
        lines = [text.split("\t") for text in told.stderr.splitlines()]
        self.assertEqual([message for _, _, message, _ in lines],
                         ["restoring snapshot", "added member", "restored snapshot"])
        self.assertEqual(json.loads(lines[1][3])["added-peer-peer-urls"], ["http://localhost:2380"])
        self.assertEqual(os.listdir(self.restored), ["member"])
        self.assertEqual(status(self.restored)["totalKey"], saved["totalKey"])
        self.assertEqual(utl("hashkv", self.restored), f"{before[-1]}, {last}, {compacted}\n")
        _, again = self.serve(self.restored)
        self.assertEqual(hashes(again, revisions), before)
        self.assertEqual(content(again), content(channel))
        self.assertEqual(server.put(server.kv(again), b"next", b"").header.revision, last + 1)

    def test_a_user_comes_back_with_his_password(self):
        member, _ = self.serve()
        for line in (("user", "add", "root:secret"), ("user", "grant-role", "root", "root"), ("auth", "enable")):
            ctl.succeed(member.endpoint, *line)
        ctl.succeed(member.endpoint, "--user", "root:secret", "snapshot", "save", self.file)
        refused = ctl.run(member.endpoint, "snapshot", "save", self.file + ".2")
        self.assertEqual(refused.returncode, 5, refused.stderr)
        self.assertEqual(os.listdir(self.folder), ["saved.db"])
        utl("snapshot", "restore", self.file, "--data-dir", self.restored)
        again, _ = self.serve(self.restored)
        self.assertNotEqual(ctl.run(again.endpoint, "get", "a").returncode, 0)
        ctl.succeed(again.endpoint, "--user", "root:secret", "get", "a")

    def test_a_bumped_revision(self):
        _, channel = self.saved()
        last = status(self.file)["revision"]
        utl("snapshot", "restore", self.file, "--data-dir", self.restored, "--bump-revision", "1000000",
            "--mark-compacted")
        _, again = self.serve(self.restored)
        kv = server.kv(again)
        with self.assertRaises(grpc.RpcError) as refused:
            server.get(kv, b"a", revision=last)
        self.assertIn("has been compacted", refused.exception.details())
        self.assertEqual([row[:2] for row in content(again)[0]], [row[:2] for row in content(channel)[0]])
        self.assertEqual(server.put(kv, b"next", b"").header.revision, last + 1_000_001)

    def test_a_cluster_of_three(self):
        _, channel = self.saved()
        endpoints = self.three_of([(UTL, server.BINARY)] * 3)
        expected = [row for row in content(channel)[0] if row[0] != b"next"]
        for endpoint in endpoints:
            with grpc.insecure_channel(endpoint) as member:
                self.assertEqual([row for row in content(member)[0] if row[0] != b"next"], expected)
        self.assertEqual(len(json.loads(ctl.succeed(endpoints, "member", "list", "-w", "json"))["members"]), 3)


@unittest.skipUnless(ctl.etcd_is_here(), "the packaged etcd is not installed")
class EtcdTest(BackupTest):
    def test_both_save_and_both_look(self):
        member, _ = self.saved()
        theirs = os.path.join(self.folder, "theirs.db")
        succeed(ETCDCTL, "--endpoints", member.endpoint, "snapshot", "save", theirs)
        self.assertEqual(status(theirs), status(self.file))
        if os.path.exists(ETCDUTL):
            for form in ("simple", "json", "fields", "table"):
                line = ("snapshot", "status", self.file, "-w", form)
                self.assertEqual(utl(*line), succeed(ETCDUTL, *line))
            for revision in ("0", "1", "7", "-1", "-3"):
                line = ("hashkv", self.file, "--rev", revision)
                self.assertEqual(utl(*line), succeed(ETCDUTL, *line))
        shown = run(ETCDCTL, "snapshot", "status", self.file, "-w", "json")
        if shown.returncode == 0 and shown.stdout.startswith("{"):  # 3.7 has the command in etcdutl alone
            ours = status(self.file)
            theirs = json.loads(shown.stdout)
            theirs.pop("totalKey")  # 3.4 counts every record
            self.assertEqual({**ours, **theirs}, ours)

    def test_an_etcds_snapshot_becomes_a_member(self):
        with ctl.Etcd() as etcd, grpc.insecure_channel(etcd.endpoint) as channel:
            last = write_a_history(channel, self.rng)
            revisions = [last // 3, last // 2, last]
            before, rows = hashes(channel, revisions), content(channel)
            ctl.succeed(etcd.endpoint, "snapshot", "save", self.file)
        utl("snapshot", "restore", self.file, "--data-dir", self.restored)
        _, again = self.serve(self.restored)
        self.assertEqual(hashes(again, revisions), before)
        self.assertEqual(content(again), rows)

    def test_a_name_and_its_address_are_the_same_peer(self):
        self.saved()
        for expected, in_cluster, advertised in (
                (0, "http://localhost:2380", "http://127.0.0.1:2380"), (0, "http://127.0.0.1:2380", "http://LocalHost:2380"),
                (1, "http://localhost:2380", "http://127.0.0.9:2380"), (1, "http://localhost:2380", "http://127.0.0.1:2381"),
                (1, "https://localhost:2380", "http://localhost:2380")):
            shutil.rmtree(self.restored, ignore_errors=True)
            done = run(UTL, "snapshot", "restore", self.file, "--data-dir", self.restored, "--initial-cluster",
                       f"default={in_cluster}", "--initial-advertise-peer-urls", advertised)
            self.assertEqual(done.returncode, expected, (in_cluster, advertised, done.stderr))

    @unittest.skipUnless(os.path.exists(ETCDUTL), "there is no etcd of 3.7")
    def test_members_that_different_tools_restored_are_equal(self):
        self.saved()
        theirs = (ETCDUTL, os.path.join(os.path.dirname(ETCDUTL), "etcd"))
        endpoints = self.three_of([theirs, (UTL, server.BINARY), (UTL, server.BINARY)], "--bump-revision", "1000",
                                  "--mark-compacted")
        for _ in range(2):
            found = json.loads(ctl.succeed(endpoints, "put", "next", "2", "-w", "json"))["header"]["revision"]
            ctl.succeed(endpoints, "get", "next")
            members = []
            for endpoint in endpoints:
                with grpc.insecure_channel(endpoint) as member:
                    server.get(server.kv(member), b"next")  # linearizable: it has applied everything
                    members.append(hashes(member, [found]))
            self.assertEqual(members[1:], members[:1] * 2)
            ctl.succeed(endpoints, "compaction", "--physical", str(found - 1))


class CopiedDatabaseTest(BackupTest):
    """The file of a member that is stopped, copied: etcdutl takes such a one of etcd's with the same flag."""

    def test_it_is_restored(self):
        member, channel = self.serve()
        write_a_history(channel, self.rng)
        rows = content(channel)
        last = status_of(channel).header.revision
        before = hashes(channel, [last // 2, last])
        member.stop()
        shutil.copy(os.path.join(member.data_dir, "member", "snap", "db"), self.file)
        restore = (UTL, "snapshot", "restore", self.file, "--data-dir", self.restored)
        refused = run(*restore)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("Error: snapshot missing hash but --skip-hash-check=false", refused.stderr)
        succeed(*restore, "--skip-hash-check")
        self.assertEqual(sorted(os.listdir(self.folder)), ["restored", "saved.db"])
        _, again = self.serve(self.restored)
        self.assertEqual(hashes(again, [last // 2, last]), before)
        self.assertEqual(content(again), rows)


class DamageTest(BackupTest):
    def test_a_cut_or_spoiled_snapshot(self):
        self.saved()
        with open(self.file, "rb") as file:
            whole = file.read()
        restore = (UTL, "snapshot", "restore", self.file, "--data-dir", self.restored)
        spoiled = bytearray(whole)
        spoiled[self.rng.randrange(len(whole) - 32)] ^= 0x10
        cases = [(whole[:100], "Error: snapshot missing hash but --skip-hash-check=false"),
                 (whole[:10], f"Error: seek {self.file}: invalid argument"), (bytes(spoiled), "Error: expected sha256 [")]
        for bad, text in cases:
            with open(self.file, "wb") as file:
                file.write(bad)
            done = run(*restore)
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stderr)
            self.assertEqual(os.listdir(self.folder), ["saved.db"])
        with open(self.file, "wb") as file:
            file.write(whole[:len(whole) // 2])
        done = run(UTL, "snapshot", "status", self.file)
        self.assertEqual(done.returncode, 1)
        self.assertIn("Error: invalid database", done.stderr)


class SaveTest(BackupTest):
    def test_a_compressed_one(self):
        member, _ = self.saved()
        packed = os.path.join(self.folder, "saved.db.gz")
        ctl.succeed(member.endpoint, "snapshot", "save", "--compress", packed)
        self.assertEqual(status(packed), status(self.file))
        with open(self.file, "rb") as file:
            self.assertEqual(subprocess.run(["gunzip", "-c", packed], capture_output=True, check=True).stdout, file.read())
        utl("snapshot", "restore", packed, "--data-dir", self.restored)
        self.assertEqual(status(self.restored)["totalKey"], status(self.file)["totalKey"])

    def test_an_unpacked_one_leaves_nothing_in_the_folder_for_temporary_files(self):
        """Also if the command is killed: it never has a name there."""
        member = self.large()
        packed = os.path.join(self.folder, "saved.db.gz")
        ctl.succeed(member.endpoint, "snapshot", "save", "--compress", packed)
        temporary = os.path.join(self.folder, "tmp")
        os.mkdir(temporary)
        with subprocess.Popen([UTL, "snapshot", "status", packed], stdout=subprocess.DEVNULL,
                              env={"TMPDIR": temporary}) as process:
            unpacked = False
            while process.poll() is None:
                self.assertEqual(os.listdir(temporary), [])
                unpacked = unpacked or any(file.startswith(temporary) for file in self.open_files(process.pid))
        self.assertEqual(process.returncode, 0)
        self.assertTrue(unpacked, "it was never seen with its file")

    def open_files(self, pid):
        files = []
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                files.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
            except OSError:
                pass
        return files

    def test_a_series_keeps_the_newest(self):
        member, _ = self.serve()
        series = os.path.join(self.folder, "series")
        os.mkdir(series)
        old = [f"snapshot-2020010{day}T000000Z.db" for day in range(1, 6)]
        for name in (*old, "other.db"):
            with open(os.path.join(series, name), "w", encoding="utf8") as file:
                file.write("x")
        said = ctl.succeed(member.endpoint, "snapshot", "save", "--keep", "3", series)
        new = os.path.basename(said.splitlines()[0])
        self.assertEqual(sorted(os.listdir(series)), ["other.db", *old[-2:], new])
        refused = ctl.run("127.0.0.1:1", "--command-timeout", "1s", "snapshot", "save", "--keep", "1", series)
        self.assertEqual(refused.returncode, 5)
        self.assertEqual(sorted(os.listdir(series)), ["other.db", *old[-2:], new], "a failure removes nothing")

    def test_it_goes_on_by_itself(self):
        member, _ = self.serve()
        series = os.path.join(self.folder, "series")
        os.mkdir(series)
        with subprocess.Popen([ctl.CTL, "--endpoints", member.endpoint, "snapshot", "save", "--every", "1s", "--keep", "2",
                               series], stdout=subprocess.PIPE, text=True) as process:
            try:
                saved = [line for line in (process.stdout.readline() for _ in range(8)) if line.startswith("Snapshot")]
            finally:
                process.terminate()
        self.assertEqual(len(saved), 4)
        names = [name for name in os.listdir(series) if name != "snapshot.part"]
        self.assertLessEqual(len(names), 3)
        for name in names:
            status(os.path.join(series, name))

    def test_what_is_refused(self):
        for line, code, text in (
                (("save",), 128, "snapshot save expects one argument <filename>"),
                (("save", "/nonexistent/x.db"), 5,
                 "could not open /nonexistent/x.db.part (open /nonexistent/x.db.part: no such file or directory)"),
                (("save", "--every", "1ms", self.folder), 128, "--every must be at least 1s"),
                (("save", "--keep", "1", self.file), 128, "with --every and --keep the argument is a directory"),
                (("save", self.folder), 128, "is a directory: name a file, or save a series by --keep or --every")):
            done = ctl.run("127.0.0.1:1", "snapshot", *line)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(text, done.stderr)
        done = ctl.run("127.0.0.1:1,127.0.0.1:2", "snapshot", "save", self.file)
        self.assertEqual(done.returncode, 5)
        self.assertIn("must be requested to one selected node, not multiple [127.0.0.1:1 127.0.0.1:2]", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])


class FullDiskTest(BackupTest):
    """The error says that the disk is full, and nothing is left."""

    def test_nothing_is_left_of_a_restore(self):
        self.saved(changes=900)
        disk = os.path.join(self.folder, "disk")
        os.mkdir(disk)
        for size in ("400k", "20m"):  # the database does not fit; the database does, the log does not
            script = ('mount -t tmpfs -o "size=$1" none "$2" || exit 99; '
                      '"$3" snapshot restore "$4" --data-dir "$2/restored"; code=$?; ls -A "$2"; exit $code')
            for flags in (["--mount"], ["--map-root-user", "--mount"]):
                done = run("unshare", *flags, "sh", "-c", script, "sh", size, disk, UTL, self.file)
                if done.stderr.startswith("20"):  # the first line of its log
                    break
            else:
                self.skipTest("a namespace of mounts is not to be had")
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            self.assertRegex(done.stderr.splitlines()[-1], "^Error: .*No space left on device")

    def test_nothing_is_left_of_a_save_and_the_old_one_stays(self):
        member, _ = self.saved(changes=900)
        with open(self.file, "rb") as file:
            before = file.read()
        # No file may grow beyond a limit. Python ignores SIGXFSZ, and so does what it starts.
        done = subprocess.run(["prlimit", "--fsize=300000", ctl.CTL, "--endpoints", member.endpoint, "snapshot", "save",
                               self.file], capture_output=True, text=True, timeout=120, check=False, restore_signals=False)
        self.assertEqual(done.returncode, 5)
        self.assertIn(f"could not write snapshot: write {self.file}.part: file too large", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["saved.db"])
        with open(self.file, "rb") as file:
            self.assertEqual(file.read(), before)


class FilesTest(BackupTest):
    """A stopped member's directory."""

    def test_defrag_gives_back_what_is_free(self):
        member, channel = self.serve()
        kv = server.kv(channel)
        for i in range(20):
            server.put(kv, b"large", self.rng.randbytes(300_000))
        last = server.put(kv, b"large", b"").header.revision
        kv.Compact(rpc_pb2.CompactionRequest(revision=last, physical=True), timeout=60)
        line = (UTL, "defrag", "--data-dir", member.data_dir)
        refused = run(*line, "--timeout", "100ms")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("is in use by another process", refused.stderr)
        member.stop()
        database = os.path.join(member.data_dir, "member", "snap", "db")
        size, before = os.path.getsize(database), utl("hashkv", member.data_dir)
        done = run(*line)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        told = [text.split("\t") for text in done.stderr.splitlines()]
        self.assertEqual([(level, message) for _, level, message, _ in told],
                         [("info", "defragmenting"), ("info", "finished defragmenting directory")])
        finished = json.loads(told[1][3])
        self.assertEqual(finished["path"], database)
        self.assertEqual(finished["current-db-size-bytes"], os.path.getsize(database))
        self.assertEqual(finished["current-db-size-bytes-diff"], os.path.getsize(database) - size)
        self.assertLess(os.path.getsize(database), size / 2)
        self.assertEqual(utl("hashkv", member.data_dir), before)
        member.start()
        missing = run(UTL, "defrag", "--data-dir", "/nonexistent")
        self.assertEqual((missing.returncode, missing.stderr), (
            1, "Error: Failed to defragment etcd data[/nonexistent] "
               "(stat /nonexistent/member/snap/db: no such file or directory)\n"))

    def test_migrate_has_one_version(self):
        member, _ = self.saved()
        member.stop()
        for target, code, text in (("3.7", 0, "storage version up-to-date"), ("3.6", 1, "cannot migrate to version 3.6"),
                                   ("3.4", 128, 'target version "3.4" not supported. Minimal "3.5"'),
                                   ("3", 128, 'wrong target version format, expected "X.Y", got "3"')):
            done = run(UTL, "migrate", "--data-dir", member.data_dir, "--target-version", target, "--force")
            self.assertEqual(done.returncode, code)
            self.assertIn(text, done.stderr)
        done = run(UTL, "migrate")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stderr.startswith('Error: required flag(s) "data-dir", "target-version" not set\n'))

    def test_dump_has_every_record_and_entry(self):
        member, channel = self.saved()
        rows = content(channel)[0]
        member.stop()
        lines = [json.loads(line) for line in utl("dump", member.data_dir).splitlines()]
        live = {}
        for line in lines:
            if line.get("bucket") == "key":
                live[line["key"]] = None if line["tombstone"] else line["value"]
        self.assertEqual({key: value for key, value in live.items() if value is not None},
                         {base64.b64encode(row[0]).decode(): base64.b64encode(row[1]).decode() for row in rows})
        head = next(line for line in lines if "commit" in line)
        entries = [line for line in lines if "index" in line]
        self.assertGreaterEqual(entries[-1]["index"], head["commit"])
        self.assertEqual(entries[0]["type"], "conf_change")
        records = utl("dump", self.file, "--only", "records").splitlines()
        self.assertEqual([json.loads(line) for line in records if '"main"' in line],
                         [line for line in lines if "main" in line])


class KillTest(BackupTest):
    """Killed at random moments: what has its name is whole, and the same command finishes the work."""

    ROUNDS = 8

    def rounds(self):
        """Until half as many have been killed before they ended: a machine that is busier than it was when the time
        was taken lets more of them end."""
        self.killed = 0
        for number in range(6 * self.ROUNDS):
            if number >= self.ROUNDS and self.killed >= self.ROUNDS // 2:
                return
            yield number
        self.assertGreaterEqual(self.killed, self.ROUNDS // 2)

    def time(self, command):
        begin = time.monotonic()
        succeed(*command)
        return time.monotonic() - begin

    def kill(self, command, at_most):
        """Starts the command, and kills it at some moment. True if that came before its end."""
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                process.wait(self.rng.random() * at_most)
            except subprocess.TimeoutExpired:
                process.kill()
        return process.returncode == -signal.SIGKILL

    def test_a_restore(self):
        ctl.succeed(self.large().endpoint, "snapshot", "save", self.file)
        wal_dir = self.restored + ".wal"
        command = (UTL, "snapshot", "restore", self.file, "--data-dir", self.restored, "--wal-dir", wal_dir)
        expected = utl("hashkv", self.file)
        took = self.time(command)
        for _ in self.rounds():
            shutil.rmtree(self.restored)
            shutil.rmtree(wal_dir)
            self.killed += self.kill(command, took)
            if not os.path.exists(os.path.join(self.restored, "member")):
                if os.path.exists(os.path.join(self.restored, "restore.part")):
                    with server.Server(data_dir=self.restored) as refused:
                        code, said = refused.refuse()
                    self.assertEqual(code, 1)
                    self.assertIn("holds a restore that did not finish", said)
                succeed(*command)
                self.assertEqual(os.listdir(self.restored), ["member"])
            self.assertEqual(utl("hashkv", self.restored), expected)

    def test_a_save(self):
        command = (ctl.CTL, "--endpoints", self.large().endpoint, "snapshot", "save", self.file)
        took = self.time(command)
        for _ in self.rounds():
            os.remove(self.file)
            self.killed += self.kill(command, took)
            if not os.path.exists(self.file):
                succeed(*command)
            self.assertEqual(status(self.file)["totalKey"], 40)
            self.assertIn(os.listdir(self.folder), (["saved.db"], ["saved.db", "saved.db.part"]))


if __name__ == "__main__":
    print(f"KVORUM_SEED={SEED}", flush=True)
    unittest.main()

"""An etcd member's directory becomes kvorum's and etcd's again: all that clients can see stays, through crashes too.

The etcd is that of $KVORUM_PEER_DIR: the packaged 3.4, or 3.7 where one was built. 3.4 refuses a cluster whose version
was raised, so there the way back ends in a directory that is adopted once more.
"""

import glob
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
import urllib.request

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cluster  # noqa: E402
import ctl  # noqa: E402
import ports  # noqa: E402
import server  # noqa: E402

UTL = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorumutl")
ETCD_36 = os.path.join(os.environ.get("KVORUM_PEER_36", ""), "etcd")
ETCD_35 = os.path.join(os.environ.get("KVORUM_PEER_35", ""), "etcd")
ETCD_34 = os.path.join(os.environ.get("KVORUM_PEER_34", ""), "etcd")
EVERYTHING = {"key": b"\0", "range_end": b"\0"}
NOSPACE = rpc_pb2.AlarmType.Value("NOSPACE")


def utl(*arguments):
    done = subprocess.run([UTL, *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout


def peer_is_3_7():
    shown = subprocess.run([ctl.ETCD, "--version"], capture_output=True, check=True, timeout=30).stdout.decode()
    return tuple(int(part) for part in shown.split()[2].split(".")[:2]) >= (3, 7)


class Member:
    """One directory, on which etcd and kvorum take turns."""

    def __init__(self, name="m1", etcd=ctl.ETCD):
        self.name = name
        self.etcd = etcd
        self.folder = tempfile.mkdtemp(prefix="kvorum-adopt-")
        self.data_dir = os.path.join(self.folder, "data")
        client, peer = ports.free_ports(2)
        self.endpoint = f"127.0.0.1:{client}"
        self.peer_url = f"http://127.0.0.1:{peer}"
        self.process = None
        self.cluster = [self]

    def launch(self, binary, *flags):
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = subprocess.Popen(
                [*server.ENDS_WITH_US, binary, "--name", self.name, "--data-dir", self.data_dir,
                 "--listen-client-urls", f"http://{self.endpoint}",
                 "--advertise-client-urls", f"http://{self.endpoint}", "--listen-peer-urls", self.peer_url,
                 "--initial-advertise-peer-urls", self.peer_url, "--initial-cluster",
                 ",".join(f"{member.name}={member.peer_url}" for member in self.cluster), *flags],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def start(self, binary, *flags):
        self.launch(binary, *flags)
        self.wait()

    def wait(self):
        end = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"http://{self.endpoint}/version", timeout=2):
                    break
            except OSError:
                pass
            assert time.monotonic() < end and self.process.poll() is None, self.log()
            time.sleep(0.02)
        self.channel = grpc.insecure_channel(self.endpoint)
        # Once this is answered, there is a leader.
        server.kv(self.channel).Range(rpc_pb2.RangeRequest(key=b"a"), timeout=60, wait_for_ready=True)

    def start_etcd(self):
        self.start(self.etcd, "--snapshot-count", "300")

    def start_kvorum(self, *flags):
        self.start(server.BINARY, *flags)

    def stop(self, number=signal.SIGTERM):
        self.channel.close()
        self.process.send_signal(number)
        self.process.wait(60)
        self.process = None

    def log(self):
        with open(os.path.join(self.folder, "log"), "rb") as log:
            return log.read().decode(errors="replace")

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def adopt(self, *flags):
        return utl("adopt", "--data-dir", self.data_dir, *flags)

    def release(self, *flags):
        return utl("release", "--data-dir", self.data_dir, *flags)

    def verify(self):
        """What kvorumutl tells of the directory; its exit code and its words agree."""
        done = subprocess.run([UTL, "verify", "--data-dir", self.data_dir, "-w", "json"], capture_output=True, text=True,
                              timeout=120, check=False)
        told = json.loads(done.stdout)
        assert told["wouldStart"] == (done.returncode == 0), (done.returncode, told)
        return told

    def give_back(self, *flags):
        """Releases it, and starts what can go on from there."""
        told = self.release(*flags)
        assert sorted(os.listdir(os.path.join(self.data_dir, "member"))) == ["snap", "wal"]
        self.start_released()
        return told

    def start_released(self):
        """By etcd, or by kvorum once more where etcd's version may be below the cluster's by now."""
        if peer_is_3_7():
            self.start_etcd()
        else:
            self.adopt()
            self.start_kvorum()

    # --- what clients do and see ---

    def write(self, seed, operations=400):
        """Puts, deletions, transactions and leases at random, a compaction, users and roles."""
        rng = random.Random(seed)
        kv = server.kv(self.channel)
        leases = [rpc_pb2_grpc.LeaseStub(self.channel).LeaseGrant(
            rpc_pb2.LeaseGrantRequest(TTL=rng.randrange(3600, 7200)), timeout=10).ID for _ in range(3)]
        for _ in range(operations):
            key = b"key %d" % rng.randrange(60)
            put = rpc_pb2.PutRequest(key=key, value=rng.randbytes(rng.choice((0, 10, 5000))),
                                     lease=rng.choice((0, 0, *leases)))
            delete = rpc_pb2.DeleteRangeRequest(key=key, range_end=rng.choice((b"", b"key 3")))
            kind = rng.randrange(6)
            if kind == 0:
                kv.DeleteRange(delete, timeout=10)
            elif kind == 1:
                kv.Txn(rpc_pb2.TxnRequest(success=[
                    rpc_pb2.RequestOp(request_put=put),
                    rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=b"other", value=key))]), timeout=10)
            else:
                kv.Put(put, timeout=10)
        revision = server.put(kv, b"last", b"%d" % seed).header.revision
        kv.Compact(rpc_pb2.CompactionRequest(revision=revision - operations // 4, physical=True), timeout=60)
        auth = rpc_pb2_grpc.AuthStub(self.channel)
        auth.UserAdd(rpc_pb2.AuthUserAddRequest(name=f"user{seed}", password="secret"), timeout=10)
        auth.RoleAdd(rpc_pb2.AuthRoleAddRequest(name=f"role{seed}"), timeout=10)
        auth.UserGrantRole(rpc_pb2.AuthUserGrantRoleRequest(user=f"user{seed}", role=f"role{seed}"), timeout=10)
        # The packaged version counts only what changes keys as applied.
        server.put(kv, b"last", b"after %d" % seed)

    def seen(self):
        """All that should survive a move."""
        kv = server.kv(self.channel)
        everything = kv.Range(rpc_pb2.RangeRequest(**EVERYTHING), timeout=30)
        revision = everything.header.revision
        rows = [row.SerializeToString() for row in everything.kvs]
        maintenance = server.maintenance(self.channel)
        hashes = {at: maintenance.HashKV(rpc_pb2.HashKVRequest(revision=at), timeout=30).hash
                  for at in (revision, revision - 1, revision - 20, revision - 50)}
        old = [row.SerializeToString() for row in kv.Range(
            rpc_pb2.RangeRequest(revision=revision - 30, **EVERYTHING), timeout=30).kvs]
        lease = rpc_pb2_grpc.LeaseStub(self.channel)
        leases = {}
        for each in lease.LeaseLeases(rpc_pb2.LeaseLeasesRequest(), timeout=10).leases:
            told = lease.LeaseTimeToLive(rpc_pb2.LeaseTimeToLiveRequest(ID=each.ID, keys=True), timeout=10)
            # A new leader gives a lease its whole time again, and an election time-out more.
            assert 0 < told.TTL <= told.grantedTTL + 2, told
            leases[each.ID] = (told.grantedTTL, sorted(told.keys))
        auth = rpc_pb2_grpc.AuthStub(self.channel)
        users = {name: list(auth.UserGet(rpc_pb2.AuthUserGetRequest(name=name), timeout=10).roles)
                 for name in auth.UserList(rpc_pb2.AuthUserListRequest(), timeout=10).users}
        roles = list(auth.RoleList(rpc_pb2.AuthRoleListRequest(), timeout=10).roles)
        alarms = [(alarm.memberID, alarm.alarm) for alarm in maintenance.Alarm(
            rpc_pb2.AlarmRequest(), timeout=10).alarms]
        members = [(member.ID, member.name, list(member.peerURLs)) for member in rpc_pb2_grpc.ClusterStub(
            self.channel).MemberList(rpc_pb2.MemberListRequest(), timeout=10).members]
        header = everything.header
        return {"revision": revision, "cluster": header.cluster_id, "member": header.member_id, "rows": rows,
                "hashes": hashes, "old": old, "leases": leases, "users": users, "roles": roles, "alarms": alarms,
                "members": members}

    def raise_alarm(self):
        server.maintenance(self.channel).Alarm(
            rpc_pb2.AlarmRequest(action=rpc_pb2.AlarmRequest.ACTIVATE, alarm=NOSPACE), timeout=10)

    def disarm(self):
        server.maintenance(self.channel).Alarm(
            rpc_pb2.AlarmRequest(action=rpc_pb2.AlarmRequest.DEACTIVATE, alarm=NOSPACE), timeout=10)


class AdoptTest(unittest.TestCase):
    def setUp(self):
        self.member = Member()
        self.addCleanup(self.member.close)

    def test_there_and_back(self):
        member = self.member
        member.start_etcd()
        member.write(1)
        before = member.seen()
        member.stop()
        self.assertIn("Adopted member", member.adopt())
        member.start_kvorum()
        self.assertEqual(member.seen(), before)
        member.write(2)
        member.raise_alarm()
        ours = member.seen()
        self.assertEqual(len(ours["alarms"]), 1)
        member.stop()
        self.assertIn("Released member", member.give_back("--drop-old"))
        self.assertEqual(member.seen(), ours)
        member.disarm()
        member.write(3)
        again = member.seen()
        member.stop()
        member.adopt("--drop-old")
        self.assertNotIn("db.etcd", os.listdir(os.path.join(member.data_dir, "member", "snap")))
        member.start_kvorum()
        self.assertEqual(member.seen(), again)

    def test_killed_servers_leave_what_can_be_moved(self):
        """The log's tail is applied by the next start, on either side."""
        member = self.member
        member.start_etcd()
        member.write(1)
        before = member.seen()
        member.stop(signal.SIGKILL)
        member.adopt()
        member.start_kvorum()
        self.assertEqual(member.seen(), before)
        member.write(2)
        before = member.seen()
        member.stop(signal.SIGKILL)
        member.give_back()
        self.assertEqual(member.seen(), before)

    def test_authentication_stays_on(self):
        member = self.member
        member.start_etcd()
        member.write(1, operations=40)
        auth = rpc_pb2_grpc.AuthStub(member.channel)
        auth.UserAdd(rpc_pb2.AuthUserAddRequest(name="root", password="p"), timeout=10)
        auth.RoleAdd(rpc_pb2.AuthRoleAddRequest(name="root"), timeout=10)
        auth.UserGrantRole(rpc_pb2.AuthUserGrantRoleRequest(user="root", role="root"), timeout=10)
        auth.AuthEnable(rpc_pb2.AuthEnableRequest(), timeout=10)
        for move in (lambda: member.adopt() and member.start_kvorum(), member.give_back):
            member.stop()
            with self.assertRaises(grpc.RpcError) as refused:
                move()
            self.assertEqual(refused.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
            token = rpc_pb2_grpc.AuthStub(member.channel).Authenticate(
                rpc_pb2.AuthenticateRequest(name="root", password="p"), timeout=10).token
            got = server.kv(member.channel).Range(
                rpc_pb2.RangeRequest(key=b"last"), timeout=10, metadata=(("token", token),))
            self.assertEqual(got.kvs[0].value, b"after 1")

    def test_the_server_refuses_without_the_flag_and_adopts_with_it(self):
        member = self.member
        member.start_etcd()
        member.write(1)
        before = member.seen()
        member.stop()
        ours = server.Server(data_dir=member.data_dir)
        self.addCleanup(ours.close)
        code, said = ours.refuse()
        self.assertEqual(code, 1)
        self.assertIn(f"run kvorumutl adopt --data-dir {member.data_dir}", said)
        self.assertIn("--adopt-etcd-data", said)
        for _ in range(2):  # the second start finds its own directory
            member.start_kvorum("--adopt-etcd-data")
            self.assertEqual(member.seen(), before)
            member.stop()

    def test_nothing_moves_under_a_running_server(self):
        member = self.member
        member.start_etcd()
        flags = ("--data-dir", member.data_dir, "--timeout", "100ms")
        done = subprocess.run([UTL, "adopt", *flags], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("open: stop it first", done.stderr)
        member.write(1, operations=40)
        member.stop()
        member.adopt()
        member.start_kvorum()
        done = subprocess.run([UTL, "release", *flags], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("in use by another process", done.stderr)

    def test_a_move_waits_for_the_server_to_end(self):
        member = self.member
        member.start_etcd()
        member.write(1)
        before = member.seen()
        for command, start in (("adopt", member.start_kvorum), ("release", member.start_released)):
            moving = subprocess.Popen([UTL, command, "--data-dir", member.data_dir, "--timeout", "60s"])
            self.addCleanup(moving.kill)
            with self.assertRaises(subprocess.TimeoutExpired):
                moving.wait(0.3)
            member.stop()
            self.assertEqual(moving.wait(60), 0)
            start()
            self.assertEqual(member.seen(), before)

    def test_a_log_elsewhere_is_asked_for_by_its_flag(self):
        member = self.member
        elsewhere = os.path.join(member.folder, "log elsewhere")
        member.start(ctl.ETCD, "--wal-dir", elsewhere)
        member.write(1, operations=40)
        member.stop()
        done = subprocess.run([UTL, "adopt", "--data-dir", member.data_dir], capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("if the member has its log in another folder, name it by --wal-dir", done.stderr)
        self.assertIn("--wal-dir names another folder", member.verify()["problems"][0])
        member.adopt("--wal-dir", elsewhere)
        member.start_kvorum("--wal-dir", elsewhere)
        self.assertEqual(server.get(server.kv(member.channel), b"last").kvs[0].value, b"after 1")
        member.stop()
        if os.getuid() == 0:  # root's command gives its files to the directory's owner
            nobody = 65534
            for path in (member.data_dir, *glob.glob(os.path.join(member.data_dir, "**"), recursive=True)):
                os.chown(path, nobody, nobody)
        self.assertEqual(member.adopt("--drop-old"), f"{member.data_dir} is kvorum's already.\n")
        self.assertFalse(os.path.exists(os.path.join(member.data_dir, "member", "snap", "db.etcd")))

    def test_verify_tells_if_a_member_would_start(self):
        member = self.member
        member.start_etcd()
        member.write(1)
        seen = member.seen()
        member.stop()
        told = member.verify()
        self.assertTrue(told["wouldStart"], told)
        self.assertEqual((told["owner"], told["memberID"], told["clusterID"], told["database"]["revision"]),
                         ("etcd", seen["member"], seen["cluster"], seen["revision"]))
        member.adopt()
        told = member.verify()
        self.assertTrue(told["wouldStart"], told)
        self.assertEqual((told["owner"], told["database"]["revision"]), ("kvorum", seen["revision"]))
        wal = os.path.join(member.data_dir, "member", "wal")
        last = os.path.join(wal, sorted(name for name in os.listdir(wal) if name.endswith(".wal"))[-1])
        member.start_kvorum()
        member.write(2, operations=40)
        member.stop()
        with open(last, "r+b") as file:
            content = file.read()
            at = content.rindex(b"after 1")
            file.seek(at)
            file.write(b"AFTER")
        told = member.verify()
        self.assertFalse(told["wouldStart"], told)
        self.assertTrue(told["lost"])
        ours = server.Server(data_dir=member.data_dir)
        self.addCleanup(ours.close)
        self.assertEqual(ours.refuse()[0], 1)

    def test_three_members_move_together(self):
        members = [self.member] + [Member(name) for name in ("m2", "m3")]
        for member in members:
            member.cluster = members
            self.addCleanup(member.close)

        def start_all(binary):
            for member in members:
                member.launch(binary)
            for member in members:
                member.wait()

        def stop_all():
            for member in members:
                member.stop()

        def seen_everywhere():
            everywhere = [member.seen() for member in members]
            for each in everywhere:
                each.pop("member")
                each["members"].sort()
            self.assertEqual(everywhere[0], everywhere[1])
            self.assertEqual(everywhere[0], everywhere[2])
            return everywhere[0]

        start_all(ctl.ETCD)
        members[1].write(11)
        before = seen_everywhere()
        stop_all()
        for member in members:
            member.adopt()
        start_all(server.BINARY)
        self.assertEqual(seen_everywhere(), before)
        members[2].write(12)
        before = seen_everywhere()
        if not peer_is_3_7():
            return
        stop_all()
        for member in members:
            member.release()
        start_all(ctl.ETCD)
        self.assertEqual(seen_everywhere(), before)
        members[0].write(13)
        seen_everywhere()

    def kill_at_random_moments(self, command, rng, longest):
        """True if it came to its end once."""
        process = subprocess.Popen([UTL, command, "--data-dir", self.member.data_dir], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            return process.wait(rng.uniform(0, longest)) == 0
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return False

    def test_killed_moves_are_finished_by_the_next(self):
        member = self.member
        member.start_etcd()
        member.write(1, operations=1500)
        before = member.seen()
        member.stop()
        rng = random.Random(7)
        for command, start in (("adopt", member.start_kvorum), ("release", member.start_released)):
            saved = os.path.join(member.folder, "saved")
            shutil.copytree(member.data_dir, saved)
            begin = time.monotonic()
            utl(command, "--data-dir", member.data_dir)
            took = time.monotonic() - begin
            killed = 0
            for _ in range(15):
                shutil.rmtree(member.data_dir)
                shutil.copytree(saved, member.data_dir)
                for _ in range(3):
                    killed += not self.kill_at_random_moments(command, rng, took)
                utl(command, "--data-dir", member.data_dir)
                utl(command, "--data-dir", member.data_dir, "--drop-old")
            shutil.rmtree(saved)
            start()
            self.assertEqual(member.seen(), before)
            member.stop()
            # The last of three in a row mostly finds little to do.
            self.assertGreaterEqual(killed, 10, command)


class OlderTest(unittest.TestCase):
    """Directories that older versions of etcd wrote."""

    def adopted(self, etcd):
        """(member, what was seen before, what adopt told): kvorum serves it."""
        member = Member(etcd=etcd)
        self.addCleanup(member.close)
        member.start_etcd()
        member.write(1)
        before = member.seen()
        member.stop()
        told = member.adopt()
        member.start_kvorum()
        self.assertEqual(member.seen(), before)
        return member, before, told

    @unittest.skipUnless(os.path.exists(ETCD_36), "no etcd of 3.6 in $KVORUM_PEER_36")
    def test_3_6_there_and_back_by_a_downgrade(self):
        member, before, _ = self.adopted(ETCD_36)
        # Alone, it has raised the version.
        self.until_storage_is(member, "3.7.0")
        ctl.succeed(member.endpoint, "downgrade", "enable", "3.6")
        self.until_storage_is(member, "3.6.0")
        member.stop()
        self.assertIn("The storage version is 3.6.0.", member.release())
        member.start_etcd()
        self.assertEqual(member.seen(), before)

    def until_storage_is(self, member, version):
        def told():
            with urllib.request.urlopen(f"http://{member.endpoint}/version", timeout=10) as answer:
                return json.load(answer)["storage"] == version
        cluster.wait_until(told, f"the storage version {version}")

    @unittest.skipUnless(os.path.exists(ETCD_34), "no etcd of 3.4 in $KVORUM_PEER_34")
    def test_3_4_is_taken_as_the_documents_say(self):
        """Its database states neither term nor configuration, and lags behind entries that change no key."""
        self.check_taken(ETCD_34, "3.4")

    @unittest.skipUnless(os.path.exists(ETCD_35), "no etcd of 3.5 in $KVORUM_PEER_35")
    def test_3_5_is_taken_as_the_documents_say(self):
        self.check_taken(ETCD_35, "3.5")

    def check_taken(self, etcd, version):
        """By docs/operations/moving.md, with all members stopped: this one is alone."""
        shown = subprocess.run([etcd, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
        self.assertTrue(shown.startswith(f"etcd Version: {version}."), shown)
        member, before, told = self.adopted(etcd)
        first, second = told.splitlines()
        self.assertRegex(first, rf"^Adopted member {before['member']:x} of cluster {before['cluster']:x}: \d+ records at "
                                r"log index (\d+); the log goes on to (\d+)\.$")
        self.assertEqual(second, f"etcd's database is kept as {member.data_dir}/member/snap/db.etcd; --drop-old removes it.")


if __name__ == "__main__":
    if not ctl.etcd_is_here():
        print("SKIPPED: there is no etcd")
        sys.exit(0)
    unittest.main()

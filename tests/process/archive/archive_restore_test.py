#!/usr/bin/env python3
"""A cluster that archives under load and faults, and restores of it: each is compared with what the cluster was.

The load has every kind of change (archive_load.py). Members are killed, the lead moves, the archive is a folder or a
bucket that fails in many ways (s3_fake.py). Restores go to revisions and times that were chosen beforehand, and to ones
drawn afterwards. The restored member says the hash that the cluster had at that revision, and has the keys that the
changes up to there lead to; at moments in which nothing changed, it has the users, roles and leases of that moment too.

KVORUM_ARCHIVE_S: so many seconds of load in each test, with many restores, the longer outage and, beside the load, puts
at KVORUM_ARCHIVE_RATE a second. Without it: some seconds. KVORUM_ARCHIVE_SEED chooses operations, faults and targets.
"""

import contextlib
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import grpc
from etcd3.etcdrpc import rpc_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import archive_load  # noqa: E402
import archive_probe  # noqa: E402
import cluster  # noqa: E402
import s3_fake  # noqa: E402
import server  # noqa: E402
from archive_load import PREFIX, PREFIX_END  # noqa: E402

LOAD_S = float(os.environ.get("KVORUM_ARCHIVE_S", "0"))
IS_LONG = LOAD_S > 0
RATE = int(os.environ.get("KVORUM_ARCHIVE_RATE", "20000")) if IS_LONG else 0
SEED = int(os.environ.get("KVORUM_ARCHIVE_SEED", "1"))
OUTAGE_S = 30 if IS_LONG else 6
# Restores of each kind of target in each test.
ROUNDS = 5 if IS_LONG else 1
INTERVAL_S = 1
# Between what a busy machine does late and what is asked for.
SLACK_S = 1.5
# A restored time may be older by what lies between two marks, and by the machine's delays.
TIME_SLACK_S = 0.5
FLAGS = [*cluster.QUICK, "--bcrypt-cost", "4", "--snapshot-count", "500", "--archive-interval", f"{INTERVAL_S}s",
         "--archive-base-interval", "4s"]


class FastPuts(threading.Thread):
    """Puts of kvorum-bench to the leader, seconds at a time, through failures."""

    def __init__(self, members, rate):
        super().__init__(name="fast-puts")
        self.members = members
        self.rate = rate
        self.stops = threading.Event()

    def run(self):
        bench = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorum-bench")
        while self.rate and not self.stops.is_set():
            with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
                subprocess.run([bench, "--endpoint", self.members.leader().endpoint, "--connections", "4", "--streams", "16",
                                "--keys", "100000", "--rate", str(self.rate), "--seconds", "3", "--warmup", "0", "put"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=20)

    def stop(self):
        self.stops.set()
        self.join()


class ArchiveCase(unittest.TestCase):
    def setUp(self):
        self.rng = random.Random(SEED)
        self.folder = tempfile.mkdtemp(prefix="kvorum-archive-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.restores = 0
        self.truths = []  # of moments without a change
        self.samples = []  # of moments under load

    def begin(self, place):
        self.place = place
        self.members = cluster.Cluster(3, [*FLAGS, *place.server_flags])
        self.addCleanup(lambda: self.members.close(keep=False))
        self.members.start()
        self.members.leader()
        self.load = archive_load.Load(self.members, seed=SEED, kept_revisions=300 + 5 * RATE)
        self.addCleanup(self.load.close)
        self.fast = FastPuts(self.members, RATE)
        self.addCleanup(self.fast.stop)
        self.fast.start()

    def go_on(self, seconds):
        """The load, with samples of the truth at random moments."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(self.rng.uniform(0.1, 0.6))
            self.load.check()
            self.samples.append(self.load.sample())

    def rest(self):
        self.truths.append(self.load.milestone(f"{len(self.truths)}"))

    def kill_one(self, member):
        member.kill()
        self.members.leader()
        self.load.wait_more(100)
        member.start()

    def move_lead(self):
        leader, follower = self.members.leader(), self.rng.choice(self.members.followers())
        follower_id = f"{follower.wait_status().header.member_id:x}"
        self.members.ctl("move-leader", follower_id, endpoints=[leader.endpoint])

    def finish_load(self):
        """The last truth; all of it archived."""
        self.fast.stop()
        self.load.stop()
        self.rest()
        self.load.changes.wait(self.truths[-1].revision)
        self.samples = [truth for truth in self.samples if truth is not None]
        self.wait_archived(self.truths[-1].revision)
        self.assertGreater(len(self.samples), 3)

    def wait_archived(self, revision, timeout=90):
        def is_archived():
            found = archive_probe.metrics(self.members.leader().endpoint)
            return found is not None and found["kvorum_archive_revision"] >= revision
        cluster.wait_until(is_archived, f"revision {revision} to be archived", timeout)

    def check_whole(self):
        """The archive as the tool sees it, without a server."""
        self.assertTrue(self.place.json("ls"))
        self.place.succeed("verify")
        for member in self.members.members:
            for start in range(1, member.starts + 1):
                self.assertNotIn(s3_fake.S3Fake.SECRET_KEY.encode(), member.log_of(start))

    def restore(self, *target):
        """A new member's folder with that state, and what the tool says about it."""
        self.restores += 1
        data_dir = os.path.join(self.folder, f"restored{self.restores}")
        report = self.place.json("restore", *target, "--data-dir", data_dir)
        return data_dir, report

    def restored(self, *target):
        """A server of that state, and the revision that the tool says."""
        data_dir, report = self.restore(*target)
        served = server.Server(data_dir=data_dir)
        self.addCleanup(served.close)
        self.addCleanup(shutil.rmtree, data_dir, ignore_errors=True)
        return served.start(), int(report["revision"])

    def judge(self, served, revision, truth=None):
        with served.channel() as channel:
            kv = server.kv(channel)
            answer = kv.Range(rpc_pb2.RangeRequest(key=PREFIX, range_end=PREFIX_END, revision=revision), timeout=30)
            keys = {each.key: (each.value, each.create_revision, each.mod_revision, each.version, each.lease)
                    for each in answer.kvs}
            self.assertEqual(keys, self.load.changes.at(revision))
            self.assertNotEqual(answer.header.cluster_id, self.members.alive[0].wait_status().header.cluster_id)
            if truth is None:
                return
            self.assertEqual(truth.revision, revision)
            found = archive_load.hash_of(served.endpoint, revision)
            if found[1] != truth.compact_revision and truth.state is None:
                # The hash was taken a moment after the revision's first entry: a compaction may have come in between.
                self.assertLess(found[1], truth.compact_revision)
                kv.Compact(rpc_pb2.CompactionRequest(revision=truth.compact_revision, physical=True), timeout=30)
                found = archive_load.hash_of(served.endpoint, revision)
            self.assertEqual(found, (truth.hash, truth.compact_revision))
        if truth.state is not None:
            self.assertEqual(archive_load.state_of(served.endpoint), truth.state)

    def judge_restore(self, target, truth=None, revision=None):
        with self.subTest(target=target, seed=SEED):
            served, said = self.restored(*target)
            try:
                if revision is not None:
                    self.assertEqual(said, revision)
                self.judge(served, said, truth)
            finally:
                served.close()
            return said
        return None

    def judge_revisions(self):
        truth = self.rng.choice(self.truths)
        self.judge_restore(("--to-revision", str(truth.revision)), truth, truth.revision)
        truth = self.rng.choice([each for each in self.samples if each.revision >= self.first_restorable()])
        self.judge_restore(("--to-revision", str(truth.revision)), truth, truth.revision)
        drawn = self.rng.choice([each for each in self.load.changes.revisions() if each >= self.first_restorable()])
        self.judge_restore(("--to-revision", str(drawn)), revision=drawn)

    def judge_times(self):
        truth = self.rng.choice(self.truths)
        self.judge_restore(("--to-time", f"{truth.moment:.3f}"), truth, truth.revision)
        drawn = self.rng.uniform(self.truths[0].moment, self.truths[-1].moment)
        text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(drawn)) + f"{drawn % 1:.3f}"[1:] + "Z"
        said = self.judge_restore(("--to-time", text))
        if said is not None:
            self.assertGreaterEqual(said, self.load.acknowledged.at(drawn - TIME_SLACK_S), text)
            self.assertLess(said, self.load.acknowledged.first_behind(drawn + 0.001), text)

    def first_restorable(self):
        """The load begins while the archive does: the first moment of rest is archived, what was before it may not be."""
        return self.truths[0].revision


class FolderTest(ArchiveCase):
    def test_what_was_is_restored_and_nothing_joins_by_mistake(self):
        archive = os.path.join(self.folder, "archive")
        self.begin(archive_probe.Place.of_folder(archive))
        self.wait_archived(2)
        self.check_lag()
        self.rest()
        # The leader, which archives; then another one.
        self.kill_one(self.members.leader())
        self.go_on(max(2, LOAD_S / 3))
        self.rest()
        self.move_lead()
        self.go_on(max(2, LOAD_S / 3))
        self.kill_one(self.rng.choice(self.members.members))
        self.finish_load()
        self.check_whole()
        for _ in range(ROUNDS):
            self.judge_revisions()
            self.judge_times()
        self.check_damage(archive)
        self.check_refusal()
        self.check_new_line()
        self.members.check_equal()
        self.members.check_logs()

    def check_lag(self):
        """No acknowledged write is behind for longer than an interval, and the metric says so."""
        leader = self.members.leader()
        with archive_probe.LagProbe(leader.endpoint, self.load.acknowledged) as probe:
            self.go_on(max(4, LOAD_S / 3))
        seen = sorted(by_clients for by_clients, _ in probe.samples)
        self.assertGreater(len(seen), 20)
        print(f"{len(seen)} samples: acknowledged writes are at most {seen[-1]:.2f} s behind, {seen[len(seen) // 2]:.2f} s in "
              f"the median; by the metric at most {max(metric for _, metric in probe.samples):.2f} s", flush=True)
        self.assertLess(seen[-1], INTERVAL_S + SLACK_S)
        self.assertGreater(seen[-1], 0, "the samples never saw a write that waits")
        for by_clients, by_metric in probe.samples:
            self.assertLess(abs(by_metric - by_clients), INTERVAL_S + SLACK_S)

    def check_damage(self, archive):
        """Nothing is restored over an object that is missing or changed; what lies before it still is."""
        copy = os.path.join(self.folder, "damaged")
        shutil.copytree(archive, copy)
        place = archive_probe.Place.of_folder(copy)
        history = pathlib.Path(copy, place.json("ls")["histories"][0]["history"])
        # Every restore goes through the whole log.
        for base in sorted((history / "base").iterdir())[1:]:
            shutil.rmtree(base)
        logs = sorted((history / "log").iterdir())
        victim = logs[len(logs) // 2]
        content = victim.read_bytes()
        self.place, intact = place, self.place
        try:
            for damage in (lambda: victim.write_bytes(content[:-100] + bytes([content[-100] ^ 1]) + content[-99:]),
                           lambda: victim.write_bytes(content[:len(content) // 2]), victim.unlink):
                damage()
                verified = place.run("verify")
                self.assertEqual(verified.returncode, 1, verified)
                self.assertIn(victim.name, verified.stdout + verified.stderr)
                data_dir = os.path.join(self.folder, "never")
                refused = place.run("restore", "--latest", "--data-dir", data_dir)
                self.assertNotEqual(refused.returncode, 0)
                self.assertFalse(os.path.exists(os.path.join(data_dir, "member")))
            before = int(logs[len(logs) // 2 - 1].name.split("-")[2])
            self.judge_restore(("--to-revision", str(before)), revision=before)
        finally:
            self.place = intact

    def check_new_line(self):
        """A restored member archives to the same place without harm to what is there."""
        left = self.truths[0]
        data_dir, _ = self.restore("--to-revision", str(left.revision))
        before = {each["history"] for each in self.place.json("ls")["histories"]}
        self.assertEqual(len(before), 1)
        with server.Server(*self.place.server_flags, data_dir=data_dir) as served:
            served.start()
            with served.channel() as channel:
                server.put(server.kv(channel), PREFIX + b"other", b"line")
                revision = server.put(server.kv(channel), PREFIX + b"other", b"line").header.revision

            def is_archived():
                found = archive_probe.metrics(served.endpoint)
                # Its history may begin behind these writes, which are then in its first base alone.
                return found and found["kvorum_archive_revision"] >= revision and found["kvorum_archive_bases_total"] > 0
            cluster.wait_until(is_archived, "the restored member to archive", 60)
        histories = self.place.json("ls")["histories"]
        new = [each for each in histories if each["history"] not in before]
        self.assertEqual(len(new), 1)
        self.assertEqual(new[0]["parent"]["history"], *before)
        self.assertEqual(int(new[0]["parent"]["revision"]), left.revision)
        self.place.succeed("verify")
        served, said = self.restored("--latest", "--history", new[0]["history"])
        with served.channel() as channel:
            self.assertEqual(server.get(server.kv(channel), PREFIX + b"other").kvs[0].value, b"line")
        self.assertEqual(said, revision)
        served.close()
        served, said = self.restored("--latest", "--history", *before)
        self.judge(served, said, self.truths[-1])
        served.close()

    def check_refusal(self):
        """A restored member in the place of one of the old cluster's, with its name, addresses and token."""
        member = self.rng.choice(self.members.followers())
        leader = self.members.leader()
        revision, hashes = self.members.wait_equal()
        others = self.members.initial_cluster(member)
        self.assertEqual(others.count("="), 3)
        data_dir, _ = self.restore("--to-revision", str(self.truths[1].revision), "--name", member.name, "--initial-cluster",
                                   others, "--initial-advertise-peer-urls", member.peer_url, "--initial-cluster-token",
                                   self.members.token)
        member.kill()
        own, member.data_dir = member.data_dir, data_dir
        member.launch()
        time.sleep(4)
        self.assertNotIn(server.READY, member.log())
        if member.alive:
            member.kill()
        self.assertIs(self.members.leader(), leader)
        member.data_dir = own
        member.start()
        self.assertEqual(self.members.wait_equal(), (revision, hashes))


class BucketTest(ArchiveCase):
    FAULTS = {"error": 0.02, "slow_down": 0.01, "drop": 0.01, "truncate": 0.005, "slow": 0.005, "error_inside": 0.01,
              "conflict": 0.01, "slow_s": 0.3}

    def set_faults(self, **more):
        self.fake.faults = s3_fake.Faults(**{**self.FAULTS, **more})

    def test_what_was_is_restored_from_a_bucket_that_fails(self):
        self.fake = s3_fake.S3Fake(seed=SEED, versioned=True, page_keys=20)
        self.addCleanup(self.fake.close)
        self.set_faults()
        self.credentials = os.path.join(self.folder, "credentials")
        self.write_credentials()
        self.begin(archive_probe.Place.of_bucket(self.fake, self.credentials))
        self.wait_archived(2)
        self.rest()
        self.go_on(max(2, LOAD_S / 4))
        self.renew_keys()
        self.kill_one(self.members.leader())
        self.survive_outage()
        self.rest()
        # Slow and throttled; the store's clock is another one, too.
        self.set_faults(slow=0.2, truncate=0.1, slow_down=0.1)
        self.fake.skew_s = 20 * 60
        self.go_on(max(3, LOAD_S / 4))
        self.move_lead()
        self.go_on(max(2, LOAD_S / 4))
        self.fake.skew_s = 0
        self.set_faults()
        self.finish_load()
        self.check_faults_happened()
        self.check_whole()
        for _ in range(ROUNDS):
            self.judge_revisions()
            self.judge_times()
        self.members.check_equal()
        self.members.check_logs()

    def write_credentials(self):
        with open(self.credentials + ".new", "w", encoding="utf8") as file:
            file.write(self.fake.credentials())
        os.chmod(self.credentials + ".new", 0o600)
        os.rename(self.credentials + ".new", self.credentials)

    def renew_keys(self):
        """The file has another key; a while later the first one is gone."""
        self.fake.keys["AKIDSECOND"] = "another+secret"
        self.write_credentials()
        self.go_on(1)
        del self.fake.keys[self.fake.ACCESS_KEY]

    def survive_outage(self):
        """Puts go on, nothing is lost, and what waits is not held in memory."""
        leader = self.members.leader()
        before = archive_probe.memory_kib(leader.process.pid, "VmRSS")
        with self.fake.outage():
            count = self.load.acknowledged.count
            self.go_on(OUTAGE_S)
            self.assertGreater(self.load.acknowledged.count - count, 50 * OUTAGE_S)
            if leader.alive and not IS_LONG:
                self.assertLess(archive_probe.memory_kib(leader.process.pid, "VmRSS") - before, 64 << 10)
        self.wait_archived(leader.wait_status().header.revision)

    def check_faults_happened(self):
        print(f"{sum(self.fake.requests.values())} requests; faults: {dict(self.fake.happened)}; refusals: "
              f"{dict(self.fake.refusals)}", flush=True)
        for kind in ("error", "slow_down", "drop", "slow", "outage"):
            self.assertGreater(self.fake.happened[kind], 0, kind)
        self.assertGreater(self.fake.refusals["RequestTimeTooSkewed"], 0)
        # Each request was signed rightly, with each of the two keys.
        self.assertEqual(self.fake.refusals["SignatureDoesNotMatch"], 0)


class LockTest(unittest.TestCase):
    """A bucket with object lock: retention wants to delete what the lock still protects."""

    def test_locked_objects_stay(self):
        fake = s3_fake.S3Fake(lock_s=3600)
        self.addCleanup(fake.close)
        folder = tempfile.mkdtemp(prefix="kvorum-archive-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        credentials = os.path.join(folder, "credentials")
        with open(credentials, "w", encoding="utf8") as file:
            file.write(fake.credentials())
        os.chmod(credentials, 0o600)
        place = archive_probe.Place.of_bucket(fake, credentials)
        with server.Server("--archive-interval", "200ms", "--archive-base-interval", "1s", "--archive-keep-bases", "1",
                           *place.server_flags) as served:
            served.start()

            def is_refused():
                with served.channel() as channel:
                    server.put(server.kv(channel), b"key", b"value")
                found = archive_probe.metrics(served.endpoint)
                return found["kvorum_archive_bases_total"] > 3 and found["kvorum_archive_locked_objects_total"] > 0
            cluster.wait_until(is_refused, "retention to meet a lock", 30)
            self.assertEqual(archive_probe.metrics(served.endpoint)["kvorum_archive_pruned_objects_total"], 0)
        hidden = [key for key, versions in fake.bucket.objects.items() if any(each.body is None for each in versions)]
        self.assertEqual(hidden, [])
        place.succeed("verify")


if __name__ == "__main__":
    unittest.main()

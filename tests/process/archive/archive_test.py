"""--archive-url: real members archive every committed entry to a folder, over restarts, kills, leader changes and a
folder that fails; metrics and kvorumctl doctor say so. Restores are archive_restore_test's."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cluster  # noqa: E402
import server  # noqa: E402

FAST = ("--archive-interval", "100ms")
LOG_NAME = re.compile(r"(\d{20})-(\d{20})-(\d{20})-(\d{20})\.gz")
BASE_NAME = re.compile(r"(\d{20})-(\d{20})-(\d{20})")
SERIES = re.compile(r"(kvorum_archive_\w+(?:\{[^}]*\})?) ([-+.\de]+)")


def archive_metrics(endpoint):
    """Its kvorum_archive_* by name and label."""
    with urllib.request.urlopen(f"http://{endpoint}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return {name: float(value) for name, value in SERIES.findall(text)}


def state_of(endpoint):
    return next((re.search(r'"(\w+)"', name)[1] for name, value in archive_metrics(endpoint).items()
                 if name.startswith("kvorum_archive_state") and value == 1), None)


class Folder:
    """An archive's folder, as its files are."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="kvorum-archive-")
        self.path = os.path.join(self.root, "archive")
        self.aside = os.path.join(self.root, "aside")

    def close(self):
        shutil.rmtree(self.root, ignore_errors=True)

    @property
    def flags(self):
        return ("--archive-url", f"file://{self.path}", *FAST)

    def histories(self):
        names = os.listdir(self.path) if os.path.isdir(self.path) else []
        return sorted(name for name in names if re.fullmatch(r"[0-9a-f]{16}", name))

    def names(self, history, kind):
        folder = os.path.join(self.path, history, kind)
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def logs(self, history):
        """(first, last, revision, unix ms) of each object of the log, by its first entry."""
        found = [LOG_NAME.fullmatch(name) for name in self.names(history, "log")]
        return sorted(tuple(map(int, match.groups())) for match in found)

    def bases(self, history):
        """(index, revision, unix ms) of each base with a manifest."""
        return [tuple(map(int, BASE_NAME.fullmatch(name).groups())) for name in self.names(history, "base")
                if "manifest.json" in self.names(history, os.path.join("base", name))]

    def fail(self):
        """From here on a file is in its place: each call of the store is an error."""
        os.rename(self.path, self.aside)
        with open(self.path, "wb"):
            pass

    def mend(self):
        os.remove(self.path)
        os.rename(self.aside, self.path)


class ArchiveTest(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)

    def one_member(self, *flags):
        member = server.Server(*self.folder.flags, *flags)
        self.addCleanup(member.close)
        return member.start()

    def put(self, member, count, start=0):
        """The revision of the last one."""
        with member.channel() as channel:
            stub = server.kv(channel)
            for number in range(start, start + count):
                revision = server.put(stub, b"key-%d" % number, b"value").header.revision
        return revision

    def wait_archived(self, endpoint, revision, timeout=60):
        cluster.wait_until(lambda: archive_metrics(endpoint).get("kvorum_archive_revision", 0) >= revision,
                           f"revision {revision} to be archived", timeout)

    def check_whole(self, revision):
        """There is one history, whose objects have every entry behind its first base, up to this revision. What is before
        that base is of no use to a restore, and may be pruned."""
        self.assertEqual(len(self.folder.histories()), 1)
        history, = self.folder.histories()
        next_index = cluster.wait_until(lambda: self.folder.bases(history), "a base from the beginning")[0][0] + 1
        last_revision = 0
        for first, last, reached, _ in self.folder.logs(history):
            self.assertLessEqual(first, next_index, "entries are missing")
            next_index = max(next_index, last + 1)
            last_revision = max(last_revision, reached)
        self.assertGreaterEqual(last_revision, revision)
        self.assertEqual(self.folder.names(history, "gap"), [])
        return history

    def doctor(self, endpoint):
        done = subprocess.run([cluster.CTL, "--endpoints", endpoint, "doctor", "-w", "json"], capture_output=True,
                              timeout=60, check=False, stdin=subprocess.DEVNULL)
        return {finding["code"] for finding in json.loads(done.stdout)["findings"]}

    def test_without_it_nothing_is_archived_and_no_series_is_there(self):
        with server.Server() as member:
            member.start()
            self.put(member, 3)
            self.assertEqual(archive_metrics(member.endpoint), {})

    def test_everything_is_archived_over_restarts_and_kills(self):
        member = self.one_member()
        revision = self.put(member, 50)
        self.wait_archived(member.endpoint, revision)
        metrics = archive_metrics(member.endpoint)
        self.assertEqual(state_of(member.endpoint), "archiving")
        self.assertGreater(metrics["kvorum_archive_objects_total"], 0)
        self.assertGreater(metrics["kvorum_archive_bytes_total"], 0)
        cluster.wait_until(lambda: archive_metrics(member.endpoint)["kvorum_archive_bases_total"] == 1, "a base")
        self.assertEqual(metrics["kvorum_archive_gaps_total"], 0)
        cluster.wait_until(lambda: archive_metrics(member.endpoint)["kvorum_archive_lag_seconds"] == 0, "no lag")
        self.assertFalse({code for code in self.doctor(member.endpoint) if code.startswith("archive")})
        self.check_whole(revision)

        code, took = member.stop()
        self.assertEqual(code, 0)
        self.assertLess(took, 5)
        member.start()
        revision = self.put(member, 50, start=50)
        member.kill()
        member.start()
        self.wait_archived(member.endpoint, revision)
        revision = self.put(member, 10, start=100)
        self.wait_archived(member.endpoint, revision)
        self.check_whole(revision)

    def test_the_next_leader_goes_on_without_a_gap(self):
        with cluster.Cluster(flags=(*cluster.QUICK, *self.folder.flags)) as members:
            members.start()
            revision = 0
            for round_number in range(3):
                leader = members.leader()
                cluster.wait_until(lambda m=leader: state_of(m.endpoint) == "archiving", "the leader to archive")
                for member in members.followers():
                    self.assertEqual(state_of(member.endpoint), "following")
                revision = self.put(leader, 100, start=100 * round_number)
                leader.kill()
                now = members.leader()
                revision = self.put(now, 20)
                self.wait_archived(now.endpoint, revision)
                self.check_whole(revision)
                leader.start()
            members.check_logs()

    def test_writes_go_on_while_the_folder_fails_and_then_it_is_caught_up_with(self):
        member = self.one_member()
        revision = self.put(member, 20)
        self.wait_archived(member.endpoint, revision)
        self.folder.fail()
        revision = self.put(member, 20, start=20)
        cluster.wait_until(lambda: state_of(member.endpoint) == "failing", "the state to say so")
        cluster.wait_until(lambda: archive_metrics(member.endpoint)["kvorum_archive_lag_seconds"] > 1, "the lag to grow")
        metrics = archive_metrics(member.endpoint)
        self.assertGreater(metrics["kvorum_archive_failures_total"] + metrics["kvorum_archive_retries_total"], 0)
        self.assertLess(metrics["kvorum_archive_revision"], revision)
        self.assertIn("archive-failing", self.doctor(member.endpoint))
        revision = self.put(member, 500, start=40)
        self.folder.mend()
        self.wait_archived(member.endpoint, revision)
        cluster.wait_until(lambda: state_of(member.endpoint) == "archiving", "the state to be good again")
        self.check_whole(revision)

    def test_a_start_without_the_folder_loses_nothing(self):
        member = self.one_member()
        self.wait_archived(member.endpoint, self.put(member, 20))
        self.folder.fail()
        self.put(member, 20, start=20)
        member.stop()
        member.start()
        revision = self.put(member, 20, start=40)
        self.folder.mend()
        self.wait_archived(member.endpoint, revision)
        self.check_whole(revision)

    def test_old_bases_and_what_is_before_them_go(self):
        member = self.one_member("--archive-base-interval", "1s", "--archive-keep-bases", "2")
        history = None
        for number in range(5):
            made = archive_metrics(member.endpoint).get("kvorum_archive_bases_total", 0)
            revision = self.put(member, 5, start=5 * number)
            cluster.wait_until(lambda n=made: archive_metrics(member.endpoint)["kvorum_archive_bases_total"] > n,
                               "the next base")
            history, = self.folder.histories()

        def pruned():
            bases = self.folder.bases(history)
            logs = self.folder.logs(history)
            return len(bases) <= 2 and logs and logs[0][1] >= bases[0][0] and logs[0][0] > 1
        cluster.wait_until(pruned, "what is old to go")
        self.assertGreater(archive_metrics(member.endpoint)["kvorum_archive_pruned_objects_total"], 0)
        self.wait_archived(member.endpoint, revision)

    def test_another_clusters_archive_is_another_history(self):
        member = self.one_member()
        self.wait_archived(member.endpoint, self.put(member, 5))
        other = server.Server(*self.folder.flags, "--initial-cluster-token", "another")
        self.addCleanup(other.close)
        other.start()
        self.wait_archived(other.endpoint, self.put(other, 5))
        self.assertEqual(len(self.folder.histories()), 2)

    def test_an_archive_of_other_data_is_left_alone_until_it_is_told_otherwise(self):
        member = self.one_member()
        revision = self.put(member, 50)
        self.wait_archived(member.endpoint, revision)
        cluster.wait_until(lambda: archive_metrics(member.endpoint)["kvorum_archive_bases_total"] == 1, "a base")
        history = self.check_whole(revision)
        before = self.folder.logs(history)
        member.stop()
        shutil.rmtree(member.data_dir)
        member.start()  # of the same cluster id, made anew
        self.put(member, 5)
        cluster.wait_until(lambda: state_of(member.endpoint) == "refused", "the archive to be refused")
        self.assertIn("archive-refused", self.doctor(member.endpoint))
        self.assertEqual(self.folder.histories(), [history])
        self.assertEqual(self.folder.logs(history), before, "nothing of it was changed")
        member.stop()
        member.start("--archive-new-history")
        revision = self.put(member, 5, start=5)
        # Before it leads, the old history's mark is what it knows.
        cluster.wait_until(lambda: state_of(member.endpoint) == "archiving", "a new history")
        self.wait_archived(member.endpoint, revision)
        fresh, = set(self.folder.histories()) - {history}
        with open(os.path.join(self.folder.path, fresh, "history.json"), encoding="utf8") as file:
            self.assertIn(history, file.read(), "it names the one that was there as its parent")
        member.stop()
        member.start()  # the flag is needed once
        self.wait_archived(member.endpoint, self.put(member, 5, start=10))
        self.assertEqual(len(self.folder.histories()), 2)

    def test_a_forced_cluster_begins_a_history_of_its_own(self):
        with cluster.Cluster(flags=(*cluster.QUICK, *self.folder.flags)) as members:
            members.start()
            leader = members.leader()
            self.wait_archived(leader.endpoint, self.put(leader, 20))
            members.check_equal()
            history, = self.folder.histories()
            for member in members.members:
                member.kill()
            alone = members.members[0]
            alone.start("--force-new-cluster")
            with open(os.path.join(alone.data_dir, "member", "archive-origin.json"), encoding="utf8") as file:
                self.assertEqual(json.load(file)["reason"], "force-new-cluster")
            revision = self.put(alone, 20)
            self.wait_archived(alone.endpoint, revision)
            alone.kill()
            alone.start()
            self.wait_archived(alone.endpoint, self.put(alone, 20))
            fresh, = set(self.folder.histories()) - {history}
            with open(os.path.join(self.folder.path, fresh, "history.json"), encoding="utf8") as file:
                self.assertIn(history, file.read())

    def test_bad_settings_are_refused(self):
        member = server.Server()
        self.addCleanup(member.close)
        for flags, reason in ((("--archive-url", "backup"), "--archive-url: "),
                              (("--archive-url", f"file://{self.folder.path}", "--archive-interval", "1ms"),
                               "--archive-interval must be >=100ms")):
            code, text = member.refuse(*flags)
            self.assertEqual(code, 1)
            self.assertIn(reason, text)


if __name__ == "__main__":
    unittest.main()

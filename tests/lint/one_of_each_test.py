"""What a new RPC, kind of log entry, flag and metric touch: one of each is added to a copy of the tree, and what it changed
is compiled there. The sources are those that docs/architecture.md lists, and no more than MOST.

    one_of_each_test.py COMPILER
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = sys.argv.pop() if len(sys.argv) > 1 and "++" in sys.argv[-1] else "c++"
MOST = {"an RPC that only reads": 4, "a kind of log entry": 3, "a flag": 3, "a metric of a value that a part has": 2}
FOLDERS = ["api", "archive", "auth", "base", "bbolt", "datadir", "lease", "mvcc", "proto", "raft", "rpc", "server", "wal", "watch"]

# By file: (text of the tree, text put in front of it).
NEW = {
    "an RPC that only reads": {
        "api/maintenance_encode.h": [
            ("SharedBytes EncodeHashResponse(",
             "struct Uptime {\n  std::int64_t seconds = 0;\n};\n"
             "SharedBytes EncodeUptimeResponse(const ResponseHeader& header, const Uptime& uptime);\n")],
        "api/maintenance_encode.cc": [
            ("struct HashAnswer {",
             "constexpr auto kUptimeRequest = Describe<EmptyMessage>(\"etcdserverpb.UptimeRequest\");\n"
             "struct UptimeAnswer {\n  ResponseHeader header;\n  std::int64_t seconds = 0;\n};\n"
             "constexpr auto kUptimeAnswer = Describe<UptimeAnswer, "
             "Nested<1, &UptimeAnswer::header, kResponseHeader, \"header\">, "
             "Field<2, &UptimeAnswer::seconds, \"seconds\">>(\"etcdserverpb.UptimeResponse\");\n"),
            ("&kStatus,", "&kUptimeRequest, &kUptimeAnswer, "),
            ("SharedBytes EncodeHashResponse(",
             "SharedBytes EncodeUptimeResponse(const ResponseHeader& header, const Uptime& uptime) {\n"
             "  return wire::EncodeShared(kUptimeAnswer, {.header = header, .seconds = uptime.seconds});\n}\n")],
        "server/call/api.h": [
            ("inline constexpr Method<EmptyMessage, EmptyMessage> kDefragment{",
             "inline constexpr Method<EmptyMessage, Uptime> kUptime{\n"
             "    kMaintenanceService, \"Uptime\", {\"/v3/maintenance/uptime\"}, DecodeEmptyMessage,\n"
             "    EncodeUptimeResponse, kLoggedIn};\n"),
            (">;\n\n}  // namespace api", ", kUptime")],
        "server/services/maintenance/maintenance_service.cc": [
            ("methods.Add(api::kHash,",
             "methods.Add(api::kUptime, [this](const std::shared_ptr<rpc::CallContext>&, Received<EmptyMessage>,\n"
             "                               Reply<Uptime> reply) {\n"
             "    reply.Send(reads_.cluster.Header(reads_.store.revision()), {.seconds = 1});\n  });\n  ")],
    },
    "a kind of log entry": {
        "api/entries/request_kind.h": [
            ("ROW(kDowngradeInfoSet,",
             "ROW(kTrim, 1299, \"trim\", \"etcdserverpb.CompactionRequest\", DecodeCompaction, NoRules, NoCost, kRefused) \\\n  ")],
        "server/apply/applier.h": [
            ("Answer Execute(EntryKind<RequestKind::kCompaction>,",
             "Answer Execute(EntryKind<RequestKind::kTrim>, const CommittedRequest& entry,\n"
             "                 const CompactionRequest& request);\n  ")],
        "server/apply/applier.cc": [
            ("// A client that waits for the deletion is answered",
             "Applier::Answer Applier::Execute(EntryKind<RequestKind::kTrim>, const CommittedRequest&,\n"
             "                                 const CompactionRequest& request) {\n"
             "  return CompactionResult{.revision = request.revision};\n}\n\n")],
    },
    "a flag": {
        "server/process/settings/options.h": [
            ("std::chrono::nanoseconds warning_apply_duration", "bool says_when_it_listens = false;\n  ")],
        "server/process/settings/flag_table.cc": [
            ("{\"corrupt-check-time\",",
             "{\"says-when-it-listens\", \"Logging\", kEffective, &Options::says_when_it_listens, \"false\",\n"
             "       \"Log a line when the client port listens.\"},\n      ")],
        "server/process/process/client_server.cc": [
            ("  KV_TRY(tls_, OpenClientTls(", "  if (options_.says_when_it_listens) KV_INFO(\"listening\");\n")],
    },
    "a metric of a value that a part has": {
        "base/answer_memory.h": [
            ("std::size_t limit_bytes() const", "std::size_t free_bytes() const { return limit_bytes() - used_bytes(); }\n  ")],
        "server/metrics/own_metrics.cc": [
            ("registry.Gauge(\"kvorum_answer_memory_limit_bytes\"",
             "registry.Gauge(\"kvorum_answer_memory_free_bytes\", \"What is left of that.\",\n"
             "                 [&of] { return of.reads->answers.free_bytes(); });\n  ")],
    },
}
# The sources that read the tables, compiled with those that change.
READERS = {
    "an RPC that only reads": ["server/call/api.cc", "server/call/slow_calls.cc", "server/gateway/routes.cc"],
    "a kind of log entry": ["api/entries/internal_request.cc", "api/entries/request_summary.cc",
                            "server/apply/apply_times.cc", "server/apply/entry_check.cc"],
    "a flag": [],
    "a metric of a value that a part has": [],
}


def listed():
    """The sources of docs/architecture.md's table, by what is new."""
    rows = {}
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    table = page.split("| new | sources |\n| --- | --- |\n")[1].split("\n\n")[0]
    for row in table.splitlines():
        what, sources = row.strip("| ").split(" | ")
        rows[what.split(",")[0]] = set(re.findall(r"`([\w/.]+)`", sources))
    return rows


def add(tree, changes):
    for path, edits in changes.items():
        file = tree / path
        text = file.read_text(encoding="utf-8")
        for place, added in edits:
            if place not in text:
                raise AssertionError(f"{path} has no '{place}' any more: the new one goes somewhere else")
            text = text.replace(place, added + place, 1)
        file.unlink()
        file.write_text(text, encoding="utf-8")


def compile_in(tree, source):
    done = subprocess.run([COMPILER, "-std=c++23", "-fsyntax-only", "-Wall", "-Wextra", "-Werror=switch", "-I", str(tree),
                           str(tree / source)], stderr=subprocess.PIPE, check=False, text=True)
    return "" if done.returncode == 0 else f"{source}:\n{done.stderr}"


class OneOfEachTest(unittest.TestCase):
    def check(self, what):
        self.assertEqual(listed()[what], set(NEW[what]))
        self.assertLessEqual(len(NEW[what]), MOST[what])
        with tempfile.TemporaryDirectory(prefix="kvorum-one-of-each-") as folder:
            tree = pathlib.Path(folder)
            for name in FOLDERS:
                shutil.copytree(ROOT / name, tree / name, copy_function=os.link if self.links(tree) else shutil.copy)
            add(tree, NEW[what])
            sources = sorted({path for path in NEW[what] if path.endswith(".cc")} | set(READERS[what]))
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                faults = list(pool.map(lambda source: compile_in(tree, source), sources))
        self.assertEqual("".join(faults), "")

    @staticmethod
    def links(tree):
        """Whether files of the tree can be linked there; `add` makes a changed one anew."""
        return os.stat(tree).st_dev == os.stat(ROOT).st_dev

    def test_an_rpc_that_only_reads(self):
        self.check("an RPC that only reads")

    def test_a_kind_of_log_entry(self):
        self.check("a kind of log entry")

    def test_a_flag(self):
        self.check("a flag")

    def test_a_metric(self):
        self.check("a metric of a value that a part has")


if __name__ == "__main__":
    unittest.main()

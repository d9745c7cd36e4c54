#include <filesystem>
#include <optional>
#include <ostream>
#include <string>

#include "api/member_id.h"
#include "base/file_system.h"
#include "datadir/database_file.h"
#include "mvcc/records/bucket.h"
#include "mvcc/records/key_value.h"
#include "mvcc/records/revision.h"
#include "tools/shell/progress_bar.h"
#include "tools/shell/step_progress.h"
#include "tools/text/json.h"
#include "tools/utl/utl_commands.h"
#include "tools/utl/utl_database.h"
#include "tools/utl/utl_read_log.h"

namespace kvorum::utl {
namespace {

using ctl::JsonBytes;
using ctl::JsonObject;
using ctl::JsonString;
using ctl::Outcome;

std::string BucketLine(std::string_view bucket, std::string_view key, std::string_view value) {
  return JsonObject()
      .Add("bucket", JsonString(bucket))
      .Add("key", JsonBytes(key))
      .Add("value", JsonBytes(value))
      .Finish();
}

Result<std::string> RevisionLine(std::string_view key, std::string_view value) {
  KV_TRY(const auto decoded, mvcc::RevisionKey::Decode(key));
  KV_TRY(const mvcc::KeyValue kv, mvcc::DecodeKeyValue(value));
  return JsonObject()
      .Add("bucket", JsonString("key"))
      .Add("main", std::to_string(decoded.revision.main))
      .Add("sub", std::to_string(decoded.revision.sub))
      .Add("tombstone", decoded.tombstone ? "true" : "false")
      .Add("key", JsonBytes(kv.key))
      .Add("create_revision", std::to_string(kv.create_revision))
      .Add("version", std::to_string(kv.version))
      .Add("lease", std::to_string(kv.lease))
      .Add("value", JsonBytes(kv.value))
      .Finish();
}

Outcome<void> DumpRecords(ctl::Invocation& invocation, const std::string& path) {
  KV_RETURN_IF_ERROR(CheckFile(path));
  ctl::StepProgress progress;
  KV_TRY(const auto database, OpenDatabase(invocation, path, progress.Callback()));
  std::optional<ctl::ProgressBar> bar;
  // Lines on the same terminal would tear it.
  if (!invocation.world.out_is_terminal)
    bar.emplace(invocation.world, [&] { return progress.State(); }, ctl::kBarDelay);
  std::ostream& out = invocation.world.out;
  std::string bucket;
  const auto visited =
      database->Visit({.bucket = [&](std::string_view name) -> Result<void> {
                         bucket = name;
                         return {};
                       },
                       .record = [&](std::string_view key, std::string_view value) -> Result<void> {
                         if (bucket != mvcc::BucketName(mvcc::Bucket::kKey)) {
                           out << BucketLine(bucket, key, value) << '\n';
                           return {};
                         }
                         KV_TRY(const std::string line, RevisionLine(key, value));
                         out << line << '\n';
                         return {};
                       }});
  if (!visited.has_value()) return ctl::FailLocally(visited.error());
  return {};
}

std::string_view EntryTypeName(raft::EntryType type) {
  switch (type) {
    case raft::EntryType::kNormal:
      return "normal";
    case raft::EntryType::kConfChange:
      return "conf_change";
    case raft::EntryType::kConfChangeV2:
      return "conf_change_v2";
  }
  return "unknown";
}

Outcome<void> DumpLog(ctl::Invocation& invocation, const std::string& wal_dir) {
  const auto log = ReadLog(PosixFileSystem(), wal_dir);
  if (!log.has_value()) return ctl::FailLocally(log.error());
  std::ostream& out = invocation.world.out;
  out << JsonObject()
             .Add("member", JsonString(server::IdText(log->metadata.node_id)))
             .Add("cluster", JsonString(server::IdText(log->metadata.cluster_id)))
             .Add("after_index", std::to_string(log->previous_index.value()))
             .Add("term", std::to_string(log->hard_state.term.value()))
             .Add("vote", JsonString(server::IdText(log->hard_state.vote)))
             .Add("commit", std::to_string(log->hard_state.commit.value()))
             .Finish()
      << '\n';
  for (const raft::Entry& entry : log->entries) {
    out << JsonObject()
               .Add("index", std::to_string(entry.index.value()))
               .Add("term", std::to_string(entry.term.value()))
               .Add("type", JsonString(EntryTypeName(entry.type)))
               .Add("data", JsonBytes(entry.data.view()))
               .Finish()
        << '\n';
  }
  return {};
}

Outcome<void> RunDump(ctl::Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 1, "dump requires exactly one argument"));
  const std::string& path = invocation.args.front();
  const std::string& only = invocation.flags.String("only");
  if (!only.empty() && only != "records" && only != "entries")
    return ctl::BadArguments("--only is records or entries");
  const bool has_log = std::filesystem::is_directory(path);
  if (only == "entries" && !has_log)
    return ctl::BadArguments("a database file has no log; give a data directory");
  if (only != "entries") KV_RETURN_IF_ERROR(DumpRecords(invocation, path));
  if (only == "records" || !has_log) return {};
  const std::string& wal_dir = invocation.flags.String("wal-dir");
  return DumpLog(invocation, wal_dir.empty() ? path + "/member/wal" : wal_dir);
}

}  // namespace

ctl::Command DumpCommand() {
  return {
      .use = "dump [options] <filename or data directory>",
      .brief = "Writes the records of a database and the entries of a log as lines of JSON",
      .description =
          R"(Writes each record of a database, and of a data directory then the head and each entry of its log, as a
JSON object in a line. Keys, values and data are in base64. Snapshots and directories of kvorum and etcd
are read alike, and not changed.
)",
      .flags = {{"only",
                 ctl::FlagType::kString,
                 "",
                 "write the records or the entries alone (records, entries)",
                 {"entries", "records"}},
                {"wal-dir", ctl::FlagType::kString, "",
                 "the log's directory, if it is not in the data directory"}},
      .run = RunDump};
}

}  // namespace kvorum::utl

// "verify": would a member start from its directory, and what is lost if not?
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "base/file_system.h"
#include "base/human_bytes.h"
#include "datadir/verify.h"
#include "tools/utl_commands.h"
#include "tools/utl_printer.h"

namespace kvorum::utl {
namespace {

using ctl::Command;
using ctl::FlagType;
using ctl::Invocation;
using ctl::Outcome;

std::string_view NameOf(datadir::DatabaseOwner owner) {
  switch (owner) {
    case datadir::DatabaseOwner::kNobody:
      return "nobody";
    case datadir::DatabaseOwner::kEtcd:
      return "etcd";
    case datadir::DatabaseOwner::kKvorum:
      return "kvorum";
  }
  return "";
}

std::string AsJson(const datadir::Verified& found) {
  nlohmann::ordered_json json;
  json["wouldStart"] = found.would_start();
  json["owner"] = NameOf(found.owner);
  json["memberID"] = found.member.value();
  json["clusterID"] = found.cluster;
  json["log"] = {{"firstIndex", found.first_index.value()},
                 {"lastIndex", found.last_index.value()},
                 {"commit", found.commit.value()},
                 {"snapshotIndex", found.snapshot_index.value()}};
  json["database"] = {{"consistentIndex", found.applied.value()},
                      {"revision", found.revision},
                      {"records", found.records},
                      {"sizeBytes", found.size_bytes},
                      {"storageVersion", found.storage_version}};
  json["problems"] = found.problems;
  json["lost"] = found.lost;
  json["notes"] = found.notes;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void PrintText(std::ostream& out, const datadir::Verified& found) {
  out << fmt::format("Member {:x} of cluster {:x}, a directory of {}\n", found.member.value(),
                     found.cluster, NameOf(found.owner));
  out << fmt::format("Log: entries {} to {}, committed to {}, snapshot at {}\n",
                     found.first_index.value(), found.last_index.value(), found.commit.value(),
                     found.snapshot_index.value());
  out << fmt::format("Database: at entry {}, revision {}, {} records, {}, storage version {}\n",
                     found.applied.value(), found.revision, found.records,
                     HumanBytes(found.size_bytes),
                     found.storage_version.empty() ? "none" : found.storage_version);
  for (const std::string& text : found.notes) out << "Note: " << text << "\n";
  for (const std::string& text : found.problems) out << "Problem: " << text << "\n";
  for (const std::string& text : found.lost) out << "Lost: " << text << "\n";
  out << (found.would_start() ? "The member would start.\n" : "The member would not start.\n");
}

Outcome<void> Run(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckFormat(invocation));
  if (!invocation.args.empty()) return ctl::BadArguments("verify takes no arguments");
  const auto verified = datadir::Verify(
      PosixFileSystem(), invocation.flags.String("data-dir"), invocation.flags.String("wal-dir"),
      std::chrono::duration_cast<Duration>(invocation.flags.Duration("timeout")));
  if (!verified.has_value()) return Fail(ctl::ExitCode::kError, verified.error().message);
  const datadir::Verified& found = *verified;
  if (invocation.flags.String("write-out") == "json") {
    invocation.world.out << AsJson(found) << "\n";
  } else {
    PrintText(invocation.world.out, found);
  }
  // Everything was said already.
  if (!found.would_start()) return Fail(ctl::ExitCode::kError, "");
  return {};
}

}  // namespace

Command VerifyCommand() {
  return {
      .use = "verify --data-dir dir",
      .brief = "Tells whether a stopped member would start, and what is lost if not",
      .description =
          R"(Reads the log, its markers, the snapshot files and the database of a member of kvorum or etcd that
does not run, with all checksums that there are, and changes nothing. The exit code is 0 if the
member would start.
)",
      .flags = {{.name = "data-dir",
                 .type = FlagType::kString,
                 .help = "path of the member's directory",
                 .required = true},
                {.name = "wal-dir",
                 .type = FlagType::kString,
                 .help = "path of its log, if that is somewhere else"}},
      .run = Run};
}

}  // namespace kvorum::utl

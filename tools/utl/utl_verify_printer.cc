// Prints verify's findings about a directory, in every output format.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/text/go_quote.h"
#include "base/text/human_bytes.h"
#include "datadir/verify.h"
#include "tools/session/table.h"
#include "tools/utl/utl_printer.h"

namespace kvorum::utl {
namespace {

using datadir::Verified;

constexpr std::string_view kUnknown = "unknown";

std::string_view OwnerName(datadir::DatabaseOwner owner) {
  switch (owner) {
    case datadir::DatabaseOwner::kNobody:
      return "nobody";
    case datadir::DatabaseOwner::kEtcd:
      return "etcd";
    case datadir::DatabaseOwner::kKvorum:
      return "kvorum";
    case datadir::DatabaseOwner::kUnknown:
      return kUnknown;
  }
  return "";
}

std::string HexNumber(std::uint64_t id) { return fmt::format("{:x}", id); }

std::string IndexText(const std::optional<raft::Index>& index) {
  return index.has_value() ? std::to_string(index->value()) : std::string(kUnknown);
}
std::string MemberText(const Verified& found) {
  return found.member.has_value() ? HexNumber(found.member->value()) : std::string(kUnknown);
}
std::string ClusterText(const Verified& found) {
  return found.cluster.has_value() ? HexNumber(*found.cluster) : std::string(kUnknown);
}
std::string VersionText(const datadir::VerifiedDatabase& database) {
  return database.storage_version.empty() ? "none" : database.storage_version;
}

nlohmann::ordered_json Json(const std::optional<raft::Index>& index) {
  if (!index.has_value()) return nullptr;
  return index->value();
}

std::string AsJson(const Verified& found) {
  nlohmann::ordered_json json;
  json["wouldStart"] = found.would_start();
  json["owner"] = OwnerName(found.owner);
  json["memberID"] = nullptr;
  json["clusterID"] = nullptr;
  if (found.member.has_value()) json["memberID"] = found.member->value();
  if (found.cluster.has_value()) json["clusterID"] = *found.cluster;
  json["log"] = {{"firstIndex", Json(found.first_index)},
                 {"lastIndex", Json(found.last_index)},
                 {"commit", Json(found.commit)},
                 {"snapshotIndex", Json(found.snapshot_index)}};
  json["database"] = nullptr;
  if (found.database.has_value()) {
    json["database"] = {{"consistentIndex", found.database->applied.value()},
                        {"revision", found.database->revision},
                        {"records", found.database->records},
                        {"sizeBytes", found.database->size_bytes},
                        {"storageVersion", found.database->storage_version}};
  }
  json["problems"] = found.problems;
  json["lost"] = found.lost;
  json["notes"] = found.notes;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// Notes first: the worst is read last.
std::vector<std::pair<std::string_view, std::string>> Findings(const Verified& found) {
  std::vector<std::pair<std::string_view, std::string>> findings;
  for (const std::string& text : found.notes) findings.emplace_back("Note", text);
  for (const std::string& text : found.problems) findings.emplace_back("Problem", text);
  for (const std::string& text : found.lost) findings.emplace_back("Lost", text);
  return findings;
}

void PrintText(std::ostream& out, const Verified& found) {
  out << fmt::format("Member {} of cluster {}, a directory of {}\n", MemberText(found),
                     ClusterText(found), OwnerName(found.owner));
  out << fmt::format("Log: entries {} to {}, committed to {}, snapshot at {}\n",
                     IndexText(found.first_index), IndexText(found.last_index),
                     IndexText(found.commit), IndexText(found.snapshot_index));
  if (found.database.has_value()) {
    const datadir::VerifiedDatabase& database = *found.database;
    out << fmt::format("Database: at entry {}, revision {}, {} records, {}, storage version {}\n",
                       database.applied.value(), database.revision, database.records,
                       HumanBytes(database.size_bytes), VersionText(database));
  } else {
    out << "Database: unknown\n";
  }
  for (const auto& [kind, text] : Findings(found)) out << kind << ": " << text << "\n";
  out << (found.would_start() ? "The member would start.\n" : "The member would not start.\n");
}

// Titles and values of the numbers, for the other formats. Sizes are for people in `shown`.
struct Fact {
  std::string_view title;
  std::string_view field;
  std::string shown;
  std::string plain;
};

std::vector<Fact> Facts(const Verified& found) {
  const auto fact = [](std::string_view title, std::string_view field, const std::string& text) {
    return Fact{.title = title, .field = field, .shown = text, .plain = text};
  };
  const auto of_database = [&](const auto& text) {
    return found.database.has_value() ? text(*found.database) : std::string(kUnknown);
  };
  std::vector<Fact> facts = {
      fact("would start", "WouldStart", found.would_start() ? "true" : "false"),
      fact("owner", "Owner", std::string(OwnerName(found.owner))),
      {.title = "member id",
       .field = "MemberID",
       .shown = MemberText(found),
       .plain = found.member.has_value() ? std::to_string(found.member->value())
                                         : std::string(kUnknown)},
      {.title = "cluster id",
       .field = "ClusterID",
       .shown = ClusterText(found),
       .plain = found.cluster.has_value() ? std::to_string(*found.cluster) : std::string(kUnknown)},
      fact("first entry", "FirstIndex", IndexText(found.first_index)),
      fact("last entry", "LastIndex", IndexText(found.last_index)),
      fact("commit", "Commit", IndexText(found.commit)),
      fact("snapshot", "SnapshotIndex", IndexText(found.snapshot_index)),
      fact("applied", "ConsistentIndex",
           of_database([](const auto& database) { return IndexText(database.applied); })),
      fact("revision", "Revision",
           of_database([](const auto& database) { return std::to_string(database.revision); })),
      fact("records", "Records",
           of_database([](const auto& database) { return std::to_string(database.records); })),
      fact("size", "Size",
           of_database([](const auto& database) { return std::to_string(database.size_bytes); })),
      fact("storage version", "StorageVersion", of_database(VersionText))};
  if (found.database.has_value())
    facts[facts.size() - 2].shown = HumanBytes(found.database->size_bytes);
  return facts;
}

void PrintFields(std::ostream& out, const Verified& found) {
  for (const Fact& fact : Facts(found)) out << fmt::format("\"{}\" : {}\n", fact.field, fact.plain);
  for (const auto& [kind, text] : Findings(found))
    out << fmt::format("\"{}\" : {}\n", kind, GoQuote(text));
}

void PrintTables(std::ostream& out, const Verified& found) {
  ctl::Table facts;
  facts.rows.emplace_back();
  for (const Fact& fact : Facts(found)) {
    facts.header.emplace_back(fact.title);
    facts.rows.front().push_back(fact.shown);
  }
  out << ctl::DrawTable(facts);
  ctl::Table findings{.header = {"finding", "text"}, .rows = {}};
  for (const auto& [kind, text] : Findings(found))
    findings.rows.push_back({std::string(kind), text});
  if (!findings.rows.empty()) out << ctl::DrawTable(findings);
}

}  // namespace

ctl::Outcome<void> PrintVerified(const ctl::Invocation& invocation, const Verified& found) {
  const std::string& format = invocation.flags.String("write-out");
  std::ostream& out = invocation.world.out;
  if (format == "protobuf")
    return Fail(ctl::ExitCode::kBadFeature, "protobuf not supported as output format");
  if (format == "json") {
    out << AsJson(found) << '\n';
  } else if (format == "fields") {
    PrintFields(out, found);
  } else if (format == "table") {
    PrintTables(out, found);
  } else {
    PrintText(out, found);
  }
  return {};
}

}  // namespace kvorum::utl

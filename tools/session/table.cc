#include "tools/session/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/letter_case.h"
#include "base/text/human_bytes.h"
#include "base/words.h"
#include "proto/rpc.pb.h"
#include "tools/session/endpoint_answers.h"
#include "tools/session/printer.h"
#include "tools/text/display_width.h"

namespace kvorum::ctl {
namespace {

std::string BoolText(bool value) { return value ? "true" : "false"; }

std::string HumanSize(std::int64_t size_bytes) {
  return HumanBytes(static_cast<std::uint64_t>(size_bytes));
}

// "20%" of the database's file that compaction has freed and defragmentation would give back.
std::string FreePercentage(const etcdserverpb::StatusResponse& status) {
  if (status.dbsize() == 0) return "0%";
  return fmt::format("{}%", 100 - status.dbsizeinuse() * 100 / status.dbsize());
}

std::string HeaderText(std::string_view name) {
  std::string text = UpperCase(std::string(name));
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string Spaces(std::size_t n) { return std::string(n, ' '); }

std::string TrimmedSpace(std::string_view text) { return std::string(Trim(text, " \t\n")); }

// ┌─┬─┐ and its kind.
std::string Rule(const std::vector<std::size_t>& widths, std::string_view left,
                 std::string_view middle, std::string_view right) {
  std::string line(left);
  for (std::size_t column = 0; column < widths.size(); ++column) {
    if (column > 0) line += middle;
    for (std::size_t i = 0; i < widths[column] + 2; ++i) line += "─";
  }
  return line.append(right).append("\n");
}

}  // namespace

Table MemberTable(const etcdserverpb::MemberListResponse& response) {
  Table table{{"ID", "Status", "Name", "Peer Addrs", "Client Addrs", "Is Learner"}, {}};
  for (const etcdserverpb::Member& member : response.members())
    table.rows.push_back({fmt::format("{:x}", member.id()),
                          member.name().empty() ? "unstarted" : "started", member.name(),
                          Join(member.peerurls(), ","), Join(member.clienturls(), ","),
                          BoolText(member.islearner())});
  return table;
}

Table HealthTable(const std::vector<EndpointHealth>& endpoints) {
  Table table{{"endpoint", "health", "took", "error"}, {}};
  for (const EndpointHealth& e : endpoints)
    table.rows.push_back({e.endpoint, BoolText(e.healthy), e.took, e.error});
  return table;
}

Table StatusTable(const std::vector<EndpointStatus>& endpoints) {
  Table table{
      {"endpoint", "ID", "version", "storage version", "db size", "in use", "percentage not in use",
       "quota", "is leader", "is learner", "raft term", "raft index", "raft applied index",
       "errors", "downgrade target version", "downgrade enabled"},
      {}};
  for (const auto& [endpoint, status] : endpoints)
    table.rows.push_back(
        {endpoint, fmt::format("{:x}", status.header().member_id()), status.version(),
         status.storageversion(), HumanSize(status.dbsize()), HumanSize(status.dbsizeinuse()),
         FreePercentage(status), HumanSize(status.dbsizequota()),
         BoolText(status.leader() == status.header().member_id()), BoolText(status.islearner()),
         std::to_string(status.raftterm()), std::to_string(status.raftindex()),
         std::to_string(status.raftappliedindex()), Join(status.errors(), ", "),
         status.downgradeinfo().targetversion(), BoolText(status.downgradeinfo().enabled())});
  return table;
}

Table HashKVTable(const std::vector<EndpointHashKV>& endpoints) {
  Table table{{"endpoint", "hash", "hash_revision"}, {}};
  for (const auto& [endpoint, hash] : endpoints)
    table.rows.push_back(
        {endpoint, std::to_string(hash.hash()), std::to_string(hash.hash_revision())});
  return table;
}

std::string DrawTable(const Table& table) {
  std::vector<std::size_t> widths;
  widths.reserve(table.header.size());
  for (const std::string& name : table.header) widths.push_back(DisplayWidth(HeaderText(name)));
  for (const auto& row : table.rows)
    for (std::size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], DisplayWidth(TrimmedSpace(row[column])));

  std::string text = Rule(widths, "┌", "┬", "┐");
  for (std::size_t column = 0; column < widths.size(); ++column) {
    const std::string name = HeaderText(table.header[column]);
    const std::size_t gap = widths[column] - DisplayWidth(name);
    text += "│ " + Spaces(gap / 2) + name + Spaces(gap - gap / 2) + " ";
  }
  text += "│\n";
  if (!table.rows.empty()) text += Rule(widths, "├", "┼", "┤");
  for (const auto& row : table.rows) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string cell = TrimmedSpace(row[column]);
      text += "│ " + Spaces(widths[column] - DisplayWidth(cell)) + cell + " ";
    }
    text += "│\n";
  }
  return text + Rule(widths, "└", "┴", "┘");
}

std::string JoinRows(const Table& table) {
  std::string text;
  for (const auto& row : table.rows) text += Join(row, ", ") + "\n";
  return text;
}

}  // namespace kvorum::ctl

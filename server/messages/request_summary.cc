#include "server/messages/request_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>

#include "proto/wire.h"
#include "server/messages/internal_request.h"

namespace kvorum::server {
namespace {

constexpr std::size_t kMaxBytes = 4'096;
// The bound of one key; and txns within txns are shown to this depth.
constexpr std::size_t kMaxKeyBytes = 1'024;
constexpr int kMaxDepth = 4;

enum class Show : std::uint8_t { kBytes, kSize, kNumber, kFlag, kEnum };
struct Field {
  std::uint32_t number;
  std::string_view name;
  Show show;
  std::span<const std::string_view> values = {};  // kEnum
};

constexpr std::string_view kOrders[] = {"NONE", "ASCEND", "DESCEND"};
constexpr std::string_view kSorts[] = {"KEY", "VERSION", "CREATE", "MOD", "VALUE"};
constexpr std::string_view kResults[] = {"EQUAL", "GREATER", "LESS", "NOT_EQUAL"};
constexpr std::string_view kTargets[] = {"VERSION", "CREATE", "MOD", "VALUE", "LEASE"};

constexpr Field kRange[] = {{1, "key", Show::kBytes},
                            {2, "range_end", Show::kBytes},
                            {3, "limit", Show::kNumber},
                            {4, "revision", Show::kNumber},
                            {5, "sort_order", Show::kEnum, kOrders},
                            {6, "sort_target", Show::kEnum, kSorts},
                            {7, "serializable", Show::kFlag},
                            {8, "keys_only", Show::kFlag},
                            {9, "count_only", Show::kFlag},
                            {10, "min_mod_revision", Show::kNumber},
                            {11, "max_mod_revision", Show::kNumber},
                            {12, "min_create_revision", Show::kNumber},
                            {13, "max_create_revision", Show::kNumber}};
constexpr Field kPut[] = {{1, "key", Show::kBytes},         {2, "value_size", Show::kSize},
                          {3, "lease", Show::kNumber},      {4, "prev_kv", Show::kFlag},
                          {5, "ignore_value", Show::kFlag}, {6, "ignore_lease", Show::kFlag}};
constexpr Field kDeleteRange[] = {
    {1, "key", Show::kBytes}, {2, "range_end", Show::kBytes}, {3, "prev_kv", Show::kFlag}};
constexpr Field kCompaction[] = {{1, "revision", Show::kNumber}, {2, "physical", Show::kFlag}};
constexpr Field kCompare[] = {{1, "result", Show::kEnum, kResults},
                              {2, "target", Show::kEnum, kTargets},
                              {3, "key", Show::kBytes},
                              {4, "version", Show::kNumber},
                              {5, "create_revision", Show::kNumber},
                              {6, "mod_revision", Show::kNumber},
                              {7, "value_size", Show::kSize},
                              {8, "lease", Show::kNumber},
                              {64, "range_end", Show::kBytes}};
constexpr Field kName[] = {{1, "name", Show::kBytes}};

void AppendQuoted(std::string_view bytes, std::string& out) {
  out += '"';
  for (const char c : bytes.substr(0, kMaxKeyBytes)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c >= 0x20 && c < 0x7f) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  if (bytes.size() > kMaxKeyBytes) out += "...";
  out += '"';
}

void AppendValue(const Field& field, wire::Reader& reader, std::string& out) {
  out.append(field.name) += ':';
  switch (field.show) {
    case Show::kBytes:
      return AppendQuoted(reader.Bytes(), out);
    case Show::kSize:
      out += std::to_string(reader.Bytes().size());
      return;
    case Show::kNumber:
      out += std::to_string(reader.Int());
      return;
    case Show::kFlag:
      out += reader.Bool() ? "true" : "false";
      return;
    case Show::kEnum: {
      const std::uint64_t value = reader.Varint();
      out += value < field.values.size() ? std::string(field.values[value]) : std::to_string(value);
      return;
    }
  }
}

// `after` ends each field, `between` comes before all but the first.
void AppendFields(std::span<const Field> fields, std::string_view bytes, std::string_view between,
                  std::string_view after, std::string& out) {
  wire::Reader reader(bytes);
  bool is_first = true;
  while (out.size() < kMaxBytes && reader.Next()) {
    const auto field = std::ranges::find(fields, reader.field(), &Field::number);
    if (field == fields.end()) {
      reader.Skip();
      continue;
    }
    if (!is_first) out += between;
    is_first = false;
    AppendValue(*field, reader, out);
    out += after;
  }
}

// The two forms of etcd: of a message that Go prints, and of one whose value etcd replaces.
void AppendPlain(std::span<const Field> fields, std::string_view bytes, std::string& out) {
  AppendFields(fields, bytes, "  ", "", out);
}
void AppendReplaced(std::span<const Field> fields, std::string_view bytes, std::string& out) {
  AppendFields(fields, bytes, "", " ", out);
}

bool HasField(std::string_view message, std::uint32_t number) {
  wire::Reader reader(message);
  while (reader.Next()) {
    if (reader.field() == number) return true;
    reader.Skip();
  }
  return false;
}

// The operations of a txn.
struct Branches {
  std::int64_t success = 0;
  std::int64_t failure = 0;
  bool only_reads = true;
};

void AppendTxn(std::string_view txn, int depth, Branches& branches, std::string& out);

void AppendOperation(std::string_view operation, int depth, Branches& branches, std::string& out) {
  wire::Reader reader(operation);
  while (out.size() < kMaxBytes && reader.Next()) {
    const std::uint32_t kind = reader.field();
    if (kind == 0 || kind > 4) {
      reader.Skip();
      continue;
    }
    const std::string_view request = reader.Bytes();
    if (kind == 1) {
      out += "request_range:{";
      AppendPlain(kRange, request, out);
      out += '}';
    } else if (kind == 2) {
      branches.only_reads = false;
      out += "request_put:<";
      AppendReplaced(kPut, request, out);
      out += '>';
    } else if (kind == 3) {
      branches.only_reads = false;
      out += "request_delete_range:{";
      AppendPlain(kDeleteRange, request, out);
      out += '}';
    } else if (depth < kMaxDepth) {
      Branches inner;
      out += "request_txn:<";
      AppendTxn(request, depth + 1, inner, out);
      out += '>';
      branches.only_reads = branches.only_reads && inner.only_reads;
    } else {
      branches.only_reads = false;
      out += "request_txn:<...>";
    }
  }
}

void AppendTxn(std::string_view txn, int depth, Branches& branches, std::string& out) {
  constexpr std::string_view kTitles[] = {"compare:<", " success:<", " failure:<"};
  for (std::uint32_t part = 1; part <= 3; ++part) {
    out += kTitles[part - 1];
    std::int64_t count = 0;
    wire::Reader reader(txn);
    while (reader.Next()) {
      if (reader.field() != part) {
        reader.Skip();
        continue;
      }
      const std::string_view element = reader.Bytes();
      if (out.size() >= kMaxBytes) {
        branches.only_reads = false;  // as far as anybody has looked
        ++count;
        continue;
      }
      if (count++ > 0) out += ' ';
      if (part > 1) {
        AppendOperation(element, depth, branches, out);
      } else if (HasField(element, 7)) {
        AppendReplaced(kCompare, element, out);
      } else {
        AppendPlain(kCompare, element, out);
      }
    }
    out += '>';
    if (part == 2) branches.success = count;
    if (part == 3) branches.failure = count;
  }
}

std::string_view NameOf(RequestKind kind) {
  switch (kind) {
#define KV_NAME(name, ...) \
  case RequestKind::name:  \
    return std::string_view(#name).substr(1);
    KV_ENTRY_KINDS(KV_NAME)
#undef KV_NAME
  }
  return {};
}

// {ttl, id}, in the order of the fields.
void AppendLease(std::string_view body, bool is_grant, std::string& out) {
  std::int64_t ttl_s = 0;
  std::uint64_t id = 0;
  wire::Reader reader(body);
  while (reader.Next()) {
    if (reader.field() == (is_grant ? 2U : 1U)) {
      id = reader.Varint();
    } else if (is_grant && reader.field() == 1) {
      ttl_s = reader.Int();
    } else {
      reader.Skip();
    }
  }
  out += is_grant ? fmt::format("lease_grant:<ttl:{}-second id:{:016x}>", ttl_s, id)
                  : fmt::format("lease_revoke:<id:{:016x}>", id);
}

void AppendBody(const InternalRequest& request, std::string& out) {
  const auto plain = [&](std::string_view title, std::span<const Field> fields) {
    out.append(title) += ":{";
    AppendPlain(fields, request.body, out);
    out += '}';
  };
  switch (request.kind) {
    case RequestKind::kPut:
      out += "put:<";
      AppendReplaced(kPut, request.body, out);
      out += '>';
      return;
    case RequestKind::kTxn: {
      Branches branches;
      out += "txn:<";
      AppendTxn(request.body, 1, branches, out);
      out += '>';
      return;
    }
    case RequestKind::kDeleteRange:
      return plain("delete_range", kDeleteRange);
    case RequestKind::kCompaction:
      return plain("compaction", kCompaction);
    case RequestKind::kLeaseGrant:
    case RequestKind::kLeaseRevoke:
      return AppendLease(request.body, request.kind == RequestKind::kLeaseGrant, out);
    case RequestKind::kAuthenticate:
      return plain("authenticate", kName);
    case RequestKind::kUserAdd:
      return plain("auth_user_add", kName);
    case RequestKind::kUserChangePassword:
      return plain("auth_user_change_password", kName);
    case RequestKind::kNone:
    case RequestKind::kAlarm:
    case RequestKind::kLeaseCheckpoint:
    case RequestKind::kAuthEnable:
    case RequestKind::kAuthDisable:
    case RequestKind::kAuthStatus:
    case RequestKind::kUserDelete:
    case RequestKind::kUserGet:
    case RequestKind::kUserGrantRole:
    case RequestKind::kUserRevokeRole:
    case RequestKind::kUserList:
    case RequestKind::kRoleList:
    case RequestKind::kRoleAdd:
    case RequestKind::kRoleDelete:
    case RequestKind::kRoleGet:
    case RequestKind::kRoleGrantPermission:
    case RequestKind::kRoleRevokePermission:
    case RequestKind::kClusterVersionSet:
    case RequestKind::kDowngradeInfoSet:
    case RequestKind::kMemberAttributesSet:
      out += fmt::format("{}:{{size:{}}}", NameOf(request.kind), request.body.size());
      return;
  }
}

std::string Bounded(std::string text) {
  if (text.size() > kMaxBytes) text.replace(kMaxBytes, std::string::npos, "...");
  return text;
}

}  // namespace

std::string EntrySummary(std::string_view entry) {
  const auto request = DecodeInternalRequest(entry);
  if (!request.has_value()) return fmt::format("size:{}", entry.size());
  std::string out = fmt::format("header:<ID:{} ", request->id);
  if (!request->user.empty()) {
    out += "username:";
    AppendQuoted(request->user, out);
    out += fmt::format(" auth_revision:{} ", request->auth_revision);
  }
  out += "> ";
  AppendBody(*request, out);
  return Bounded(std::move(out));
}

CallSummary SummarizeCall(std::string_view method, std::string_view request) {
  CallSummary summary;
  if (method == "Range") {
    AppendPlain(kRange, request, summary.text);
    summary.operations = 0;
    summary.only_reads = true;
  } else if (method == "Put") {
    AppendReplaced(kPut, request, summary.text);
    summary.operations = 1;
  } else if (method == "DeleteRange") {
    AppendPlain(kDeleteRange, request, summary.text);
    summary.operations = 0;
  } else if (method == "Txn") {
    Branches branches;
    AppendTxn(request, 1, branches, summary.text);
    summary.operations = std::max(branches.success, branches.failure);
    summary.only_reads = branches.only_reads;
  }
  summary.text = Bounded(std::move(summary.text));
  return summary;
}

}  // namespace kvorum::server

#include "api/entries/request_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>

#include "api/entries/internal_request.h"
#include "api/field_text.h"
#include "proto/wire.h"

namespace kvorum::server {
namespace {

constexpr int kMaxDepth = 4;  // of txns within txns that are shown

constexpr std::string_view kOrders[] = {"NONE", "ASCEND", "DESCEND"};
constexpr std::string_view kSorts[] = {"KEY", "VERSION", "CREATE", "MOD", "VALUE"};
constexpr std::string_view kResults[] = {"EQUAL", "GREATER", "LESS", "NOT_EQUAL"};
constexpr std::string_view kTargets[] = {"VERSION", "CREATE", "MOD", "VALUE", "LEASE"};

constexpr ShownField kRangeFields[] = {{1, "key", Show::kBytes},
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
constexpr ShownField kPutFields[] = {
    {1, "key", Show::kBytes},         {2, "value_size", Show::kSize},
    {3, "lease", Show::kNumber},      {4, "prev_kv", Show::kFlag},
    {5, "ignore_value", Show::kFlag}, {6, "ignore_lease", Show::kFlag}};
constexpr ShownField kDeleteRangeFields[] = {
    {1, "key", Show::kBytes}, {2, "range_end", Show::kBytes}, {3, "prev_kv", Show::kFlag}};
constexpr ShownField kCompactionFields[] = {{1, "revision", Show::kNumber},
                                            {2, "physical", Show::kFlag}};
constexpr ShownField kCompareFields[] = {{1, "result", Show::kEnum, kResults},
                                         {2, "target", Show::kEnum, kTargets},
                                         {3, "key", Show::kBytes},
                                         {4, "version", Show::kNumber},
                                         {5, "create_revision", Show::kNumber},
                                         {6, "mod_revision", Show::kNumber},
                                         {7, "value_size", Show::kSize},
                                         {8, "lease", Show::kNumber},
                                         {64, "range_end", Show::kBytes}};
constexpr std::string_view kPermissions[] = {"READ", "WRITE", "READWRITE"};
constexpr std::string_view kAlarmActions[] = {"GET", "ACTIVATE", "DEACTIVATE"};
constexpr std::string_view kAlarms[] = {"NONE", "NOSPACE", "CORRUPT"};

constexpr ShownField kAlarmFields[] = {{1, "action", Show::kEnum, kAlarmActions},
                                       {2, "memberID", Show::kUnsigned},
                                       {3, "alarm", Show::kEnum, kAlarms}};
constexpr ShownField kCheckpointFields[] = {{1, "ID", Show::kNumber},
                                            {2, "remaining_TTL", Show::kNumber}};
constexpr ShownField kCheckpointsFields[] = {
    {1, "checkpoints", Show::kMessage, {}, kCheckpointFields}};
constexpr ShownField kNameFields[] = {{1, "name", Show::kBytes}};
constexpr ShownField kRoleFields[] = {{1, "role", Show::kBytes}};
constexpr ShownField kUserAndRoleFields[] = {{1, "user", Show::kBytes}, {2, "role", Show::kBytes}};
constexpr ShownField kNameAndRoleFields[] = {{1, "name", Show::kBytes}, {2, "role", Show::kBytes}};
constexpr ShownField kPermissionFields[] = {{1, "permType", Show::kEnum, kPermissions},
                                            {2, "key", Show::kBytes},
                                            {3, "range_end", Show::kBytes}};
constexpr ShownField kGrantPermissionFields[] = {
    {1, "name", Show::kBytes}, {2, "perm", Show::kMessage, {}, kPermissionFields}};
constexpr ShownField kRevokePermissionFields[] = {
    {1, "role", Show::kBytes}, {2, "key", Show::kBytes}, {3, "range_end", Show::kBytes}};
constexpr ShownField kVersionFields[] = {{1, "ver", Show::kBytes}};
constexpr ShownField kAttributesFields[] = {{1, "name", Show::kBytes},
                                            {2, "client_urls", Show::kBytes}};
constexpr ShownField kMemberAttributesFields[] = {
    {1, "member_ID", Show::kUnsigned},
    {2, "member_attributes", Show::kMessage, {}, kAttributesFields}};
constexpr ShownField kDowngradeInfoFields[] = {{1, "enabled", Show::kFlag},
                                               {2, "ver", Show::kBytes}};

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
  while (out.size() < kMaxSummaryBytes && reader.Next()) {
    const std::uint32_t kind = reader.field();
    if (kind == 0 || kind > 4) {
      reader.Skip();
      continue;
    }
    const std::string_view request = reader.Bytes();
    if (kind == 1) {
      out += "request_range:{";
      AppendPlain(kRangeFields, request, out);
      out += '}';
    } else if (kind == 2) {
      branches.only_reads = false;
      out += "request_put:<";
      AppendReplaced(kPutFields, request, out);
      out += '>';
    } else if (kind == 3) {
      branches.only_reads = false;
      out += "request_delete_range:{";
      AppendPlain(kDeleteRangeFields, request, out);
      out += '}';
    } else if (depth < kMaxDepth) {
      Branches inner;
      branches.only_reads = false;  // with any content, it goes through the log
      out += "request_txn:<";
      AppendTxn(request, depth + 1, inner, out);
      out += '>';
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
      if (out.size() >= kMaxSummaryBytes) {
        branches.only_reads = false;  // as far as anybody has looked
        ++count;
        continue;
      }
      if (count++ > 0) out += ' ';
      if (part > 1) {
        AppendOperation(element, depth, branches, out);
      } else if (HasField(element, 7)) {
        AppendReplaced(kCompareFields, element, out);
      } else {
        AppendPlain(kCompareFields, element, out);
      }
    }
    out += '>';
    if (part == 2) branches.success = count;
    if (part == 3) branches.failure = count;
  }
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

// The kinds of which Go prints the message as it is.
struct PlainKind {
  std::string_view name;
  std::span<const ShownField> fields;
};
PlainKind PlainKindOf(RequestKind kind) {
  switch (kind) {
    case RequestKind::kDeleteRange:
      return {"delete_range", kDeleteRangeFields};
    case RequestKind::kCompaction:
      return {"compaction", kCompactionFields};
    case RequestKind::kAlarm:
      return {"alarm", kAlarmFields};
    case RequestKind::kLeaseCheckpoint:
      return {"lease_checkpoint", kCheckpointsFields};
    case RequestKind::kAuthEnable:
      return {"auth_enable", {}};
    case RequestKind::kAuthDisable:
      return {"auth_disable", {}};
    case RequestKind::kAuthStatus:
      return {"auth_status", {}};
    case RequestKind::kUserDelete:
      return {"auth_user_delete", kNameFields};
    case RequestKind::kUserGet:
      return {"auth_user_get", kNameFields};
    case RequestKind::kUserGrantRole:
      return {"auth_user_grant_role", kUserAndRoleFields};
    case RequestKind::kUserRevokeRole:
      return {"auth_user_revoke_role", kNameAndRoleFields};
    case RequestKind::kUserList:
      return {"auth_user_list", {}};
    case RequestKind::kRoleList:
      return {"auth_role_list", {}};
    case RequestKind::kRoleAdd:
      return {"auth_role_add", kNameFields};
    case RequestKind::kRoleDelete:
      return {"auth_role_delete", kRoleFields};
    case RequestKind::kRoleGet:
      return {"auth_role_get", kRoleFields};
    case RequestKind::kRoleGrantPermission:
      return {"auth_role_grant_permission", kGrantPermissionFields};
    case RequestKind::kRoleRevokePermission:
      return {"auth_role_revoke_permission", kRevokePermissionFields};
    case RequestKind::kClusterVersionSet:
      return {"cluster_version_set", kVersionFields};
    case RequestKind::kMemberAttributesSet:
      return {"cluster_member_attr_set", kMemberAttributesFields};
    case RequestKind::kDowngradeInfoSet:
      return {"downgrade_info_set", kDowngradeInfoFields};
    case RequestKind::kNone:
    case RequestKind::kPut:
    case RequestKind::kTxn:
    case RequestKind::kLeaseGrant:
    case RequestKind::kLeaseRevoke:
    case RequestKind::kAuthenticate:
    case RequestKind::kUserAdd:
    case RequestKind::kUserChangePassword:
      break;
  }
  return {};
}

// A user's name is not quoted there.
void AppendName(std::string_view title, std::string_view body, std::string& out) {
  std::string_view name;
  wire::Reader reader(body);
  while (reader.Next()) {
    if (reader.field() == 1) {
      name = reader.Bytes();
    } else {
      reader.Skip();
    }
  }
  out.append(title) += ":<name:";
  out.append(name.substr(0, kMaxShownKeyBytes)) += '>';
}

// The kinds that etcd prints itself, without what is secret or large.
void AppendReplacedKind(const InternalRequest& request, std::string& out) {
  if (request.kind == RequestKind::kPut) {
    out += "put:<";
    AppendReplaced(kPutFields, request.body, out);
    out += '>';
  } else if (request.kind == RequestKind::kTxn) {
    Branches branches;
    out += "txn:<";
    AppendTxn(request.body, 1, branches, out);
    out += '>';
  } else if (request.kind == RequestKind::kLeaseGrant ||
             request.kind == RequestKind::kLeaseRevoke) {
    AppendLease(request.body, request.kind == RequestKind::kLeaseGrant, out);
  } else if (request.kind == RequestKind::kAuthenticate) {
    AppendName("authenticate", request.body, out);
  } else if (request.kind == RequestKind::kUserAdd) {
    AppendName("auth_user_add", request.body, out);
  } else if (request.kind == RequestKind::kUserChangePassword) {
    AppendName("auth_user_change_password", request.body, out);
  }
}

std::string HeaderText(const InternalRequest& request) {
  std::string out = fmt::format("ID:{}", request.id);
  if (request.user.empty()) return out;
  out += "  username:";
  AppendPlainQuoted(request.user, out);
  return out + fmt::format("  auth_revision:{}", request.auth_revision);
}

std::string Bounded(std::string text) {
  if (text.size() > kMaxSummaryBytes) text.replace(kMaxSummaryBytes, std::string::npos, "...");
  return text;
}

}  // namespace

std::string EntrySummary(std::string_view entry) {
  const auto request = DecodeInternalRequest(entry);
  if (!request.has_value()) return fmt::format("size:{}", entry.size());
  const PlainKind plain = PlainKindOf(request->kind);
  std::string out;
  if (plain.name.empty()) {
    out = fmt::format("header:<{}> ", HeaderText(*request));
    AppendReplacedKind(*request, out);
  } else {
    out = fmt::format("header:{{{}}}  {}:{{", HeaderText(*request), plain.name);
    AppendPlain(plain.fields, request->body, out);
    out += '}';
  }
  return Bounded(std::move(out));
}

CallSummary SummarizeCall(std::string_view method, std::string_view request) {
  CallSummary summary;
  if (method == "Range") {
    AppendPlain(kRangeFields, request, summary.text);
    summary.operations = 0;
    summary.only_reads = true;
  } else if (method == "Put") {
    AppendReplaced(kPutFields, request, summary.text);
    summary.operations = 1;
  } else if (method == "DeleteRange") {
    AppendPlain(kDeleteRangeFields, request, summary.text);
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

#include "api/entries/request_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "api/entries/internal_request.h"
#include "api/entries/request_kind.h"
#include "api/field_text.h"
#include "api/message_tables.h"
#include "api/txn_fields.h"
#include "proto/wire.h"

namespace kvorum::server {
namespace {

namespace f = txn_fields;

constexpr int kMaxDepth = 4;  // of txns within txns that are shown

bool HasField(std::string_view message, std::uint32_t number) {
  wire::Reader reader(message);
  while (reader.Next()) {
    if (reader.field() == number) return true;
    reader.Skip();
  }
  return false;
}

std::uint32_t FieldOf(std::string_view message, std::string_view name) {
  return std::ranges::find(MessageNamed(message)->rows, name, &wire::Row::name)->number;
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
    if (kind == 0 || kind > f::kTxn) {
      reader.Skip();
      continue;
    }
    const std::string_view request = reader.Bytes();
    if (kind == f::kRange) {
      out += "request_range:{";
      AppendPlain(kRangeRequest, request, out);
      out += '}';
    } else if (kind == f::kPut) {
      branches.only_reads = false;
      out += "request_put:<";
      AppendReplaced(kPutRequest, request, out);
      out += '>';
    } else if (kind == f::kDeleteRange) {
      branches.only_reads = false;
      out += "request_delete_range:{";
      AppendPlain(kDeleteRangeRequest, request, out);
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
  for (std::uint32_t part = f::kCompare; part <= f::kFailure; ++part) {
    out += kTitles[part - f::kCompare];
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
      if (part != f::kCompare) {
        AppendOperation(element, depth, branches, out);
      } else if (HasField(element, f::UnionOf(mvcc::CompareTarget::kValue))) {
        AppendReplaced(kTxnCompare, element, out);
      } else {
        AppendPlain(kTxnCompare, element, out);
      }
    }
    out += '>';
    if (part == f::kSuccess) branches.success = count;
    if (part == f::kFailure) branches.failure = count;
  }
}

// {ttl, id}, in the order of the fields.
void AppendLease(std::string_view body, bool is_grant, std::string& out) {
  const std::string_view message =
      is_grant ? "etcdserverpb.LeaseGrantRequest" : "etcdserverpb.LeaseRevokeRequest";
  const std::uint32_t id_field = FieldOf(message, "ID");
  std::int64_t ttl_s = 0;
  std::uint64_t id = 0;
  wire::Reader reader(body);
  while (reader.Next()) {
    if (reader.field() == id_field) {
      id = reader.Varint();
    } else if (is_grant && reader.field() == FieldOf(message, "TTL")) {
      ttl_s = reader.Int();
    } else {
      reader.Skip();
    }
  }
  out += is_grant ? fmt::format("lease_grant:<ttl:{}-second id:{:016x}>", ttl_s, id)
                  : fmt::format("lease_revoke:<id:{:016x}>", id);
}

// The field of a kind and its message.
struct KindText {
  std::string_view field;
  std::string_view message;
};
KindText KindTextOf(RequestKind kind) {
  switch (kind) {
#define KV_ENTRY_KIND(name, number, field, message, ...) \
  case RequestKind::name:                                \
    return {field, message};
    KV_ENTRY_KINDS(KV_ENTRY_KIND)
#undef KV_ENTRY_KIND
  }
  return {};
}

// A user's name is not quoted there.
void AppendName(const InternalRequest& request, std::string& out) {
  const auto [title, message] = KindTextOf(request.kind);
  const std::uint32_t name_field = FieldOf(message, "name");
  std::string_view name;
  wire::Reader reader(request.body);
  while (reader.Next()) {
    if (reader.field() == name_field) {
      name = reader.Bytes();
    } else {
      reader.Skip();
    }
  }
  out.append(title) += ":<name:";
  out.append(name.substr(0, kMaxShownKeyBytes)) += '>';
}

// The kinds that etcd prints itself, without what is secret or large. False for the others, of
// which Go prints the message as it is.
bool AppendReplacedKind(const InternalRequest& request, std::string& out) {
  if (request.kind == RequestKind::kPut) {
    out += "put:<";
    AppendReplaced(kPutRequest, request.body, out);
    out += '>';
  } else if (request.kind == RequestKind::kTxn) {
    Branches branches;
    out += "txn:<";
    AppendTxn(request.body, 1, branches, out);
    out += '>';
  } else if (request.kind == RequestKind::kLeaseGrant ||
             request.kind == RequestKind::kLeaseRevoke) {
    AppendLease(request.body, request.kind == RequestKind::kLeaseGrant, out);
  } else if (request.kind == RequestKind::kAuthenticate || request.kind == RequestKind::kUserAdd ||
             request.kind == RequestKind::kUserChangePassword) {
    AppendName(request, out);
  } else {
    return request.kind == RequestKind::kNone;
  }
  return true;
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
  std::string out = fmt::format("header:<{}> ", HeaderText(*request));
  if (!AppendReplacedKind(*request, out)) {
    const KindText text = KindTextOf(request->kind);
    out = fmt::format("header:{{{}}}  {}:{{", HeaderText(*request), text.field);
    AppendPlain(*MessageNamed(text.message), request->body, out);
    out += '}';
  }
  return Bounded(std::move(out));
}

CallSummary SummarizeRange(std::string_view request) {
  std::string text;
  AppendPlain(kRangeRequest, request, text);
  return {.text = Bounded(std::move(text)), .operations = 0, .only_reads = true};
}

CallSummary SummarizePut(std::string_view request) {
  std::string text;
  AppendReplaced(kPutRequest, request, text);
  return {.text = Bounded(std::move(text)), .operations = 1};
}

CallSummary SummarizeDeleteRange(std::string_view request) {
  std::string text;
  AppendPlain(kDeleteRangeRequest, request, text);
  return {.text = Bounded(std::move(text)), .operations = 0};
}

CallSummary SummarizeTxn(std::string_view request) {
  Branches branches;
  std::string text;
  AppendTxn(request, 1, branches, text);
  return {.text = Bounded(std::move(text)),
          .operations = std::max(branches.success, branches.failure),
          .only_reads = branches.only_reads};
}

}  // namespace kvorum::server

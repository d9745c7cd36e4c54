#include "tests/differential/request.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstdint>

namespace kvorum::differential {
namespace {

constexpr std::int64_t kLongestStringShown = 80;

struct MethodName {
  std::string_view operator()(const etcdserverpb::RangeRequest&) const { return "Range"; }
  std::string_view operator()(const etcdserverpb::PutRequest&) const { return "Put"; }
  std::string_view operator()(const etcdserverpb::DeleteRangeRequest&) const {
    return "DeleteRange";
  }
  std::string_view operator()(const etcdserverpb::TxnRequest&) const { return "Txn"; }
  std::string_view operator()(const etcdserverpb::CompactionRequest&) const { return "Compact"; }
  std::string_view operator()(const etcdserverpb::HashKVRequest&) const { return "HashKV"; }
  std::string_view operator()(const etcdserverpb::LeaseGrantRequest&) const { return "LeaseGrant"; }
  std::string_view operator()(const etcdserverpb::LeaseRevokeRequest&) const {
    return "LeaseRevoke";
  }
  std::string_view operator()(const etcdserverpb::LeaseKeepAliveRequest&) const {
    return "LeaseKeepAlive";
  }
  std::string_view operator()(const etcdserverpb::LeaseTimeToLiveRequest&) const {
    return "LeaseTimeToLive";
  }
  std::string_view operator()(const etcdserverpb::LeaseLeasesRequest&) const {
    return "LeaseLeases";
  }
};

struct ReadCheck {
  bool operator()(const etcdserverpb::RangeRequest&) const { return true; }
  bool operator()(const etcdserverpb::PutRequest&) const { return false; }
  bool operator()(const etcdserverpb::DeleteRangeRequest&) const { return false; }
  bool operator()(const etcdserverpb::TxnRequest& txn) const {
    const auto is_range = [](const etcdserverpb::RequestOp& op) { return op.has_request_range(); };
    return std::ranges::all_of(txn.success(), is_range) &&
           std::ranges::all_of(txn.failure(), is_range);
  }
  bool operator()(const etcdserverpb::CompactionRequest&) const { return false; }
  bool operator()(const etcdserverpb::HashKVRequest&) const { return true; }
  bool operator()(const etcdserverpb::LeaseGrantRequest&) const { return false; }
  bool operator()(const etcdserverpb::LeaseRevokeRequest&) const { return false; }
  bool operator()(const etcdserverpb::LeaseKeepAliveRequest&) const { return false; }
  bool operator()(const etcdserverpb::LeaseTimeToLiveRequest&) const { return true; }
  // Not linearizable: it is this member's own list, independent of earlier answers.
  bool operator()(const etcdserverpb::LeaseLeasesRequest&) const { return false; }
};

}  // namespace

std::string_view MethodOf(const Request& request) { return std::visit(MethodName(), request); }

bool IsRead(const Request& request) { return std::visit(ReadCheck(), request); }

std::string Describe(const google::protobuf::Message& message) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.SetTruncateStringFieldLongerThan(kLongestStringShown);
  std::string text;
  printer.PrintToString(message, &text);
  return text;
}

std::string Describe(const Request& request) {
  return std::string(MethodOf(request)) + " { " +
         std::visit([](const auto& message) { return Describe(message); }, request) + "}";
}

}  // namespace kvorum::differential

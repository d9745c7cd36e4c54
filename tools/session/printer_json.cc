#include <fmt/format.h>

#include <ostream>

#include "proto/rpc.pb.h"
#include "tools/session/endpoint_answers.h"
#include "tools/session/printer.h"
#include "tools/text/json.h"

namespace kvorum::ctl {
namespace {

std::string HexId(std::uint64_t id) { return fmt::format("\"{:x}\"", id); }

std::string HexHeader(const etcdserverpb::ResponseHeader& header) {
  JsonObject json;
  json.Add("cluster_id", HexId(header.cluster_id())).Add("member_id", HexId(header.member_id()));
  if (header.revision() != 0) json.Add("revision", std::to_string(header.revision()));
  if (header.raft_term() != 0) json.Add("raft_term", std::to_string(header.raft_term()));
  return json.Finish();
}

JsonObject WithHeader(const etcdserverpb::ResponseHeader& header) {
  JsonObject json;
  const auto add = [&](std::string_view name, auto number) {
    if (number != 0) json.Add(name, std::to_string(number));
  };
  add("cluster_id", header.cluster_id());
  add("member_id", header.member_id());
  add("revision", header.revision());
  add("raft_term", header.raft_term());
  return json;
}

std::string HexMember(const etcdserverpb::Member& member) {
  JsonObject json;
  json.Add("ID", HexId(member.id()));
  if (!member.name().empty()) json.Add("name", JsonString(member.name()));
  if (!member.peerurls().empty()) json.Add("peerURLs", JsonList(member.peerurls(), JsonString));
  if (!member.clienturls().empty())
    json.Add("clientURLs", JsonList(member.clienturls(), JsonString));
  if (member.islearner()) json.Add("isLearner", "true");
  return json.Finish();
}

std::string TxnJson(const etcdserverpb::TxnResponse& txn);

std::string OpJson(const etcdserverpb::ResponseOp& op) {
  switch (op.response_case()) {
    case etcdserverpb::ResponseOp::kResponseTxn:
      return JsonObject().Add("response_txn", TxnJson(op.response_txn())).Finish();
    case etcdserverpb::ResponseOp::kResponseRange:
    case etcdserverpb::ResponseOp::kResponsePut:
    case etcdserverpb::ResponseOp::kResponseDeleteRange:
    case etcdserverpb::ResponseOp::RESPONSE_NOT_SET:
      return JsonMessage(op);
  }
  return "{}";
}

// Each operation's answer has one more wrapper than the message.
std::string TxnJson(const etcdserverpb::TxnResponse& txn) {
  const auto wrapped = [](const etcdserverpb::ResponseOp& op) {
    return JsonObject().Add("Response", OpJson(op)).Finish();
  };
  JsonObject json;
  if (txn.has_header()) json.Add("header", JsonMessage(txn.header()));
  if (txn.succeeded()) json.Add("succeeded", "true");
  if (!txn.responses().empty()) json.Add("responses", JsonList(txn.responses(), wrapped));
  return json.Finish();
}

class JsonPrinter final : public Printer {
 public:
  JsonPrinter(PrinterOptions options, std::ostream& out)
      : Printer("json"), hex_(options.hex), out_(out) {}

  Outcome<void> Txn(const etcdserverpb::TxnResponse& response) override {
    return Write(TxnJson(response));
  }
  Outcome<void> Watch(const etcdserverpb::WatchResponse& response) override {
    const auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
    const auto event = [](const mvccpb::Event& e) { return JsonMessage(e); };
    return Write(
        JsonObject()
            .Add("Header", JsonMessage(response.header()))
            .Add("Events", response.events().empty() ? "null" : JsonList(response.events(), event))
            .Add("CompactRevision", std::to_string(response.compact_revision()))
            .Add("Canceled", flag(response.canceled()))
            .Add("Created", flag(response.created()))
            .Add("CancelReason", JsonString(response.cancel_reason()))
            .Finish());
  }
  // For leases the header's fields are among the answer's own, and none is left out.
  Outcome<void> LeaseGrant(const etcdserverpb::LeaseGrantResponse& response) override {
    return Write(WithHeader(response.header())
                     .Add("ID", std::to_string(response.id()))
                     .Add("TTL", std::to_string(response.ttl()))
                     .Add("Error", JsonString(response.error()))
                     .Finish());
  }
  Outcome<void> LeaseKeepAlive(const etcdserverpb::LeaseKeepAliveResponse& response) override {
    return Write(WithHeader(response.header())
                     .Add("ID", std::to_string(response.id()))
                     .Add("TTL", std::to_string(response.ttl()))
                     .Finish());
  }
  Outcome<void> LeaseTimeToLive(const etcdserverpb::LeaseTimeToLiveResponse& response,
                                bool) override {
    const std::string keys =
        response.keys().empty() ? "null" : JsonList(response.keys(), JsonBytes);
    return Write(WithHeader(response.header())
                     .Add("id", std::to_string(response.id()))
                     .Add("ttl", std::to_string(response.ttl()))
                     .Add("granted-ttl", std::to_string(response.grantedttl()))
                     .Add("keys", keys)
                     .Finish());
  }
  Outcome<void> LeaseList(const etcdserverpb::LeaseLeasesResponse& response) override {
    const auto lease = [](const etcdserverpb::LeaseStatus& status) {
      return JsonObject().Add("id", std::to_string(status.id())).Finish();
    };
    const std::string leases =
        response.leases().empty() ? "[]" : JsonList(response.leases(), lease);
    return Write(WithHeader(response.header()).Add("leases", leases).Finish());
  }

  Outcome<void> MemberAdd(const etcdserverpb::MemberAddResponse& response) override {
    if (!hex_) return Whole(response);
    return Write(JsonObject()
                     .Add("header", HexHeader(response.header()))
                     .Add("member", HexMember(response.member()))
                     .Add("members", HexMembers(response))
                     .Finish());
  }
  Outcome<void> MemberRemove(std::uint64_t,
                             const etcdserverpb::MemberRemoveResponse& response) override {
    return WriteMembers(response);
  }
  Outcome<void> MemberUpdate(std::uint64_t,
                             const etcdserverpb::MemberUpdateResponse& response) override {
    return WriteMembers(response);
  }
  Outcome<void> MemberPromote(std::uint64_t,
                              const etcdserverpb::MemberPromoteResponse& response) override {
    return WriteMembers(response);
  }
  Outcome<void> MemberList(const etcdserverpb::MemberListResponse& response) override {
    return WriteMembers(response);
  }

  Outcome<void> Health(const std::vector<EndpointHealth>& endpoints) override {
    return Write(JsonList(endpoints, [](const EndpointHealth& e) {
      JsonObject json;
      json.Add("endpoint", JsonString(e.endpoint))
          .Add("health", e.healthy ? "true" : "false")
          .Add("took", JsonString(e.took));
      if (!e.error.empty()) json.Add("error", JsonString(e.error));
      return json.Finish();
    }));
  }

  Outcome<void> Status(const std::vector<EndpointStatus>& endpoints) override {
    return Write(JsonList(endpoints, [](const EndpointStatus& e) {
      return JsonObject()
          .Add("Endpoint", JsonString(e.endpoint))
          .Add("Status", JsonMessage(e.status))
          .Finish();
    }));
  }

  Outcome<void> HashKV(const std::vector<EndpointHashKV>& endpoints) override {
    return Write(JsonList(endpoints, [](const EndpointHashKV& e) {
      return JsonObject()
          .Add("Endpoint", JsonString(e.endpoint))
          .Add("HashKV", JsonMessage(e.hash))
          .Finish();
    }));
  }

 private:
  // [] and not null for an empty list.
  template <class Response>
  static std::string HexMembers(const Response& response) {
    return response.members().empty() ? "[]" : JsonList(response.members(), HexMember);
  }

  template <class Response>
  Outcome<void> WriteMembers(const Response& response) {
    if (!hex_) return Whole(response);
    return Write(JsonObject()
                     .Add("header", HexHeader(response.header()))
                     .Add("members", HexMembers(response))
                     .Finish());
  }

  Outcome<void> Whole(const google::protobuf::Message& message) override {
    return Write(JsonMessage(message));
  }

  Outcome<void> Write(const std::string& json) {
    out_ << json << '\n';
    return {};
  }

  const bool hex_;
  std::ostream& out_;
};

}  // namespace

std::unique_ptr<Printer> MakeJsonPrinter(PrinterOptions options, std::ostream& out) {
  return std::make_unique<JsonPrinter>(options, out);
}

}  // namespace kvorum::ctl

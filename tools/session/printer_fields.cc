#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

#include "base/text/go_quote.h"
#include "base/words.h"
#include "proto/rpc.pb.h"
#include "tools/session/endpoint_answers.h"
#include "tools/session/printer.h"
#include "tools/session/table.h"

namespace kvorum::ctl {
namespace {

// One `"Name" : value` per line, for every field of the answer.
class FieldsPrinter final : public Printer {
 public:
  FieldsPrinter(PrinterOptions options, std::ostream& out)
      : Printer("fields"), hex_(options.hex), out_(out) {}

  Outcome<void> Put(const etcdserverpb::PutResponse& response) override {
    Header(response.header());
    if (response.has_prev_kv()) KeyValue("Prev", response.prev_kv());
    return {};
  }

  Outcome<void> Get(const etcdserverpb::RangeResponse& response) override {
    Header(response.header());
    for (const mvccpb::KeyValue& kv : response.kvs()) KeyValue("", kv);
    Line("More", response.more());
    Line("Count", response.count());
    return {};
  }

  Outcome<void> Delete(const etcdserverpb::DeleteRangeResponse& response) override {
    Header(response.header());
    Line("Deleted", response.deleted());
    for (const mvccpb::KeyValue& kv : response.prev_kvs()) KeyValue("Prev", kv);
    return {};
  }

  Outcome<void> Txn(const etcdserverpb::TxnResponse& response) override {
    Header(response.header());
    Line("Succeeded", response.succeeded());
    for (const etcdserverpb::ResponseOp& op : response.responses()) {
      if (!Operation(op)) Line("Unknown", GoQuote(""));
    }
    return {};
  }

  Outcome<void> Watch(const etcdserverpb::WatchResponse& response) override {
    Header(response.header());
    for (const mvccpb::Event& event : response.events()) {
      Line("Type", mvccpb::Event_EventType_Name(event.type()));
      if (event.has_prev_kv()) KeyValue("Prev", event.prev_kv());
      KeyValue("", event.kv());
    }
    return {};
  }

  Outcome<void> LeaseGrant(const etcdserverpb::LeaseGrantResponse& response) override {
    return IdAndTtl(response);
  }
  Outcome<void> LeaseRevoke(std::int64_t,
                            const etcdserverpb::LeaseRevokeResponse& response) override {
    Header(response.header());
    return {};
  }
  Outcome<void> LeaseKeepAlive(const etcdserverpb::LeaseKeepAliveResponse& response) override {
    return IdAndTtl(response);
  }
  Outcome<void> LeaseTimeToLive(const etcdserverpb::LeaseTimeToLiveResponse& response,
                                bool) override {
    static_cast<void>(IdAndTtl(response));
    Line("GrantedTTL", response.grantedttl());
    for (const std::string& key : response.keys()) Line("Key", GoQuote(key));
    return {};
  }
  Outcome<void> LeaseList(const etcdserverpb::LeaseLeasesResponse& response) override {
    Header(response.header());
    for (const etcdserverpb::LeaseStatus& lease : response.leases())
      Line("ID", LeaseId(lease.id()));
    return {};
  }

  Outcome<void> Alarm(const etcdserverpb::AlarmResponse& response) override {
    Header(response.header());
    for (const etcdserverpb::AlarmMember& alarm : response.alarms()) {
      Line("MemberID", Id(alarm.memberid()));
      Line("AlarmType", etcdserverpb::AlarmType_Name(alarm.alarm()));
      out_ << '\n';
    }
    return {};
  }

  Outcome<void> MemberList(const etcdserverpb::MemberListResponse& response) override {
    Header(response.header());
    for (const etcdserverpb::Member& member : response.members()) {
      Line("ID", Id(member.id()));
      Line("Name", GoQuote(member.name()));
      for (const std::string& url : member.peerurls()) Line("PeerURL", GoQuote(url));
      for (const std::string& url : member.clienturls()) Line("ClientURL", GoQuote(url));
      Line("IsLearner", member.islearner());
      out_ << '\n';
    }
    return {};
  }

  Outcome<void> AuthChanged(const std::string&, const etcdserverpb::ResponseHeader& header,
                            const google::protobuf::Message&) override {
    Header(header);
    return {};
  }
  Outcome<void> RoleGet(const std::string&,
                        const etcdserverpb::AuthRoleGetResponse& response) override {
    Header(response.header());
    for (const authpb::Permission& permission : response.perm()) {
      // Two spaces, as etcdctl has them.
      Line("PermType", " " + authpb::Permission::Type_Name(permission.permtype()));
      Line("Key", GoQuote(permission.key()));
      Line("RangeEnd", GoQuote(permission.range_end()));
    }
    return {};
  }
  Outcome<void> RoleList(const etcdserverpb::AuthRoleListResponse& response) override {
    Header(response.header());
    out_ << "\"Roles\" :";
    for (const std::string& role : response.roles()) out_ << ' ' << GoQuote(role);
    out_ << '\n';
    return {};
  }

  Outcome<void> Health(const std::vector<EndpointHealth>& endpoints) override {
    for (const EndpointHealth& e : endpoints) {
      Line("Endpoint", GoQuote(e.endpoint));
      Line("Health", e.healthy);
      Line("Took", e.took);
      Line("Error", e.error);
      out_ << '\n';
    }
    return {};
  }

  Outcome<void> Status(const std::vector<EndpointStatus>& endpoints) override {
    for (const auto& [endpoint, status] : endpoints) {
      Header(status.header());
      Line("Version", GoQuote(status.version()));
      Line("StorageVersion", GoQuote(status.storageversion()));
      Line("DBSize", status.dbsize());
      Line("DBSizeInUse", status.dbsizeinuse());
      Line("DBSizeQuota", status.dbsizequota());
      Line("Leader", status.leader());
      Line("IsLearner", status.islearner());
      Line("RaftIndex", status.raftindex());
      Line("RaftAppliedIndex", status.raftappliedindex());
      Line("Errors", fmt::format("[{}]", Join(status.errors(), " ")));
      Line("Endpoint", GoQuote(endpoint));
      Line("DowngradeTargetVersion", GoQuote(status.downgradeinfo().targetversion()));
      Line("DowngradeEnabled", status.downgradeinfo().enabled());
      out_ << '\n';
    }
    return {};
  }

  Outcome<void> HashKV(const std::vector<EndpointHashKV>& endpoints) override {
    for (const auto& [endpoint, hash] : endpoints) {
      Header(hash.header());
      Line("Endpoint", GoQuote(endpoint));
      Line("Hash", hash.hash());
      Line("HashRevision", hash.hash_revision());
      out_ << '\n';
    }
    return {};
  }

 private:
  template <class Value>
  void Line(std::string_view name, const Value& value) {
    fmt::print(out_, "\"{}\" : {}\n", name, value);
  }

  std::string Id(std::uint64_t id) const {
    return hex_ ? fmt::format("{:x}", id) : std::to_string(id);
  }

  std::string LeaseId(std::int64_t id) const {
    return hex_ ? fmt::format("{:016x}", id) : std::to_string(id);
  }

  template <class Response>
  Outcome<void> IdAndTtl(const Response& response) {
    Header(response.header());
    Line("ID", LeaseId(response.id()));
    Line("TTL", response.ttl());
    return {};
  }

  void Header(const etcdserverpb::ResponseHeader& header) {
    Line("ClusterID", Id(header.cluster_id()));
    Line("MemberID", Id(header.member_id()));
    // Only answers about keys have one.
    if (header.revision() > 0) Line("Revision", header.revision());
    Line("RaftTerm", header.raft_term());
  }

  void KeyValue(std::string_view prefix, const mvccpb::KeyValue& kv) {
    const auto line = [&](std::string_view name, const auto& value) {
      fmt::print(out_, "\"{}{}\" : {}\n", prefix, name, value);
    };
    line("Key", GoQuote(kv.key()));
    line("CreateRevision", kv.create_revision());
    line("ModRevision", kv.mod_revision());
    line("Version", kv.version());
    line("Value", GoQuote(kv.value()));
    line("Lease", LeaseId(kv.lease()));
  }

  const bool hex_;
  std::ostream& out_;
};

}  // namespace

std::unique_ptr<Printer> MakeFieldsPrinter(PrinterOptions options, std::ostream& out) {
  return std::make_unique<FieldsPrinter>(options, out);
}

}  // namespace kvorum::ctl

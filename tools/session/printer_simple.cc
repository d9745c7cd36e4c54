#include <fmt/format.h>

#include <ostream>

#include "base/key_range.h"
#include "base/words.h"
#include "proto/rpc.pb.h"
#include "tools/session/endpoint_answers.h"
#include "tools/session/kv_requests.h"
#include "tools/session/printer.h"
#include "tools/session/table.h"

namespace kvorum::ctl {
namespace {

std::string EscapedHex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return text;
}

// A negative id has its sign in front, as Go prints it.
std::string LeaseText(std::int64_t id) { return fmt::format("{:016x}", id); }

// Lines for people and shell scripts: bytes as they are, or in hex.
class SimplePrinter final : public Printer {
 public:
  SimplePrinter(PrinterOptions options, std::ostream& out, std::ostream& err)
      : Printer("simple"), options_(options), out_(out), err_(err) {}

  Outcome<void> Put(const etcdserverpb::PutResponse& response) override {
    out_ << "OK\n";
    if (response.has_prev_kv()) Write(response.prev_kv());
    return {};
  }

  Outcome<void> Get(const etcdserverpb::RangeResponse& response) override {
    for (const mvccpb::KeyValue& kv : response.kvs()) Write(kv);
    return {};
  }

  Outcome<void> Delete(const etcdserverpb::DeleteRangeResponse& response) override {
    out_ << response.deleted() << '\n';
    for (const mvccpb::KeyValue& kv : response.prev_kvs()) Write(kv);
    return {};
  }

  Outcome<void> Txn(const etcdserverpb::TxnResponse& response) override {
    out_ << (response.succeeded() ? "SUCCESS\n" : "FAILURE\n");
    for (const etcdserverpb::ResponseOp& op : response.responses()) {
      out_ << '\n';
      if (!Operation(op)) out_ << "unexpected response\n";
    }
    return {};
  }

  Outcome<void> Watch(const etcdserverpb::WatchResponse& response) override {
    for (const mvccpb::Event& event : response.events()) {
      out_ << mvccpb::Event_EventType_Name(event.type()) << '\n';
      if (event.has_prev_kv()) Write(event.prev_kv());
      Write(event.kv());
    }
    return {};
  }

  Outcome<void> LeaseGrant(const etcdserverpb::LeaseGrantResponse& response) override {
    out_ << fmt::format("lease {} granted with TTL({}s)\n", LeaseText(response.id()),
                        response.ttl());
    return {};
  }
  Outcome<void> LeaseRevoke(std::int64_t lease, const etcdserverpb::LeaseRevokeResponse&) override {
    out_ << fmt::format("lease {} revoked\n", LeaseText(lease));
    return {};
  }
  Outcome<void> LeaseKeepAlive(const etcdserverpb::LeaseKeepAliveResponse& response) override {
    out_ << fmt::format("lease {} keepalived with TTL({})\n", LeaseText(response.id()),
                        response.ttl());
    return {};
  }
  Outcome<void> LeaseTimeToLive(const etcdserverpb::LeaseTimeToLiveResponse& response,
                                bool keys) override {
    const std::string lease = LeaseText(response.id());
    if (response.grantedttl() == 0 && response.ttl() == -1) {
      out_ << "lease " << lease << " already expired\n";
      return {};
    }
    out_ << fmt::format("lease {} granted with TTL({}s), remaining({}s)", lease,
                        response.grantedttl(), response.ttl());
    if (keys) out_ << ", attached keys([" << Join(response.keys(), " ") << "])";
    out_ << '\n';
    return {};
  }
  Outcome<void> LeaseList(const etcdserverpb::LeaseLeasesResponse& response) override {
    out_ << "found " << response.leases_size() << " leases\n";
    for (const etcdserverpb::LeaseStatus& lease : response.leases())
      out_ << LeaseText(lease.id()) << '\n';
    return {};
  }

  Outcome<void> Alarm(const etcdserverpb::AlarmResponse& response) override {
    // The message's text form: fields at their zero value are left out.
    for (const etcdserverpb::AlarmMember& alarm : response.alarms()) {
      std::vector<std::string> parts;
      if (alarm.memberid() != 0) parts.push_back(fmt::format("memberID:{}", alarm.memberid()));
      if (alarm.alarm() != etcdserverpb::NONE)
        parts.push_back("alarm:" + etcdserverpb::AlarmType_Name(alarm.alarm()));
      out_ << Join(parts, " ") << '\n';
    }
    return {};
  }

  Outcome<void> MemberAdd(const etcdserverpb::MemberAddResponse& response) override {
    out_ << fmt::format("Member {:16x} added{}to cluster {:16x}\n", response.member().id(),
                        response.member().islearner() ? " as learner " : " ",
                        response.header().cluster_id());
    return {};
  }
  Outcome<void> MemberRemove(std::uint64_t id,
                             const etcdserverpb::MemberRemoveResponse& response) override {
    return Changed(id, "removed from", response.header());
  }
  Outcome<void> MemberUpdate(std::uint64_t id,
                             const etcdserverpb::MemberUpdateResponse& response) override {
    return Changed(id, "updated in", response.header());
  }
  Outcome<void> MemberPromote(std::uint64_t id,
                              const etcdserverpb::MemberPromoteResponse& response) override {
    return Changed(id, "promoted in", response.header());
  }
  Outcome<void> Downgrade(const std::string& action,
                          const etcdserverpb::DowngradeResponse& response) override {
    out_ << "Downgrade " << action << " success, cluster version " << response.version() << '\n';
    return {};
  }
  Outcome<void> MoveLeader(std::uint64_t from, std::uint64_t to,
                           const etcdserverpb::MoveLeaderResponse&) override {
    out_ << fmt::format("Leadership transferred from {:x} to {:x}\n", from, to);
    return {};
  }

  Outcome<void> MemberList(const etcdserverpb::MemberListResponse& response) override {
    out_ << JoinRows(MemberTable(response));
    return {};
  }

  Outcome<void> AuthChanged(const std::string& sentence, const etcdserverpb::ResponseHeader&,
                            const google::protobuf::Message&) override {
    out_ << sentence << '\n';
    return {};
  }
  Outcome<void> AuthStatus(const etcdserverpb::AuthStatusResponse& response) override {
    out_ << "Authentication Status: " << (response.enabled() ? "true" : "false")
         << "\nAuthRevision: " << response.authrevision() << '\n';
    return {};
  }
  Outcome<void> UserGet(const std::string& name,
                        const etcdserverpb::AuthUserGetResponse& response) override {
    out_ << "User: " << name << "\nRoles:";
    for (const std::string& role : response.roles()) out_ << ' ' << role;
    out_ << '\n';
    return {};
  }
  Outcome<void> UserList(const etcdserverpb::AuthUserListResponse& response) override {
    for (const std::string& user : response.users()) out_ << user << '\n';
    return {};
  }
  Outcome<void> RoleGet(const std::string& name,
                        const etcdserverpb::AuthRoleGetResponse& response) override {
    out_ << "Role " << name << '\n';
    // The role root allows everything without listing it.
    const bool is_all = name == "root" && response.perm().empty();
    out_ << "KV Read:\n" << (is_all ? "\t[, <open ended>\n" : "");
    ShowPermissions(response, authpb::Permission::READ);
    out_ << "KV Write:\n" << (is_all ? "\t[, <open ended>\n" : "");
    ShowPermissions(response, authpb::Permission::WRITE);
    return {};
  }
  Outcome<void> RoleList(const etcdserverpb::AuthRoleListResponse& response) override {
    for (const std::string& role : response.roles()) out_ << role << '\n';
    return {};
  }

  Outcome<void> Health(const std::vector<EndpointHealth>& endpoints) override {
    for (const EndpointHealth& e : endpoints) {
      if (e.error.empty())
        out_ << e.endpoint << " is healthy: successfully committed proposal: took = " << e.took
             << '\n';
      else
        err_ << e.endpoint << " is unhealthy: failed to commit proposal: " << e.error << '\n';
    }
    return {};
  }

  Outcome<void> Status(const std::vector<EndpointStatus>& endpoints) override {
    out_ << JoinRows(StatusTable(endpoints));
    return {};
  }

  Outcome<void> HashKV(const std::vector<EndpointHashKV>& endpoints) override {
    out_ << JoinRows(HashKVTable(endpoints));
    return {};
  }

 private:
  Outcome<void> Changed(std::uint64_t id, std::string_view what,
                        const etcdserverpb::ResponseHeader& header) {
    out_ << fmt::format("Member {:16x} {} cluster {:16x}\n", id, what, header.cluster_id());
    return {};
  }

  // Shows the permissions of this type, one per line.
  void ShowPermissions(const etcdserverpb::AuthRoleGetResponse& role,
                       authpb::Permission::Type type) {
    for (const authpb::Permission& permission : role.perm()) {
      if (permission.permtype() != type && permission.permtype() != authpb::Permission::READWRITE)
        continue;
      const std::string& key = permission.key();
      const std::string& end = permission.range_end();
      if (end.empty()) {
        out_ << '\t' << key << '\n';
        continue;
      }
      const bool is_open = end == std::string_view("\0", 1);
      out_ << "\t[" << key << ", " << (is_open ? "<open ended>" : end + ")");
      if (!key.empty() && PrefixEnd(key) == end) out_ << " (prefix " << key << ")";
      out_ << '\n';
    }
  }

  void Write(const mvccpb::KeyValue& kv) {
    if (!options_.values_only) out_ << (options_.hex ? EscapedHex(kv.key()) : kv.key()) << '\n';
    out_ << (options_.hex ? EscapedHex(kv.value()) : kv.value()) << '\n';
  }

  const PrinterOptions options_;
  std::ostream& out_;
  std::ostream& err_;
};

}  // namespace

std::unique_ptr<Printer> MakeSimplePrinter(PrinterOptions options, std::ostream& out,
                                           std::ostream& err) {
  return std::make_unique<SimplePrinter>(options, out, err);
}

}  // namespace kvorum::ctl

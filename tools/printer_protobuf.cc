#include <ostream>

#include "tools/printer.h"

namespace kvorum::ctl {
namespace {

// Writes the encoded answer and nothing else, for another program to read.
class ProtobufPrinter final : public Printer {
 public:
  explicit ProtobufPrinter(std::ostream& out) : Printer("protobuf"), out_(out) {}

  Outcome<void> Put(const etcdserverpb::PutResponse& response) override { return Write(response); }
  Outcome<void> Get(const etcdserverpb::RangeResponse& response) override {
    return Write(response);
  }
  Outcome<void> Delete(const etcdserverpb::DeleteRangeResponse& response) override {
    return Write(response);
  }
  Outcome<void> Txn(const etcdserverpb::TxnResponse& response) override { return Write(response); }
  // Without its watch id: the watch is the command's own.
  Outcome<void> Watch(const etcdserverpb::WatchResponse& response) override {
    etcdserverpb::WatchResponse shown = response;
    shown.clear_watch_id();
    shown.clear_cancel_reason();
    return Write(shown);
  }
  Outcome<void> LeaseGrant(const etcdserverpb::LeaseGrantResponse& response) override {
    return Write(response);
  }
  Outcome<void> LeaseRevoke(std::int64_t,
                            const etcdserverpb::LeaseRevokeResponse& response) override {
    return Write(response);
  }
  Outcome<void> LeaseKeepAlive(const etcdserverpb::LeaseKeepAliveResponse& response) override {
    return Write(response);
  }
  Outcome<void> LeaseTimeToLive(const etcdserverpb::LeaseTimeToLiveResponse& response,
                                bool) override {
    return Write(response);
  }
  Outcome<void> LeaseList(const etcdserverpb::LeaseLeasesResponse& response) override {
    return Write(response);
  }
  Outcome<void> Alarm(const etcdserverpb::AlarmResponse& response) override {
    return Write(response);
  }
  Outcome<void> MemberAdd(const etcdserverpb::MemberAddResponse& response) override {
    return Write(response);
  }
  Outcome<void> MemberRemove(std::uint64_t,
                             const etcdserverpb::MemberRemoveResponse& response) override {
    return Write(response);
  }
  Outcome<void> MemberUpdate(std::uint64_t,
                             const etcdserverpb::MemberUpdateResponse& response) override {
    return Write(response);
  }
  Outcome<void> MemberPromote(std::uint64_t,
                              const etcdserverpb::MemberPromoteResponse& response) override {
    return Write(response);
  }
  Outcome<void> MoveLeader(std::uint64_t, std::uint64_t,
                           const etcdserverpb::MoveLeaderResponse& response) override {
    return Write(response);
  }
  Outcome<void> MemberList(const etcdserverpb::MemberListResponse& response) override {
    return Write(response);
  }
  Outcome<void> AuthChanged(const std::string&, const etcdserverpb::ResponseHeader&,
                            const google::protobuf::Message& response) override {
    return Write(response);
  }
  Outcome<void> AuthStatus(const etcdserverpb::AuthStatusResponse& response) override {
    return Write(response);
  }
  Outcome<void> UserGet(const std::string&,
                        const etcdserverpb::AuthUserGetResponse& response) override {
    return Write(response);
  }
  Outcome<void> UserList(const etcdserverpb::AuthUserListResponse& response) override {
    return Write(response);
  }
  Outcome<void> RoleGet(const std::string&,
                        const etcdserverpb::AuthRoleGetResponse& response) override {
    return Write(response);
  }
  Outcome<void> RoleList(const etcdserverpb::AuthRoleListResponse& response) override {
    return Write(response);
  }

 private:
  Outcome<void> Write(const google::protobuf::Message& message) {
    out_ << message.SerializeAsString();
    return {};
  }

  std::ostream& out_;
};

}  // namespace

std::unique_ptr<Printer> MakeProtobufPrinter(std::ostream& out) {
  return std::make_unique<ProtobufPrinter>(out);
}

}  // namespace kvorum::ctl

#include "tools/session/printer.h"

#include <ostream>

#include "proto/rpc.pb.h"
#include "tools/session/endpoint_answers.h"
#include "tools/session/table.h"

namespace kvorum::ctl {
namespace {

// Writes the encoded answer and nothing else, for another program to read.
class ProtobufPrinter final : public Printer {
 public:
  explicit ProtobufPrinter(std::ostream& out) : Printer("protobuf"), out_(out) {}

  // Without its watch id: the watch is the command's own.
  Outcome<void> Watch(const etcdserverpb::WatchResponse& response) override {
    etcdserverpb::WatchResponse shown = response;
    shown.clear_watch_id();
    shown.clear_cancel_reason();
    return Whole(shown);
  }

 private:
  Outcome<void> Whole(const google::protobuf::Message& message) override {
    out_ << message.SerializeAsString();
    return {};
  }

  std::ostream& out_;
};

class TablePrinter final : public Printer {
 public:
  explicit TablePrinter(std::ostream& out) : Printer("table"), out_(out) {}

  Outcome<void> MemberList(const etcdserverpb::MemberListResponse& response) override {
    return Draw(MemberTable(response));
  }
  Outcome<void> Health(const std::vector<EndpointHealth>& endpoints) override {
    return Draw(HealthTable(endpoints));
  }
  Outcome<void> Status(const std::vector<EndpointStatus>& endpoints) override {
    return Draw(StatusTable(endpoints));
  }
  Outcome<void> HashKV(const std::vector<EndpointHashKV>& endpoints) override {
    return Draw(HashKVTable(endpoints));
  }

 private:
  Outcome<void> Draw(const Table& table) {
    out_ << DrawTable(table);
    return {};
  }

  std::ostream& out_;
};

}  // namespace

// By default an answer is shown whole.
Outcome<void> Printer::Put(const etcdserverpb::PutResponse& r) { return Whole(r); }
Outcome<void> Printer::Get(const etcdserverpb::RangeResponse& r) { return Whole(r); }
Outcome<void> Printer::Delete(const etcdserverpb::DeleteRangeResponse& r) { return Whole(r); }
Outcome<void> Printer::Txn(const etcdserverpb::TxnResponse& r) { return Whole(r); }
Outcome<void> Printer::Watch(const etcdserverpb::WatchResponse& r) { return Whole(r); }
Outcome<void> Printer::LeaseGrant(const etcdserverpb::LeaseGrantResponse& r) { return Whole(r); }
Outcome<void> Printer::LeaseRevoke(std::int64_t /*lease*/,
                                   const etcdserverpb::LeaseRevokeResponse& r) {
  return Whole(r);
}
Outcome<void> Printer::LeaseKeepAlive(const etcdserverpb::LeaseKeepAliveResponse& r) {
  return Whole(r);
}
Outcome<void> Printer::LeaseTimeToLive(const etcdserverpb::LeaseTimeToLiveResponse& r,
                                       bool /*keys*/) {
  return Whole(r);
}
Outcome<void> Printer::LeaseList(const etcdserverpb::LeaseLeasesResponse& r) { return Whole(r); }
Outcome<void> Printer::Alarm(const etcdserverpb::AlarmResponse& r) { return Whole(r); }
Outcome<void> Printer::MemberAdd(const etcdserverpb::MemberAddResponse& r) { return Whole(r); }
Outcome<void> Printer::MemberRemove(std::uint64_t, const etcdserverpb::MemberRemoveResponse& r) {
  return Whole(r);
}
Outcome<void> Printer::MemberUpdate(std::uint64_t, const etcdserverpb::MemberUpdateResponse& r) {
  return Whole(r);
}
Outcome<void> Printer::MemberPromote(std::uint64_t, const etcdserverpb::MemberPromoteResponse& r) {
  return Whole(r);
}
Outcome<void> Printer::MoveLeader(std::uint64_t /*from*/, std::uint64_t /*to*/,
                                  const etcdserverpb::MoveLeaderResponse& r) {
  return Whole(r);
}
Outcome<void> Printer::Downgrade(const std::string& /*action*/,
                                 const etcdserverpb::DowngradeResponse& r) {
  return Whole(r);
}
Outcome<void> Printer::MemberList(const etcdserverpb::MemberListResponse& r) { return Whole(r); }
Outcome<void> Printer::AuthChanged(const std::string& /*sentence*/,
                                   const etcdserverpb::ResponseHeader&,
                                   const google::protobuf::Message& response) {
  return Whole(response);
}
Outcome<void> Printer::AuthStatus(const etcdserverpb::AuthStatusResponse& r) { return Whole(r); }
Outcome<void> Printer::UserGet(const std::string& /*name*/,
                               const etcdserverpb::AuthUserGetResponse& r) {
  return Whole(r);
}
Outcome<void> Printer::UserList(const etcdserverpb::AuthUserListResponse& r) { return Whole(r); }
Outcome<void> Printer::RoleGet(const std::string& /*name*/,
                               const etcdserverpb::AuthRoleGetResponse& r) {
  return Whole(r);
}
Outcome<void> Printer::RoleList(const etcdserverpb::AuthRoleListResponse& r) { return Whole(r); }

bool Printer::Operation(const etcdserverpb::ResponseOp& op) {
  switch (op.response_case()) {
    case etcdserverpb::ResponseOp::kResponseRange:
      return Get(op.response_range()).has_value();
    case etcdserverpb::ResponseOp::kResponsePut:
      return Put(op.response_put()).has_value();
    case etcdserverpb::ResponseOp::kResponseDeleteRange:
      return Delete(op.response_delete_range()).has_value();
    case etcdserverpb::ResponseOp::kResponseTxn:
      return Txn(op.response_txn()).has_value();
    case etcdserverpb::ResponseOp::RESPONSE_NOT_SET:
      return false;
  }
  return false;
}

std::unique_ptr<Printer> MakePrinter(std::string_view format, PrinterOptions options,
                                     std::ostream& out, std::ostream& err) {
  if (format == "simple") return MakeSimplePrinter(options, out, err);
  if (format == "fields") return MakeFieldsPrinter(options, out);
  if (format == "json") return MakeJsonPrinter(options, out);
  if (format == "protobuf") return MakeProtobufPrinter(out);
  if (format == "table") return MakeTablePrinter(out);
  return nullptr;
}

std::unique_ptr<Printer> MakeProtobufPrinter(std::ostream& out) {
  return std::make_unique<ProtobufPrinter>(out);
}

std::unique_ptr<Printer> MakeTablePrinter(std::ostream& out) {
  return std::make_unique<TablePrinter>(out);
}

const std::vector<std::string>& PrinterFormats() {
  static const std::vector<std::string> formats = {"fields", "json", "protobuf", "simple", "table"};
  return formats;
}

}  // namespace kvorum::ctl

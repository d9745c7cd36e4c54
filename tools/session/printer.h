// The output formats. One class per format, one method per kind of answer; an answer that a format
// can't show is refused with an error that says so. Used by the command's main thread.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/text/outcome.h"

namespace etcdserverpb {
class AlarmResponse;
class AuthRoleGetResponse;
class AuthRoleListResponse;
class AuthStatusResponse;
class AuthUserGetResponse;
class AuthUserListResponse;
class DeleteRangeResponse;
class DowngradeResponse;
class LeaseGrantResponse;
class LeaseKeepAliveResponse;
class LeaseLeasesResponse;
class LeaseRevokeResponse;
class LeaseTimeToLiveResponse;
class MemberAddResponse;
class MemberListResponse;
class MemberPromoteResponse;
class MemberRemoveResponse;
class MemberUpdateResponse;
class MoveLeaderResponse;
class PutResponse;
class RangeResponse;
class ResponseHeader;
class ResponseOp;
class TxnResponse;
class WatchResponse;
}  // namespace etcdserverpb
namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace kvorum::ctl {

struct EndpointHealth {
  std::string endpoint;
  bool healthy = false;
  std::string took = {};   // empty: it was not reached
  std::string error = {};  // empty: healthy
};

// Answers with their endpoints (endpoint_answers.h).
struct EndpointStatus;
struct EndpointHashKV;

class Printer {
 public:
  explicit Printer(std::string_view format) : format_(format) {}
  virtual ~Printer() = default;

  virtual Outcome<void> Put(const etcdserverpb::PutResponse& response);
  virtual Outcome<void> Get(const etcdserverpb::RangeResponse& response);
  virtual Outcome<void> Delete(const etcdserverpb::DeleteRangeResponse& response);
  virtual Outcome<void> Txn(const etcdserverpb::TxnResponse& response);
  virtual Outcome<void> Watch(const etcdserverpb::WatchResponse& response);
  virtual Outcome<void> LeaseGrant(const etcdserverpb::LeaseGrantResponse& response);
  virtual Outcome<void> LeaseRevoke(std::int64_t lease,
                                    const etcdserverpb::LeaseRevokeResponse& response);
  virtual Outcome<void> LeaseKeepAlive(const etcdserverpb::LeaseKeepAliveResponse& response);
  // `keys`: the keys were requested.
  virtual Outcome<void> LeaseTimeToLive(const etcdserverpb::LeaseTimeToLiveResponse& response,
                                        bool keys);
  virtual Outcome<void> LeaseList(const etcdserverpb::LeaseLeasesResponse& response);
  virtual Outcome<void> Alarm(const etcdserverpb::AlarmResponse& response);
  virtual Outcome<void> MemberAdd(const etcdserverpb::MemberAddResponse& response);
  // These take the requested id: the answers do not contain it.
  virtual Outcome<void> MemberRemove(std::uint64_t,
                                     const etcdserverpb::MemberRemoveResponse& response);
  virtual Outcome<void> MemberUpdate(std::uint64_t,
                                     const etcdserverpb::MemberUpdateResponse& response);
  virtual Outcome<void> MemberPromote(std::uint64_t,
                                      const etcdserverpb::MemberPromoteResponse& response);
  virtual Outcome<void> MoveLeader(std::uint64_t from, std::uint64_t to,
                                   const etcdserverpb::MoveLeaderResponse& response);
  // `action` is validate, enable or cancel.
  virtual Outcome<void> Downgrade(const std::string& action,
                                  const etcdserverpb::DowngradeResponse& response);
  virtual Outcome<void> MemberList(const etcdserverpb::MemberListResponse& response);
  // `sentence` describes the change for a person.
  virtual Outcome<void> AuthChanged(const std::string& sentence,
                                    const etcdserverpb::ResponseHeader&,
                                    const google::protobuf::Message& response);
  virtual Outcome<void> AuthStatus(const etcdserverpb::AuthStatusResponse& response);
  virtual Outcome<void> UserGet(const std::string& name,
                                const etcdserverpb::AuthUserGetResponse& response);
  virtual Outcome<void> UserList(const etcdserverpb::AuthUserListResponse& response);
  virtual Outcome<void> RoleGet(const std::string& name,
                                const etcdserverpb::AuthRoleGetResponse& response);
  virtual Outcome<void> RoleList(const etcdserverpb::AuthRoleListResponse& response);
  virtual Outcome<void> Health(const std::vector<EndpointHealth>&) { return Refuse(); }
  virtual Outcome<void> Status(const std::vector<EndpointStatus>&) { return Refuse(); }
  virtual Outcome<void> HashKV(const std::vector<EndpointHashKV>&) { return Refuse(); }

  std::string_view format() const { return format_; }

 protected:
  Outcome<void> Refuse() const {
    return Fail(ExitCode::kBadFeature, std::string(format_) + " not supported as output format");
  }
  // An answer that the format has no method for.
  virtual Outcome<void> Whole(const google::protobuf::Message&) { return Refuse(); }
  // The answer to an operation of a txn; false if it has none that is known.
  bool Operation(const etcdserverpb::ResponseOp& op);

 private:
  std::string_view format_;
};

struct PrinterOptions {
  bool hex = false;          // simple: keys and values; fields and json: ids
  bool values_only = false;  // simple: values without their keys
};

// simple, fields, json, protobuf or table; null for any other format. The printer writes
// answers to `out` and, in the simple format, unhealthy endpoints to `err`.
std::unique_ptr<Printer> MakePrinter(std::string_view format, PrinterOptions options,
                                     std::ostream& out, std::ostream& err);

// The formats' names, sorted.
const std::vector<std::string>& PrinterFormats();

// Each format's own maker, in its own file.
std::unique_ptr<Printer> MakeSimplePrinter(PrinterOptions options, std::ostream& out,
                                           std::ostream& err);
std::unique_ptr<Printer> MakeFieldsPrinter(PrinterOptions options, std::ostream& out);
std::unique_ptr<Printer> MakeJsonPrinter(PrinterOptions options, std::ostream& out);
std::unique_ptr<Printer> MakeProtobufPrinter(std::ostream& out);
std::unique_ptr<Printer> MakeTablePrinter(std::ostream& out);

}  // namespace kvorum::ctl

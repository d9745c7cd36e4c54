#include "client/client.h"

#include <algorithm>
#include <utility>

#include "base/words.h"
#include "client/caller.h"
#include "client/watch_impl.h"
#include "proto/rpc.pb.h"

namespace kvorum::client {
namespace {

using etcdserverpb::KV;
using etcdserverpb::Lease;

bool IsReadOnly(const etcdserverpb::TxnRequest& txn);

bool IsReadOnly(const etcdserverpb::RequestOp& op) {
  switch (op.request_case()) {
    case etcdserverpb::RequestOp::kRequestRange:
      return true;
    case etcdserverpb::RequestOp::kRequestTxn:
      return IsReadOnly(op.request_txn());
    case etcdserverpb::RequestOp::kRequestPut:
    case etcdserverpb::RequestOp::kRequestDeleteRange:
    case etcdserverpb::RequestOp::REQUEST_NOT_SET:
      return false;
  }
  return false;
}

bool IsReadOnly(const etcdserverpb::TxnRequest& txn) {
  const auto reads = [](const etcdserverpb::RequestOp& op) { return IsReadOnly(op); };
  return std::ranges::all_of(txn.success(), reads) && std::ranges::all_of(txn.failure(), reads);
}

// A token read from a file or a variable often ends with a newline.
Result<std::string> TokenToShow(std::string_view given) {
  if (given.empty()) return std::string();
  const std::string_view token = Trim(given);
  if (token.empty())
    return Fail(Code::kInvalidArgument, "etcdclient: the token is nothing but white space");
  if (!IsHeaderText(token))
    return Fail(Code::kInvalidArgument,
                "etcdclient: the token has a character that is not printable ASCII");
  return std::string(token);
}

}  // namespace

Client::Client(std::unique_ptr<Caller> caller) : caller_(std::move(caller)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::Connect(const Options& options) {
  if (options.endpoints.empty())
    return Fail(Code::kInvalidArgument, "etcdclient: no available endpoints");
  if (!options.token.empty() && (!options.user.empty() || !options.password.empty()))
    return Fail(Code::kInvalidArgument,
                "Username/Password and Token configurations are mutually exclusive");
  if (options.max_send_bytes <= 0 || options.max_receive_bytes < options.max_send_bytes)
    return Fail(Code::kInvalidArgument, "gRPC message recv limit (" +
                                            std::to_string(options.max_receive_bytes) +
                                            " bytes) must be greater than send limit (" +
                                            std::to_string(options.max_send_bytes) + " bytes)");
  Options checked = options;
  KV_TRY(checked.token, TokenToShow(options.token));
  KV_TRY(auto connections, Connections::Open(checked));
  auto caller = std::make_unique<Caller>(checked, std::move(connections));
  KV_RETURN_IF_ERROR(caller->LogIn());
  return std::unique_ptr<Client>(new Client(std::move(caller)));
}

namespace {

// Passes on each message of a stream. `ended` is how it ended once the first message had come;
// until then the call may be retried, by the status returned.
template <class Message, class Reader, class OnMessage>
grpc::Status ReadAll(Reader& reader, grpc::ClientContext& context, Result<void>& ended,
                     const OnMessage& on_message) {
  Message message;
  bool has_begun = false;
  while (ended && reader.Read(&message)) {
    has_begun = true;
    ended = on_message(std::move(message));
  }
  if (!ended) context.TryCancel();
  grpc::Status status = reader.Finish();
  if (!has_begun) return status;
  if (ended && !status.ok()) ended = Fail(FromStatus(status));
  return grpc::Status::OK;
}

}  // namespace

Result<void> Client::RangeStream(const etcdserverpb::RangeRequest& request, const OnChunk& on_chunk,
                                 const CallOptions& call) {
  Result<void> ended;
  const auto tried =
      caller_->Try(call, Repeat::kRead, [&](Connection& connection, grpc::ClientContext* context) {
        const auto reader = connection.kv->RangeStream(context, request);
        return ReadAll<etcdserverpb::RangeStreamResponse>(
            *reader, *context, ended, [&](etcdserverpb::RangeStreamResponse&& chunk) {
              return on_chunk(std::move(*chunk.mutable_range_response()));
            });
      });
  if (!tried) return tried;
  return ended;
}

Result<void> Client::Snapshot(const OnSnapshotPart& on_part, const CallOptions& call) {
  Result<void> ended;
  const auto tried =
      caller_->Try(call, Repeat::kRead, [&](Connection& connection, grpc::ClientContext* context) {
        const auto reader = connection.maintenance->Snapshot(context, {});
        return ReadAll<etcdserverpb::SnapshotResponse>(*reader, *context, ended, on_part);
      });
  if (!tried) return tried;
  return ended;
}

std::unique_ptr<Watch> Client::NewWatch(const etcdserverpb::WatchCreateRequest& request,
                                        const CallOptions& call) {
  return std::make_unique<Watch>(
      std::make_unique<Watch::Impl>(*caller_, request, call.require_leader));
}

Result<etcdserverpb::TxnResponse> Client::Txn(const etcdserverpb::TxnRequest& request,
                                              const CallOptions& call) {
  return caller_->Call(&Connection::kv, &KV::Stub::Txn,
                       IsReadOnly(request) ? Repeat::kRead : Repeat::kWrite, request, call);
}

Result<etcdserverpb::LeaseRevokeResponse> Client::LeaseRevoke(std::int64_t lease,
                                                              const CallOptions& call) {
  etcdserverpb::LeaseRevokeRequest request;
  request.set_id(lease);
  return caller_->Call(&Connection::lease, &Lease::Stub::LeaseRevoke, Repeat::kWrite, request,
                       call);
}

Result<etcdserverpb::LeaseKeepAliveResponse> Client::LeaseKeepAliveOnce(std::int64_t lease,
                                                                        const CallOptions& call) {
  etcdserverpb::LeaseKeepAliveRequest request;
  request.set_id(lease);
  etcdserverpb::LeaseKeepAliveResponse response;
  KV_RETURN_IF_ERROR(
      caller_->Try(call, Repeat::kRead, [&](Connection& connection, grpc::ClientContext* context) {
        const auto stream = connection.lease->LeaseKeepAlive(context);
        const bool is_answered = stream->Write(request) && stream->Read(&response);
        if (is_answered) context->TryCancel();
        grpc::Status status = stream->Finish();
        if (is_answered) return grpc::Status::OK;
        if (!status.ok()) return status;
        return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the stream ended without an answer");
      }));
  return response;
}

std::vector<std::string> Client::endpoints() const { return caller_->connections().endpoints(); }

Result<void> Client::SetEndpoints(const std::vector<std::string>& endpoints) {
  if (endpoints.empty()) return Fail(Code::kInvalidArgument, "etcdclient: no available endpoints");
  caller_->connections().Replace(endpoints);
  return {};
}

Result<void> Client::SyncEndpoints(const CallOptions& call) {
  etcdserverpb::MemberListRequest request;
  request.set_linearizable(true);
  KV_TRY(const etcdserverpb::MemberListResponse members, MemberList(request, call));
  std::vector<std::string> endpoints;
  for (const etcdserverpb::Member& member : members.members()) {
    // A member that has not started yet has no name; a learner serves hardly any request.
    if (member.name().empty() || member.islearner()) continue;
    endpoints.insert(endpoints.end(), member.clienturls().begin(), member.clienturls().end());
  }
  const Connections& connections = caller_->connections();
  const auto is_plain = [&](const std::string& url) { return !connections.IsInTls(url); };
  if (!std::ranges::all_of(connections.endpoints(), is_plain) &&
      std::erase_if(endpoints, is_plain) > 0 && endpoints.empty())
    return Fail(Code::kFailedPrecondition, "etcdclient: no member serves in TLS");
  return SetEndpoints(endpoints);
}

}  // namespace kvorum::client

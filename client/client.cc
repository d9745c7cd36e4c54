#include "client/client.h"

#include <algorithm>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "client/connections.h"
#include "client/error_text.h"
#include "client/watch_impl.h"
#include "proto/rpc.pb.h"

namespace kvorum::client {
namespace {

constexpr std::string_view kAuthNotEnabled = "etcdserver: authentication is not enabled";
constexpr std::string_view kInvalidAuthToken = "etcdserver: invalid auth token";
constexpr int kMaxAttempts = 100;

enum class Retry {
  kNever,          // a write: it may have been applied before the connection broke
  kIfUnavailable,  // a read
};

Error DeadlineExceeded() { return {Code::kDeadlineExceeded, "context deadline exceeded"}; }

Error FromStatus(const grpc::Status& status) {
  const auto code = static_cast<Code>(status.error_code());
  if (code == Code::kDeadlineExceeded) return DeadlineExceeded();
  return {code, status.error_message()};
}

// Between attempts: 25 ms, more or less, so that clients of a failed member don't come back as one.
void BackOff(CallOptions::Deadline deadline) {
  thread_local std::minstd_rand random{std::random_device{}()};
  const std::chrono::microseconds pause(std::uniform_int_distribution<int>(20'000, 30'000)(random));
  std::this_thread::sleep_until(std::min(deadline, std::chrono::steady_clock::now() + pause));
}

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

// One request and one answer of the stream.
constexpr auto kKeepAliveMethod = [](Connection& c, grpc::ClientContext* context, const auto& in,
                                     auto* out) {
  const auto stream = c.lease->LeaseKeepAlive(context);
  const bool answered = stream->Write(in) && stream->Read(out);
  if (answered) context->TryCancel();
  grpc::Status status = stream->Finish();
  if (answered) return grpc::Status::OK;
  if (!status.ok()) return status;
  return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the stream ended without an answer");
};

constexpr auto kAlarmMethod = [](Connection& c, grpc::ClientContext* context, const auto& in,
                                 auto* out) { return c.maintenance->Alarm(context, in, out); };

}  // namespace

class Client::Impl {
 public:
  Impl(const Options& options, std::unique_ptr<Connections> connections)
      : connections_(std::move(connections)),
        max_send_bytes_(static_cast<std::size_t>(options.max_send_bytes)),
        dial_timeout_(options.dial_timeout),
        user_(options.user),
        password_(options.password),
        token_(options.token) {}

  Result<void> LogIn() {
    if (user_.empty() || password_.empty()) return {};
    etcdserverpb::AuthenticateRequest request;
    request.set_name(user_);
    request.set_password(password_);
    auto response = Attempts<etcdserverpb::AuthenticateResponse>(
        request, CallOptions::Within(dial_timeout_), Retry::kNever,
        [](Connection& c, grpc::ClientContext* context, const auto& in, auto* out) {
          return c.auth->Authenticate(context, in, out);
        });
    if (!response && response.error().message != kAuthNotEnabled) return Fail(response.error());
    const std::lock_guard lock(mutex_);
    token_ = response ? response->token() : std::string();
    return {};
  }

  // One unary call: `method` is (Connection&, ClientContext*, request, Response*) -> Status.
  template <class Response, class Request, class Method>
  Result<Response> Call(const Request& request, const CallOptions& call, Retry retry,
                        const Method& method) {
    auto response = Attempts<Response>(request, call, retry, method);
    if (response || !TokenExpired(response.error())) return response;
    KV_RETURN_IF_ERROR(LogIn());
    return Attempts<Response>(request, call, retry, method);
  }

  Result<void> RangeStream(const etcdserverpb::RangeRequest& request, const OnChunk& on_chunk,
                           const CallOptions& call) {
    Connection* connection = connections_->WaitReady(call.deadline);
    if (connection == nullptr) return Fail(DeadlineExceeded());
    grpc::ClientContext context;
    Prepare(context, call);
    const auto reader = connection->kv->RangeStream(&context, request);
    etcdserverpb::RangeStreamResponse chunk;
    while (reader->Read(&chunk)) {
      auto taken = on_chunk(std::move(*chunk.mutable_range_response()));
      if (!taken) {
        context.TryCancel();
        reader->Finish();
        return taken;
      }
    }
    const grpc::Status status = reader->Finish();
    if (!status.ok()) return Fail(FromStatus(status));
    return {};
  }

  std::unique_ptr<Watch> NewWatch(const etcdserverpb::WatchCreateRequest& request, bool leader) {
    return std::make_unique<Watch>(std::make_unique<Watch::Impl>(
        *connections_, request, [this, leader](grpc::ClientContext& context) {
          Prepare(context, {.require_leader = leader});
        }));
  }

 private:
  template <class Response, class Request, class Method>
  Result<Response> Attempts(const Request& request, const CallOptions& call, Retry retry,
                            const Method& method) {
    if (const std::size_t size = request.ByteSizeLong(); size > max_send_bytes_)
      return Fail(Code::kResourceExhausted, "trying to send message larger than max (" +
                                                std::to_string(size) + " vs. " +
                                                std::to_string(max_send_bytes_) + ")");
    for (int attempt = 1;; ++attempt) {
      Connection* connection = connections_->WaitReady(call.deadline);
      if (connection == nullptr) return Fail(DeadlineExceeded());
      grpc::ClientContext context;
      Prepare(context, call);
      Response response;
      const grpc::Status status = method(*connection, &context, request, &response);
      if (status.ok()) return response;
      if (status.error_code() != grpc::StatusCode::UNAVAILABLE || retry == Retry::kNever ||
          attempt == kMaxAttempts)
        return Fail(FromStatus(status));
      BackOff(call.deadline);
    }
  }

  void Prepare(grpc::ClientContext& context, const CallOptions& call) {
    if (call.deadline != CallOptions::Deadline::max()) {
      const auto left = call.deadline - std::chrono::steady_clock::now();
      context.set_deadline(std::chrono::system_clock::now() + left);
    }
    context.AddMetadata("client-api-version", "3.7");
    if (call.require_leader) context.AddMetadata("hasleader", "true");
    const std::lock_guard lock(mutex_);
    if (!token_.empty()) context.AddMetadata("token", token_);
  }

  bool TokenExpired(const Error& error) const {
    return !user_.empty() && error.message == kInvalidAuthToken;
  }

  const std::unique_ptr<Connections> connections_;
  const std::size_t max_send_bytes_;
  const std::chrono::nanoseconds dial_timeout_;
  const std::string user_;
  const std::string password_;
  std::mutex mutex_;
  std::string token_;  // guarded by mutex_
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::Connect(const Options& options) {
  if (options.endpoints.empty())
    return Fail(Code::kInvalidArgument, "etcdclient: no available endpoints");
  if (options.max_send_bytes <= 0 || options.max_receive_bytes < options.max_send_bytes)
    return Fail(Code::kInvalidArgument, "gRPC message recv limit (" +
                                            std::to_string(options.max_receive_bytes) +
                                            " bytes) must be greater than send limit (" +
                                            std::to_string(options.max_send_bytes) + " bytes)");
  KV_TRY(auto connections, Connections::Open(options));
  auto impl = std::make_unique<Impl>(options, std::move(connections));
  KV_RETURN_IF_ERROR(impl->LogIn());
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Result<etcdserverpb::RangeResponse> Client::Range(const etcdserverpb::RangeRequest& request,
                                                  const CallOptions& call) {
  return impl_->Call<etcdserverpb::RangeResponse>(
      request, call, Retry::kIfUnavailable,
      [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.kv->Range(context, in, out);
      });
}

Result<void> Client::RangeStream(const etcdserverpb::RangeRequest& request, const OnChunk& on_chunk,
                                 const CallOptions& call) {
  return impl_->RangeStream(request, on_chunk, call);
}

std::unique_ptr<Watch> Client::NewWatch(const etcdserverpb::WatchCreateRequest& request,
                                        const CallOptions& call) {
  return impl_->NewWatch(request, call.require_leader);
}

Result<etcdserverpb::PutResponse> Client::Put(const etcdserverpb::PutRequest& request,
                                              const CallOptions& call) {
  return impl_->Call<etcdserverpb::PutResponse>(
      request, call, Retry::kNever, [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.kv->Put(context, in, out);
      });
}

Result<etcdserverpb::DeleteRangeResponse> Client::DeleteRange(
    const etcdserverpb::DeleteRangeRequest& request, const CallOptions& call) {
  return impl_->Call<etcdserverpb::DeleteRangeResponse>(
      request, call, Retry::kNever, [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.kv->DeleteRange(context, in, out);
      });
}

Result<etcdserverpb::TxnResponse> Client::Txn(const etcdserverpb::TxnRequest& request,
                                              const CallOptions& call) {
  return impl_->Call<etcdserverpb::TxnResponse>(
      request, call, IsReadOnly(request) ? Retry::kIfUnavailable : Retry::kNever,
      [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.kv->Txn(context, in, out);
      });
}

Result<etcdserverpb::CompactionResponse> Client::Compact(
    const etcdserverpb::CompactionRequest& request, const CallOptions& call) {
  return impl_->Call<etcdserverpb::CompactionResponse>(
      request, call, Retry::kNever, [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.kv->Compact(context, in, out);
      });
}

Result<etcdserverpb::LeaseGrantResponse> Client::LeaseGrant(
    const etcdserverpb::LeaseGrantRequest& request, const CallOptions& call) {
  return impl_->Call<etcdserverpb::LeaseGrantResponse>(
      request, call, Retry::kNever, [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.lease->LeaseGrant(context, in, out);
      });
}

Result<etcdserverpb::LeaseRevokeResponse> Client::LeaseRevoke(std::int64_t lease,
                                                              const CallOptions& call) {
  etcdserverpb::LeaseRevokeRequest request;
  request.set_id(lease);
  return impl_->Call<etcdserverpb::LeaseRevokeResponse>(
      request, call, Retry::kNever, [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.lease->LeaseRevoke(context, in, out);
      });
}

Result<etcdserverpb::LeaseKeepAliveResponse> Client::LeaseKeepAliveOnce(std::int64_t lease,
                                                                        const CallOptions& call) {
  etcdserverpb::LeaseKeepAliveRequest request;
  request.set_id(lease);
  return impl_->Call<etcdserverpb::LeaseKeepAliveResponse>(request, call, Retry::kIfUnavailable,
                                                           kKeepAliveMethod);
}

Result<etcdserverpb::LeaseTimeToLiveResponse> Client::LeaseTimeToLive(
    const etcdserverpb::LeaseTimeToLiveRequest& request, const CallOptions& call) {
  return impl_->Call<etcdserverpb::LeaseTimeToLiveResponse>(
      request, call, Retry::kIfUnavailable,
      [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.lease->LeaseTimeToLive(context, in, out);
      });
}

Result<etcdserverpb::LeaseLeasesResponse> Client::LeaseLeases(const CallOptions& call) {
  return impl_->Call<etcdserverpb::LeaseLeasesResponse>(
      etcdserverpb::LeaseLeasesRequest(), call, Retry::kIfUnavailable,
      [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.lease->LeaseLeases(context, in, out);
      });
}

Result<etcdserverpb::MemberAddResponse> Client::MemberAdd(
    const etcdserverpb::MemberAddRequest& request, const CallOptions& call) {
  return impl_->Call<etcdserverpb::MemberAddResponse>(
      request, call, Retry::kNever, [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.cluster->MemberAdd(context, in, out);
      });
}

Result<etcdserverpb::MemberRemoveResponse> Client::MemberRemove(
    const etcdserverpb::MemberRemoveRequest& request, const CallOptions& call) {
  return impl_->Call<etcdserverpb::MemberRemoveResponse>(
      request, call, Retry::kNever, [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.cluster->MemberRemove(context, in, out);
      });
}

Result<etcdserverpb::MemberUpdateResponse> Client::MemberUpdate(
    const etcdserverpb::MemberUpdateRequest& request, const CallOptions& call) {
  return impl_->Call<etcdserverpb::MemberUpdateResponse>(
      request, call, Retry::kNever, [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.cluster->MemberUpdate(context, in, out);
      });
}

Result<etcdserverpb::MemberPromoteResponse> Client::MemberPromote(
    const etcdserverpb::MemberPromoteRequest& request, const CallOptions& call) {
  return impl_->Call<etcdserverpb::MemberPromoteResponse>(
      request, call, Retry::kNever, [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.cluster->MemberPromote(context, in, out);
      });
}

Result<etcdserverpb::MemberListResponse> Client::MemberList(
    const etcdserverpb::MemberListRequest& request, const CallOptions& call) {
  return impl_->Call<etcdserverpb::MemberListResponse>(
      request, call, Retry::kIfUnavailable,
      [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.cluster->MemberList(context, in, out);
      });
}

Result<etcdserverpb::StatusResponse> Client::Status(const CallOptions& call) {
  return impl_->Call<etcdserverpb::StatusResponse>(
      etcdserverpb::StatusRequest(), call, Retry::kIfUnavailable,
      [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.maintenance->Status(context, in, out);
      });
}

Result<etcdserverpb::HashResponse> Client::Hash(const CallOptions& call) {
  return impl_->Call<etcdserverpb::HashResponse>(
      etcdserverpb::HashRequest(), call, Retry::kIfUnavailable,
      [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.maintenance->Hash(context, in, out);
      });
}

Result<etcdserverpb::HashKVResponse> Client::HashKV(const etcdserverpb::HashKVRequest& request,
                                                    const CallOptions& call) {
  return impl_->Call<etcdserverpb::HashKVResponse>(
      request, call, Retry::kIfUnavailable,
      [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.maintenance->HashKV(context, in, out);
      });
}

Result<etcdserverpb::DefragmentResponse> Client::Defragment(const CallOptions& call) {
  return impl_->Call<etcdserverpb::DefragmentResponse>(
      etcdserverpb::DefragmentRequest(), call, Retry::kNever,
      [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.maintenance->Defragment(context, in, out);
      });
}

Result<etcdserverpb::MoveLeaderResponse> Client::MoveLeader(
    const etcdserverpb::MoveLeaderRequest& request, const CallOptions& call) {
  return impl_->Call<etcdserverpb::MoveLeaderResponse>(
      request, call, Retry::kNever, [](Connection& c, auto* context, const auto& in, auto* out) {
        return c.maintenance->MoveLeader(context, in, out);
      });
}

Result<etcdserverpb::AlarmResponse> Client::AlarmList(const CallOptions& call) {
  etcdserverpb::AlarmRequest request;
  request.set_action(etcdserverpb::AlarmRequest::GET);
  return impl_->Call<etcdserverpb::AlarmResponse>(request, call, Retry::kIfUnavailable,
                                                  kAlarmMethod);
}

Result<etcdserverpb::AlarmResponse> Client::AlarmDisarmAll(const CallOptions& call) {
  KV_TRY(const etcdserverpb::AlarmResponse active, AlarmList(call));
  etcdserverpb::AlarmResponse all;
  for (const etcdserverpb::AlarmMember& alarm : active.alarms()) {
    etcdserverpb::AlarmRequest request;
    request.set_action(etcdserverpb::AlarmRequest::DEACTIVATE);
    request.set_memberid(alarm.memberid());
    request.set_alarm(alarm.alarm());
    KV_TRY(const etcdserverpb::AlarmResponse disarmed,
           impl_->Call<etcdserverpb::AlarmResponse>(request, call, Retry::kNever, kAlarmMethod));
    all.mutable_alarms()->MergeFrom(disarmed.alarms());
  }
  return all;
}

}  // namespace kvorum::client

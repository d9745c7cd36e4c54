#include "tests/differential/lane.h"

#include <chrono>
#include <cstddef>
#include <utility>

namespace kvorum::differential {
namespace {

// Longer than any answer takes: a hanging call is a difference, too.
constexpr std::chrono::seconds kCallTimeout(60);
constexpr std::chrono::seconds kProbeTimeout(1);
constexpr std::size_t kReadsInFlight = 16;

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

// A call in flight. Its address is the tag in the completion queue.
class PendingCall {
 public:
  virtual ~PendingCall() = default;
  // Once, when the call is done.
  virtual std::unique_ptr<google::protobuf::Message> TakeResponse() = 0;

  Answer TakeAnswer() {
    Answer answer{.code = status.error_code(),
                  .text = status.error_message(),
                  .details = status.error_details(),
                  .trailers = {},
                  .response = TakeResponse()};
    for (const auto& [name, value] : context.GetServerTrailingMetadata()) {
      answer.trailers.emplace(std::string(name.data(), name.size()),
                              std::string(value.data(), value.size()));
    }
    Anonymize(*answer.response);
    NormalizeLeases(*answer.response);
    return answer;
  }

  std::size_t index = 0;
  grpc::ClientContext context;
  grpc::Status status;
};

namespace {

template <class Response>
class TypedCall final : public PendingCall {
 public:
  void Finish(std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader) {
    reader_ = std::move(reader);
    reader_->Finish(response_.get(), &status, static_cast<PendingCall*>(this));
  }
  std::unique_ptr<google::protobuf::Message> TakeResponse() override {
    if (!status.ok()) response_->Clear();
    return std::move(response_);
  }

 private:
  std::unique_ptr<Response> response_ = std::make_unique<Response>();
  std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader_;
};

// One request and one answer of a method that streams: the same bytes as a unary call.
template <class Response>
class StreamedCall final : public PendingCall {
 public:
  void Finish(std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader) {
    reader_ = std::move(reader);
    reader_->StartCall();
    reader_->Finish(&bytes_, &status, static_cast<PendingCall*>(this));
  }
  std::unique_ptr<google::protobuf::Message> TakeResponse() override {
    auto response = std::make_unique<Response>();
    std::vector<grpc::Slice> slices;
    if (status.ok() && bytes_.Dump(&slices).ok()) {
      std::string joined;
      for (const grpc::Slice& slice : slices)
        joined.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
      response->ParseFromString(joined);
    }
    return response;
  }

 private:
  grpc::ByteBuffer bytes_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader_;
};

struct CallStarter {
  etcdserverpb::KV::Stub& kv;
  etcdserverpb::Maintenance::Stub& maintenance;
  etcdserverpb::Lease::Stub& lease;
  grpc::GenericStub& generic;
  grpc::CompletionQueue* queue;

  std::unique_ptr<PendingCall> operator()(const etcdserverpb::RangeRequest& request) const {
    return Call<etcdserverpb::RangeResponse>(
        [&](grpc::ClientContext* context) { return kv.AsyncRange(context, request, queue); });
  }
  std::unique_ptr<PendingCall> operator()(const etcdserverpb::PutRequest& request) const {
    return Call<etcdserverpb::PutResponse>(
        [&](grpc::ClientContext* context) { return kv.AsyncPut(context, request, queue); });
  }
  std::unique_ptr<PendingCall> operator()(const etcdserverpb::DeleteRangeRequest& request) const {
    return Call<etcdserverpb::DeleteRangeResponse>(
        [&](grpc::ClientContext* context) { return kv.AsyncDeleteRange(context, request, queue); });
  }
  std::unique_ptr<PendingCall> operator()(const etcdserverpb::TxnRequest& request) const {
    return Call<etcdserverpb::TxnResponse>(
        [&](grpc::ClientContext* context) { return kv.AsyncTxn(context, request, queue); });
  }
  std::unique_ptr<PendingCall> operator()(const etcdserverpb::CompactionRequest& request) const {
    return Call<etcdserverpb::CompactionResponse>(
        [&](grpc::ClientContext* context) { return kv.AsyncCompact(context, request, queue); });
  }
  std::unique_ptr<PendingCall> operator()(const etcdserverpb::HashKVRequest& request) const {
    return Call<etcdserverpb::HashKVResponse>([&](grpc::ClientContext* context) {
      return maintenance.AsyncHashKV(context, request, queue);
    });
  }
  std::unique_ptr<PendingCall> operator()(const etcdserverpb::LeaseGrantRequest& request) const {
    return Call<etcdserverpb::LeaseGrantResponse>([&](grpc::ClientContext* context) {
      return lease.AsyncLeaseGrant(context, request, queue);
    });
  }
  std::unique_ptr<PendingCall> operator()(const etcdserverpb::LeaseRevokeRequest& request) const {
    return Call<etcdserverpb::LeaseRevokeResponse>([&](grpc::ClientContext* context) {
      return lease.AsyncLeaseRevoke(context, request, queue);
    });
  }
  std::unique_ptr<PendingCall> operator()(
      const etcdserverpb::LeaseTimeToLiveRequest& request) const {
    return Call<etcdserverpb::LeaseTimeToLiveResponse>([&](grpc::ClientContext* context) {
      return lease.AsyncLeaseTimeToLive(context, request, queue);
    });
  }
  std::unique_ptr<PendingCall> operator()(const etcdserverpb::LeaseLeasesRequest& request) const {
    return Call<etcdserverpb::LeaseLeasesResponse>([&](grpc::ClientContext* context) {
      return lease.AsyncLeaseLeases(context, request, queue);
    });
  }
  std::unique_ptr<PendingCall> operator()(
      const etcdserverpb::LeaseKeepAliveRequest& request) const {
    auto call = std::make_unique<StreamedCall<etcdserverpb::LeaseKeepAliveResponse>>();
    call->context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
    grpc::Slice slice(request.SerializeAsString());
    call->Finish(generic.PrepareUnaryCall(&call->context, "/etcdserverpb.Lease/LeaseKeepAlive",
                                          grpc::ByteBuffer(&slice, 1), queue));
    return call;
  }

 private:
  template <class Response, class StartCall>
  static std::unique_ptr<PendingCall> Call(StartCall start) {
    auto call = std::make_unique<TypedCall<Response>>();
    call->context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
    call->Finish(start(&call->context));
    return call;
  }
};

}  // namespace

Lane::Lane(const std::string& address) {
  const auto channel = Connect(address);
  kv_ = etcdserverpb::KV::NewStub(channel);
  maintenance_ = etcdserverpb::Maintenance::NewStub(channel);
  lease_ = etcdserverpb::Lease::NewStub(channel);
  generic_ = std::make_unique<grpc::GenericStub>(channel);
}

Lane::~Lane() { queue_.Shutdown(); }

bool Lane::IsServing() {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kProbeTimeout);
  context.set_wait_for_ready(true);  // a call that fails at once does not drive the connecting
  etcdserverpb::RangeRequest request;
  request.set_key("ready?");
  etcdserverpb::RangeResponse response;
  return kv_->Range(&context, request, &response).ok();
}

Result<std::string> Lane::Version() {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
  etcdserverpb::StatusResponse response;
  const grpc::Status status = maintenance_->Status(&context, {}, &response);
  if (!status.ok()) return Fail(Code::kUnavailable, "Status: " + status.error_message());
  return response.version();
}

std::unique_ptr<PendingCall> Lane::Start(const Request& request) {
  return std::visit(CallStarter{*kv_, *maintenance_, *lease_, *generic_, &queue_}, request);
}

void Lane::TakeOne(std::vector<Answer>& answers) {
  void* tag = nullptr;
  bool ok = false;
  queue_.Next(&tag, &ok);
  const std::unique_ptr<PendingCall> call(static_cast<PendingCall*>(tag));
  answers[call->index] = call->TakeAnswer();
}

std::vector<Answer> Lane::Run(std::span<const Request> requests) {
  std::vector<Answer> answers(requests.size());
  std::size_t in_flight = 0;
  const auto drain_to = [&](std::size_t count) {
    for (; in_flight > count; --in_flight) TakeOne(answers);
  };
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const bool is_read = IsRead(requests[i]);
    drain_to(is_read ? kReadsInFlight - 1 : 0);
    auto call = Start(requests[i]);
    call->index = i;
    static_cast<void>(call.release());  // TakeOne gets it back from the queue
    ++in_flight;
    if (!is_read) drain_to(0);
  }
  drain_to(0);
  return answers;
}

}  // namespace kvorum::differential

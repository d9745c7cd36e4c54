#include "sync/delta/delta_client.h"

#include <grpcpp/grpcpp.h>

#include <deque>
#include <future>
#include <mutex>
#include <utility>

#include "client/endpoint.h"
#include "client/tls_credentials.h"
#include "proto/discovery.grpc.pb.h"
#include "sync/delta/delta_wire.h"
#include "sync/kernel/loop.h"
#include "sync/kernel/timer.h"

namespace kvorum::sync {
namespace {

namespace wire = envoy::service::discovery::v3;
using CallReactor =
    grpc::ClientBidiReactor<wire::DeltaDiscoveryRequest, wire::DeltaDiscoveryResponse>;

// One stream. It keeps itself until gRPC is done with it.
class Call final : public CallReactor {
 public:
  struct Listener {
    std::function<void(DeltaResponse)> on_response;
    std::function<void(Error)> on_end;
  };

  static std::shared_ptr<Call> Begin(wire::AggregatedDiscoveryService::Stub& stub,
                                     Listener listener) {
    auto call = std::make_shared<Call>(std::move(listener));
    call->self_ = call;
    stub.async()->DeltaAggregatedResources(&call->context_, call.get());
    call->AddHold();  // for Write, until the stream has ended
    call->StartRead(&call->response_);
    call->StartCall();
    return call;
  }
  explicit Call(Listener listener) : listener_(std::move(listener)) {}

  void Write(const DeltaRequest& request) {
    const std::lock_guard lock(mutex_);
    if (is_over_) return;
    ToWire(request, requests_.emplace_back());
    if (requests_.size() == 1) StartWrite(&requests_.front());
  }
  // The last response is dealt with.
  void Proceed() {
    const std::lock_guard lock(mutex_);
    if (!is_over_) StartRead(&response_);
  }
  // Nothing is begun any more, so that the stream can end.
  void GiveUp() {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(is_over_, true)) return;
    }
    context_.TryCancel();
    RemoveHold();
  }
  // Becomes ready once gRPC's thread has let go of the call.
  std::shared_future<void> done() const { return done_future_; }

  void OnReadDone(bool ok) override {
    if (!ok) return GiveUp();
    listener_.on_response(FromWire(response_));
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return GiveUp();
    const std::lock_guard lock(mutex_);
    requests_.pop_front();
    if (!requests_.empty() && !is_over_) StartWrite(&requests_.front());
  }
  void OnDone(const grpc::Status& status) override {
    listener_.on_end({static_cast<Code>(status.error_code()),
                      status.ok() ? "the server ended the stream" : status.error_message()});
    const std::shared_ptr<std::promise<void>> done = done_;
    std::shared_ptr<Call>(std::move(self_)).reset();  // perhaps this call's end
    done->set_value();
  }

 private:
  const Listener listener_;
  grpc::ClientContext context_;
  wire::DeltaDiscoveryResponse response_;
  std::shared_ptr<Call> self_;
  const std::shared_ptr<std::promise<void>> done_ = std::make_shared<std::promise<void>>();
  const std::shared_future<void> done_future_ = done_->get_future().share();
  std::mutex mutex_;  // guards what follows, and that nothing is begun after the end
  std::deque<wire::DeltaDiscoveryRequest> requests_;  // the first is being written
  bool is_over_ = false;
};

std::shared_ptr<grpc::Channel> Connect(const DeltaClientOptions& options,
                                       const std::shared_ptr<grpc::ChannelCredentials>& tls) {
  using Security = client::Endpoint::Security;
  const client::Endpoint endpoint = client::ParseEndpoint(options.endpoint);
  const bool is_in_tls = endpoint.security == Security::kTls ||
                         (endpoint.security == Security::kAsChosen && options.tls.enabled);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(options.max_response_bytes);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  // The pauses between tries are the client's.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (!options.tls.server_name.empty()) arguments.SetSslTargetNameOverride(options.tls.server_name);
  return grpc::CreateCustomChannel(endpoint.target,
                                   is_in_tls ? tls : grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

class DeltaClient::Impl {
 public:
  Impl(Executor& executor, DeltaSink& sink, DeltaClientOptions options,
       const std::shared_ptr<grpc::ChannelCredentials>& tls)
      : clock_(executor.clock()),
        options_(std::move(options)),
        sink_(sink),
        stub_(wire::AggregatedDiscoveryService::NewStub(Connect(options_, tls))),
        backoff_(options_.backoff),
        rng_(options_.seed),
        loop_(executor, [this](TimePoint now) { return Step(now); }) {
    reconnect_.Set(clock_.Now());
    loop_.Wake();
  }
  ~Impl() {
    loop_.Stop();
    if (call_ != nullptr) call_->GiveUp();
    WaitForCall();
  }

 private:
  TimePoint Step(TimePoint now) {
    if (reconnect_.TakeDue(now)) Begin();
    return reconnect_.due();
  }

  // A call refers to its channel. If gRPC's thread were the last to let go of that, it would wait
  // for its own end where no other channel is left, and abort (1.51).
  void WaitForCall() {
    if (call_done_.valid()) call_done_.wait();
  }

  void Begin() {
    if (!receiver_) receiver_.emplace(sink_, options_.node, options_.types);
    WaitForCall();  // for the last instructions of the one that has just ended
    call_ = Call::Begin(
        *stub_,
        {.on_response =
             [this, handle = loop_.handle()](DeltaResponse response) {
               handle.Post([this, response = std::move(response)] { Receive(response); });
             },
         .on_end = [this, handle = loop_.handle()](
                       Error why) { handle.Post([this, why = std::move(why)] { End(why); }); }});
    call_done_ = call_->done();
    for (const DeltaRequest& request : receiver_->Begin()) call_->Write(request);
  }

  void Receive(const DeltaResponse& response) {
    const DeltaRequest answer = options_.refusal ? DeltaRequest{.type = response.type,
                                                                .nonce = response.nonce,
                                                                .refusal = options_.refusal}
                                                 : receiver_->Receive(response);
    if (options_.on_response != nullptr) options_.on_response(response, answer);
    call_->Write(answer);
    call_->Proceed();
  }

  void End(const Error& why) {
    call_.reset();
    const TimePoint now = clock_.Now();
    const Duration pause = backoff_.Next(now, rng_);
    reconnect_.Set(now + pause);
    if (options_.on_end != nullptr) options_.on_end(why, pause);
  }

  const Clock& clock_;
  const DeltaClientOptions options_;
  DeltaSink& sink_;
  const std::unique_ptr<wire::AggregatedDiscoveryService::Stub> stub_;
  std::optional<DeltaReceiver> receiver_;  // made on the executor, where the sink is called
  Backoff backoff_;
  Rng rng_;
  Timer reconnect_;
  std::shared_ptr<Call> call_;
  std::shared_future<void> call_done_;  // of the last one
  Loop loop_;
};

DeltaClient::DeltaClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeltaClient::~DeltaClient() = default;

Result<std::unique_ptr<DeltaClient>> DeltaClient::Start(Executor& executor, DeltaSink& sink,
                                                        DeltaClientOptions options) {
  KV_TRY(const auto tls, client::TlsCredentials(options.tls));
  return std::unique_ptr<DeltaClient>(
      new DeltaClient(std::make_unique<Impl>(executor, sink, std::move(options), tls)));
}

}  // namespace kvorum::sync

#include "rpc/health.h"

#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace kvorum::rpc {
namespace {

// HealthCheckRequest{string service = 1}, HealthCheckResponse{ServingStatus status = 1}: so small
// that they are read and written by hand.
constexpr char kStatusTag = 1 << 3;

enum class Serving : char { kServing = 1, kNotServing = 2, kServiceUnknown = 3 };

SharedBytes Response(Serving status) {
  static constexpr char kServingBytes[] = {kStatusTag, static_cast<char>(Serving::kServing)};
  static constexpr char kNotServingBytes[] = {kStatusTag, static_cast<char>(Serving::kNotServing)};
  static constexpr char kUnknownBytes[] = {kStatusTag, static_cast<char>(Serving::kServiceUnknown)};
  switch (status) {
    case Serving::kServing:
      return SharedBytes::Static({kServingBytes, 2});
    case Serving::kNotServing:
      return SharedBytes::Static({kNotServingBytes, 2});
    case Serving::kServiceUnknown:
      break;
  }
  return SharedBytes::Static({kUnknownBytes, 2});
}

// True if the request names the server as a whole. A name is never anything else here, so what
// follows a non-empty one need not be understood.
bool NamesWholeServer(std::string_view request) {
  return request.empty() || request == std::string_view("\x0a\x00", 2);
}

}  // namespace

class Health::State : public std::enable_shared_from_this<Health::State> {
 public:
  void SetServing(bool serving) {
    std::vector<std::shared_ptr<Watcher>> watchers;
    {
      std::lock_guard lock(mutex_);
      status_ = serving ? Serving::kServing : Serving::kNotServing;
      std::erase_if(watchers_, [](const auto& each) { return each.expired(); });
      for (const auto& each : watchers_) {
        if (auto watcher = each.lock()) watchers.push_back(std::move(watcher));
      }
    }
    for (const auto& watcher : watchers) Advance(watcher);
  }

  Result<ByteChain> Check(std::string_view request) {
    if (!NamesWholeServer(request)) return Fail(Code::kNotFound, "unknown service");
    std::lock_guard lock(mutex_);
    return ByteChain{Response(status_)};
  }

  void Watch(const std::shared_ptr<ServerStream>& stream) {
    stream->Read([self = shared_from_this(), stream](Result<std::optional<SharedBytes>> request) {
      if (!request || !*request) return;  // the transport has ended the stream already
      auto watcher = std::make_shared<Watcher>();
      watcher->stream = stream;
      watcher->whole_server = NamesWholeServer((*request)->view());
      // The stream's end breaks the cycle: its callbacks are dropped then.
      stream->context().OnCancel([self, watcher](const Error&) { self->Forget(*watcher); });
      if (watcher->whole_server) {
        std::lock_guard lock(self->mutex_);
        self->watchers_.push_back(watcher);
      }
      self->Advance(watcher);
    });
  }

 private:
  struct Watcher {
    std::shared_ptr<ServerStream> stream;
    bool whole_server = false;
    bool writing = false;
    std::optional<Serving> sent;
  };

  void Forget(Watcher& watcher) {
    std::shared_ptr<ServerStream> dropped;  // destroyed after the lock
    std::lock_guard lock(mutex_);
    dropped.swap(watcher.stream);
  }

  // Sends the status if it differs from the last one sent; one Write at a time, so a slow watcher
  // sees the newest status and nothing piles up.
  void Advance(const std::shared_ptr<Watcher>& watcher) {
    Serving status;
    std::shared_ptr<ServerStream> stream;
    {
      std::lock_guard lock(mutex_);
      status = watcher->whole_server ? status_ : Serving::kServiceUnknown;
      if (watcher->stream == nullptr || watcher->writing || watcher->sent == status) return;
      watcher->writing = true;
      watcher->sent = status;
      stream = watcher->stream;
    }
    stream->Write({Response(status)}, [self = shared_from_this(), watcher](Result<void> written) {
      if (!written) return self->Forget(*watcher);
      {
        std::lock_guard lock(self->mutex_);
        watcher->writing = false;
      }
      self->Advance(watcher);
    });
  }

  std::mutex mutex_;
  Serving status_ = Serving::kNotServing;
  std::vector<std::weak_ptr<Watcher>> watchers_;
};

Health::Health() : state_(std::make_shared<State>()) {}
Health::~Health() = default;

void Health::SetServing(bool serving) { state_->SetServing(serving); }

void Health::Register(Router& router) {
  constexpr std::string_view kService = "grpc.health.v1.Health";
  router.AddUnary(kService, "Check",
                  [state = state_](const std::shared_ptr<CallContext>&, const SharedBytes& request,
                                   UnaryReply reply) { reply(state->Check(request.view())); });
  router.AddStream(
      kService, "Watch", MethodKind::kServerStream,
      [state = state_](const std::shared_ptr<ServerStream>& stream) { state->Watch(stream); });
}

}  // namespace kvorum::rpc

#include "rpc/health.h"

#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "base/utf8.h"
#include "proto/wire.h"
#include "rpc/grpc_protocol.h"

namespace kvorum::rpc {
namespace {

// HealthCheckRequest{string service = 1}, HealthCheckResponse{ServingStatus status = 1},
// HealthListResponse{map<string, HealthCheckResponse> statuses = 1}: so small that they are read
// and written by hand.
constexpr std::uint32_t kService = 1;
constexpr char kStatusTag = 1 << 3;
// An entry of six bytes: the empty name, and an answer of two bytes.
constexpr std::string_view kListOfOne("\x0a\x06\x0a\x00\x12\x02", 6);

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

// True if the request names the server as a whole.
Result<bool> NamesWholeServer(std::string_view request) {
  std::string_view service;
  bool is_utf8 = true;
  wire::Reader reader(request);
  while (reader.Next()) {
    if (reader.field() == kService && reader.type() == wire::Type::kLengthDelimited) {
      service = reader.Bytes();
      is_utf8 &= IsValidUtf8(service);
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return kErrMalformedRequest.Fail();
  if (!is_utf8) return kErrInvalidUtf8Request.Fail();
  return service.empty();
}

Result<void> CheckEmptyMessage(std::string_view request) {
  wire::Reader reader(request);
  while (reader.Next()) reader.Skip();
  if (!reader.ok()) return kErrMalformedRequest.Fail();
  return {};
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
    KV_TRY(const bool whole_server, NamesWholeServer(request));
    if (!whole_server) return Fail(Code::kNotFound, "unknown service");
    std::lock_guard lock(mutex_);
    return ByteChain{Response(status_)};
  }

  Result<ByteChain> List(std::string_view request) {
    KV_RETURN_IF_ERROR(CheckEmptyMessage(request));
    std::lock_guard lock(mutex_);
    return ByteChain{SharedBytes::Static(kListOfOne), Response(status_)};
  }

  void Watch(const std::shared_ptr<ServerStream>& stream) {
    stream->Read([self = shared_from_this(), stream](Result<std::optional<SharedBytes>> request) {
      if (!request || !*request) return;  // the transport has ended the stream already
      const auto whole_server = NamesWholeServer((*request)->view());
      if (!whole_server) return stream->Finish(OnStream(whole_server.error()));
      auto watcher = std::make_shared<Watcher>();
      watcher->stream = stream;
      watcher->whole_server = *whole_server;
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
  constexpr std::string_view kName = "grpc.health.v1.Health";
  router.AddUnary(kName, "Check",
                  [state = state_](const std::shared_ptr<CallContext>&, const SharedBytes& request,
                                   UnaryReply reply) { reply(state->Check(request.view())); });
  router.AddUnary(kName, "List",
                  [state = state_](const std::shared_ptr<CallContext>&, const SharedBytes& request,
                                   UnaryReply reply) { reply(state->List(request.view())); });
  router.AddStream(
      kName, "Watch", MethodKind::kServerStream,
      [state = state_](const std::shared_ptr<ServerStream>& stream) { state->Watch(stream); });
}

}  // namespace kvorum::rpc

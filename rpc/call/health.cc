#include "rpc/call/health.h"

#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/fields.h"
#include "proto/health_fields.h"
#include "rpc/call/grpc_protocol.h"

namespace kvorum::rpc {
namespace {

using wire::Always;
using wire::Describe;
using wire::Nested;
using wire::Text;

struct CheckRequest {
  std::string_view service;
};
constexpr auto kCheckRequest =
    Describe<CheckRequest, Text<wire::health_fields::kService, &CheckRequest::service>>(
        "grpc.health.v1.HealthCheckRequest");

enum class Serving : std::int32_t {
  kUnknown = 0,
  kServing = 1,
  kNotServing = 2,
  kServiceUnknown = 3
};
struct CheckResponse {
  Serving status = Serving::kUnknown;
};
constexpr auto kCheckResponse =
    Describe<CheckResponse, wire::Field<wire::health_fields::kStatus, &CheckResponse::status>>(
        "grpc.health.v1.HealthCheckResponse");

struct ListRequest {};
constexpr auto kListRequest = Describe<ListRequest>("grpc.health.v1.HealthListRequest");

// A map on the wire is a list of pairs.
struct ListEntry {
  std::string_view service;
  CheckResponse answer;
};
constexpr auto kListEntry = Describe<ListEntry, Always<Text<1, &ListEntry::service>>,
                                     Nested<2, &ListEntry::answer, kCheckResponse>>(
    "grpc.health.v1.HealthListResponse.StatusesEntry");
struct ListResponse {
  std::vector<ListEntry> statuses;
};
constexpr auto kListResponse =
    Describe<ListResponse, Nested<1, &ListResponse::statuses, kListEntry>>(
        "grpc.health.v1.HealthListResponse");

constexpr const wire::Table* kTables[] = {&kCheckRequest, &kCheckResponse, &kListRequest,
                                          &kListEntry, &kListResponse};

SharedBytes Response(Serving status) {
  return wire::EncodeShared(kCheckResponse, {.status = status});
}

// Returns true if the request names the server as a whole.
Result<bool> NamesWholeServer(std::string_view bytes) {
  KV_TRY(const CheckRequest request, wire::DecodeRequest(kCheckRequest, bytes));
  return request.service.empty();
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
    KV_RETURN_IF_ERROR(wire::DecodeRequest(kListRequest, request));
    std::lock_guard lock(mutex_);
    return ByteChain{wire::EncodeShared(
        kListResponse, {.statuses = {{.service = {}, .answer = {.status = status_}}}})};
  }

  void Watch(const std::shared_ptr<ServerStream>& stream) {
    stream->Read([self = shared_from_this(), stream](Result<std::optional<SharedBytes>> request) {
      if (!request || !*request) return;  // the transport has ended the stream already
      const auto whole_server = NamesWholeServer((*request)->view());
      if (!whole_server) return stream->Finish(OnStream(whole_server.error()));
      auto watcher = std::make_shared<Watcher>();
      watcher->stream = stream;
      watcher->whole_server = *whole_server;
      // The end of the stream breaks the cycle: its callbacks are dropped then.
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

std::span<const wire::Table* const> HealthMessageTables() { return kTables; }

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

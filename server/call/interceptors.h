// What happens around every call, whichever service it is for: the checks of its metadata before
// the handler, and the counters and the slow-request log after it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "rpc/service.h"
#include "server/call/access_table.h"
#include "server/call/service_context.h"

namespace kvorum::server {

// Calls by method and status code, for the metrics. Thread-safe; one relaxed increment a call.
class CallCounters {
 public:
  explicit CallCounters(std::size_t methods);
  void Started(std::uint32_t method) {
    Row(method).started.fetch_add(1, std::memory_order_relaxed);
  }
  void Ended(std::uint32_t method, Code code);
  std::uint64_t started(std::uint32_t method) const;
  std::uint64_t ended(std::uint32_t method, Code code) const;

 private:
  static constexpr std::size_t kCodes = 17;
  struct alignas(64) Counters {
    std::atomic<std::uint64_t> started{0};
    std::atomic<std::uint64_t> by_code[kCodes]{};
  };
  Counters& Row(std::uint32_t method) { return rows_[method]; }

  std::unique_ptr<Counters[]> rows_;
};

// What a learner, which must not promise anything in the cluster's name, serves of a unary method.
enum class OnLearner : std::uint8_t {
  kRefused,
  kServed,
  kSerializableRange,  // a RangeRequest that asks for no more than this member's own state
};

// Wraps a handler: refuses what a learner does not serve (of streams: all of them), a
// client-api-version that is not UTF-8, a call that requires a leader (metadata hasleader) while
// there is none, and whom the method's row in access_table.h refuses; a stream of a call that
// requires a leader is cut when there has been none for a while.
rpc::UnaryMethod Intercepted(const ServiceContext& context, const AccessRule& rule,
                             rpc::UnaryMethod method, OnLearner on_learner = OnLearner::kRefused);
rpc::StreamMethod Intercepted(const ServiceContext& context, const AccessRule& rule,
                              rpc::StreamMethod method);

// Whether the call asks for a leader (metadata hasleader).
bool WantsLeader(const rpc::CallContext& call);

// The method's row; there is one for every method.
const AccessRule& AccessRuleOf(std::string_view service, std::string_view method);

// Registers a service's own handler, wrapped.
template <class Service>
void AddUnary(rpc::Router& router, const ServiceContext& context, std::string_view service,
              std::string_view name, Service& object,
              void (Service::*handler)(const rpc::CallContext&, SharedBytes, rpc::UnaryReply),
              OnLearner on_learner = OnLearner::kRefused) {
  router.AddUnary(
      service, name,
      Intercepted(context, AccessRuleOf(service, name),
                  rpc::UnaryMethod([&object, handler](std::shared_ptr<rpc::CallContext> call,
                                                      SharedBytes request, rpc::UnaryReply reply) {
                    (object.*handler)(*call, std::move(request), std::move(reply));
                  }),
                  on_learner));
}

// The same for a handler that keeps the call.
template <class Service>
void AddUnary(rpc::Router& router, const ServiceContext& context, std::string_view service,
              std::string_view name, Service& object,
              void (Service::*handler)(std::shared_ptr<rpc::CallContext>, SharedBytes,
                                       rpc::UnaryReply)) {
  router.AddUnary(
      service, name,
      Intercepted(context, AccessRuleOf(service, name),
                  rpc::UnaryMethod([&object, handler](std::shared_ptr<rpc::CallContext> call,
                                                      SharedBytes request, rpc::UnaryReply reply) {
                    (object.*handler)(std::move(call), std::move(request), std::move(reply));
                  })));
}

void AddStream(rpc::Router& router, const ServiceContext& context, std::string_view service,
               std::string_view name, rpc::MethodKind kind, rpc::StreamMethod method);

// Counts every call, and logs one that took longer than `slow` with its caller's address. Called
// once, when all methods are registered; the counters outlive the router.
void ObserveCalls(rpc::Router& router, CallCounters& counters, Duration slow);

}  // namespace kvorum::server

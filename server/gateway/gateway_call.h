// One call of the gateway, from its HTTP request on: its context, its time limit, the counters'
// hooks. What comes of it is a UnaryCall's or a StreamCall's.
//
// The message of a request whose body is still to come is awaited first; a client that leaves
// before it was there has called nothing. A body is dropped as it is read; what waits of it counts
// among what its connection holds.
//
// Belongs to the loop of its connection (without one, as in tests, to the executor for timed
// tasks). The handler is called there, with the same context as over gRPC; the client's certificate
// is not in it, since no caller is identified by it here.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "base/task.h"
#include "rpc/call/call_context.h"
#include "rpc/call/service.h"
#include "rpc/http/http.h"
#include "rpc/io/timer_heap.h"
#include "server/call/reads.h"
#include "server/gateway/json_pieces.h"
#include "server/gateway/routes.h"

namespace kvorum::server::gateway {

// The server's parts, which outlive the calls.
struct GatewayParts {
  const Reads* reads = nullptr;
  std::function<const rpc::Router&()> router;
  std::size_t max_message_bytes = 0;  // of a request, as over gRPC
  // True: the name in a client's certificate would be a user's (--client-cert-auth).
  bool certificates_name_users = false;
};

class GatewayCall : public rpc::Timer, public std::enable_shared_from_this<GatewayCall> {
 public:
  // `method`: the route's.
  GatewayCall(const GatewayParts& parts, const Route& route, const rpc::Router::Method& method,
              rpc::HttpRequest request, rpc::HttpReply reply);
  // On its loop: the objects that wait for the call keep it alive; the loop's timer does not.
  ~GatewayCall() override { StopTimer(); }
  GatewayCall(const GatewayCall&) = delete;
  GatewayCall& operator=(const GatewayCall&) = delete;

  // Reads the headers, then runs the call; or answers at once.
  void Begin();

 protected:
  virtual void Run() = 0;
  // The call has no waiter any more, or its time is over.
  virtual void End(const Error& reason) = 0;
  // An answer before the handler was called.
  void Refuse(const Error& error);

  // More of the request has come, or its end: for calls that have begun.
  virtual void OnInput() {}

  // The message of a request in JSON, which may have no value: the message is empty then.
  Result<SharedBytes> ReadOnlyMessage();
  // Tells the connection how much is kept of the request: what has come and was not read, and, of a
  // call that waits, its message.
  void CountHeld(std::size_t message_bytes = 0) const;
  Result<SharedBytes> EncodeMessage(std::string_view value) const;
  // True if the next of several messages has come, or their end; otherwise OnInput follows.
  bool AwaitValue();
  // After AwaitValue: the next one, nullopt at their end, or their fault.
  Result<std::optional<std::string>> NextValue();
  // The value that has come in part is larger than any request may be.
  bool HasTooLargeValue() const { return values_->is_too_large(); }

  // Call before the handler, and once when the outcome is known.
  void OnStart();
  void OnOutcome(const Error& status);

  bool OnOwnLoop() const;
  Executor& io() const { return io_; }
  const GatewayParts& parts() const { return parts_; }
  const Route& route() const { return route_; }
  const rpc::Router::Method& method() const { return method_; }
  const std::shared_ptr<rpc::CallContext>& context() const { return context_; }
  rpc::HttpReply& reply() { return reply_; }
  void CountSent(std::size_t bytes) {
    CountInStream(0, 1);
    ++sent_messages_;
    sent_bytes_ += bytes;
  }
  void CountReceived(std::size_t bytes) {
    CountInStream(1, 0);
    ++received_messages_;
    received_bytes_ += bytes;
  }

 private:
  void OnTimer() override;
  void StopTimer();
  void CountInStream(std::uint64_t received, std::uint64_t sent) const {
    if (method_.info.kind != rpc::MethodKind::kUnary)
      parts_.router().CountMessages(method_.info, received, sent);
  }
  TimePoint Now() const;
  bool TakesOneMessage() const { return method_.info.kind != rpc::MethodKind::kBidiStream; }
  void TakeInput(Result<std::string> bytes);
  bool IsTooMuch() const;

  const GatewayParts& parts_;
  const Route& route_;
  const rpc::Router::Method& method_;
  rpc::HttpRequest request_;
  rpc::HttpReply reply_;
  const std::weak_ptr<rpc::HttpSink> sink_;  // the reply's
  Executor& io_;
  const std::shared_ptr<rpc::CallContext> context_ = std::make_shared<rpc::CallContext>();
  std::optional<JsonPieces> values_;  // of a body that still comes, or has several
  bool reading_ = false;
  bool begun_ = false;  // Run was called
  std::uint64_t received_messages_ = 0;
  std::uint64_t received_bytes_ = 0;
  std::uint64_t sent_messages_ = 0;
  std::uint64_t sent_bytes_ = 0;
};

}  // namespace kvorum::server::gateway

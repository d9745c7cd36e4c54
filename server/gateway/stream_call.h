// A streaming call of the gateway: JSON objects one after another in the request's body, a line for
// each message of the answer, {"result":{...}}, and one for an error, {"error":{...}}.
//
// The handler's side (rpc::ServerStream) is thread-safe, through rpc::StreamOperations; the rest
// belongs to the call's loop. A client that does not read holds back the handler's next message, so
// that no more than one waits here. Requests are handled as they come, where the transport hands
// over a body that has not ended. Where a body goes wrong the handler's Read fails with the error,
// which it finishes the call with once it has answered what came before.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "rpc/call/stream_operations.h"
#include "server/gateway/gateway_call.h"

namespace kvorum::server::gateway {

class StreamCall final : public GatewayCall {
 public:
  using GatewayCall::GatewayCall;

  // The handler's side.
  class Handle;

 private:
  void Run() override;
  void End(const Error& reason) override;
  void OnInput() override;

  std::shared_ptr<StreamCall> Self() {
    return std::static_pointer_cast<StreamCall>(shared_from_this());
  }
  void Push();
  void Deliver();
  void CarryOut(rpc::StreamOperations::Batch& operations);
  void ServeRead();
  bool HasManyRequests() const { return method().info.kind == rpc::MethodKind::kBidiStream; }
  // The client's next message; nullopt at their end.
  Result<std::optional<SharedBytes>> NextMessage();
  void SendMessages(const ByteChain& bytes, bool is_framed);
  void OnWritten(const Result<void>& written);
  // The handler is notified that it is over, the client gets the status after the outstanding
  // write.
  void Cut(const Error& reason);
  void FinishWith(Error status);
  void SendEnd();
  bool BeginBody(unsigned status, bool has_content);
  Error EndReason() const;

  std::mutex mutex_;
  rpc::StreamOperations operations_{mutex_};
  std::optional<SharedBytes> request_;     // the only one, until it was read
  std::shared_ptr<rpc::HttpBody> answer_;  // null until the first message
  bool requests_ended_ = false;            // or went wrong
  std::atomic<std::size_t> unsent_bytes_{0};
  bool writing_ = false;
  std::optional<Error> end_;  // the call is over
  bool end_sent_ = false;
  bool client_gone_ = false;
};

}  // namespace kvorum::server::gateway

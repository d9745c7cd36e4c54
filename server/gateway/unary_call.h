// A unary call of the gateway: one JSON object each way.
//
// The handler may answer from any thread. The memory of a large answer, as its message and as JSON,
// is reserved (base/answer_memory.h); one for which there is none is refused as over gRPC. JSON of
// more than 1 MiB is written by the readers' executor, so that no other connection waits for it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "rpc/call/large_answer.h"
#include "server/gateway/gateway_call.h"

namespace kvorum::server::gateway {

class UnaryCall final : public GatewayCall, public rpc::UnarySink {
 public:
  using GatewayCall::GatewayCall;

  void Complete(Error status, SharedBytes first, ByteChain rest) override;
  void CompleteLarge(rpc::LargeAnswer answer) override;
  void NoteCount(std::int64_t count) override { context()->NoteAnswerCount(count); }
  void NoteRows(std::vector<std::int64_t> rows) override {
    context()->NoteAnswerRows(std::move(rows));
  }
  void NoteBegun(TimePoint when) override { context()->NoteBegun(when); }
  void NotePlace(std::uint64_t place) override { context()->NotePlace(place); }

 private:
  void Run() override;
  void End(const Error& reason) override;

  // All of these on the call's loop.
  void Gather();
  void TakePiece(Result<rpc::AnswerPiece> piece);
  void Convert();
  void Send(std::string json);
  void Refuse(const Error& error);
  // Reserves memory for this many bytes more; false, and answered, if there is none.
  bool Reserve(std::size_t bytes);

  std::shared_ptr<UnaryCall> Self() {
    return std::static_pointer_cast<UnaryCall>(shared_from_this());
  }
  template <class Task>
  void OnLoop(Task task);

  bool answered_ = false;
  rpc::LargeAnswer answer_;  // as far as it is made
  AnswerMemory::Reservation held_;
};

}  // namespace kvorum::server::gateway

// The messages of a call's answer on their way to the client, one at a time: its prefix, then
// slices that go out as flow control allows. An HTTP body takes the same way.
//
// Belongs to the loop's thread, except unsent_bytes(). Allocates nothing itself.
// Invariants: unsent_bytes() is what is left of the prefix and the slices; it is 0 when nothing
// passes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/shared_bytes.h"
#include "rpc/call/grpc_protocol.h"

namespace kvorum::rpc {

class OutputBatch;

class AnswerBody {
 public:
  // Any thread.
  std::size_t unsent_bytes() const { return unsent_bytes_.load(std::memory_order_relaxed); }

  // True from Begin or BeginFramed until End.
  bool passing() const { return passing_; }
  std::uint64_t messages() const { return messages_; }
  // Without prefixes.
  std::uint64_t message_bytes() const { return message_bytes_; }

  // Begins one message: `first`, then `rest`, then as many bytes as Add brings.
  void Begin(SharedBytes first, ByteChain rest, std::size_t to_come_bytes);
  // Begins several messages that have their prefixes.
  void BeginFramed(ByteChain frames, std::size_t messages);
  // Begins bytes that are not gRPC.
  void BeginPlain(ByteChain body) { BeginFramed(std::move(body), 0); }
  void Add(ByteChain bytes);
  // Moves at most unsent_bytes() to the batch: small parts are copied, large ones go by reference.
  void MoveTo(OutputBatch& batch, std::size_t size_bytes);
  void End();
  // Forgets the number of bytes that will never be sent, and returns it.
  std::size_t Drop() { return unsent_bytes_.exchange(0, std::memory_order_relaxed); }

 private:
  SharedBytes& Part() { return part_ == 0 ? first_ : rest_[part_ - 1]; }

  MessagePrefix prefix_{};
  std::uint8_t prefix_sent_bytes_ = 0;
  bool passing_ = false;
  SharedBytes first_;
  ByteChain rest_;
  std::size_t part_ = 0;  // 0 is first_, then rest_
  std::size_t part_sent_bytes_ = 0;
  std::atomic<std::size_t> unsent_bytes_{0};  // written by the loop
  std::uint64_t messages_ = 0;
  std::uint64_t message_bytes_ = 0;
};

}  // namespace kvorum::rpc

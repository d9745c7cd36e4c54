// The bytes of a call's request as they arrive: counted against the length that the client stated,
// and cut into messages. A unary method's only message is assembled at once; a stream's bytes are
// kept until a Read asks for them; an HTTP body is kept as a whole.
//
// Used by one thread. Errors are those that end the call. The owner bounds what all requests of a
// connection hold (CountIn).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "rpc/call/message_reader.h"

namespace kvorum::rpc {

class RequestBody {
 public:
  explicit RequestBody(std::uint32_t max_message_bytes) : reader_(max_message_bytes) {}

  void set_encoding(MessageReader::Encoding encoding) { reader_.set_encoding(encoding); }
  // Without a stated length any is right.
  void set_stated_bytes(std::optional<std::uint64_t> stated_bytes) {
    stated_bytes_ = stated_bytes.value_or(0);
    has_stated_bytes_ = stated_bytes.has_value();
  }
  // The memory of an unusually large header block.
  void set_head_bytes(std::uint32_t head_bytes) { head_bytes_ = head_bytes; }
  // The part that its handler keeps.
  void set_handler_bytes(std::size_t handler_bytes) { handler_bytes_ = handler_bytes; }

  // Counts received bytes; false if the client stated fewer.
  bool Receive(std::size_t size_bytes) {
    received_bytes_ += size_bytes;
    return !has_stated_bytes_ || received_bytes_ <= stated_bytes_;
  }
  // The client sends no more; false if it stated more.
  bool End() {
    ended_ = true;
    return !has_stated_bytes_ || received_bytes_ == stated_bytes_;
  }
  bool ended() const { return ended_; }
  std::uint64_t messages() const { return messages_; }
  // The sum of the messages' sizes, without gRPC's framing.
  std::uint64_t message_bytes() const { return message_bytes_; }

  // A unary method's message: Assemble its bytes, Finish it when they ended, Take it once.
  Result<void> Assemble(std::string_view bytes);
  Result<void> Finish();
  SharedBytes Take() { return std::exchange(message_, {}); }

  // A stream's bytes, or an HTTP body's.
  void Keep(std::string_view bytes) { kept_.append(bytes); }
  std::size_t kept_bytes() const { return kept_.size() - kept_used_; }
  std::string TakeKept() { return std::exchange(kept_, {}); }
  void DropKept() {
    std::string().swap(kept_);  // an assignment would keep the memory
    kept_used_ = 0;
  }

  // Reads on in the kept bytes, up to the end of a message; returns the number that it used.
  Result<std::size_t> ReadOn();
  enum class Next : std::uint8_t { kUnknown, kMessage, kEnd };
  // Tells a stream's Read, after ReadOn, how it can be answered; kUnknown: not yet. `single`: its
  // method has one request, which is handed out only when it is certain that there is no other.
  Result<Next> Look(bool single) const;
  // The message that Look found.
  SharedBytes TakeNext() {
    ++messages_;
    SharedBytes message = reader_.Take();
    message_bytes_ += message.size();
    return message;
  }

  // Adds what it holds to the sum over a connection's requests, or corrects what it added before.
  void CountIn(std::uint64_t& sum_bytes) {
    const std::size_t holds =
        reader_.held_bytes() + message_.size() + kept_bytes() + head_bytes_ + handler_bytes_;
    sum_bytes += holds;
    sum_bytes -= std::exchange(counted_bytes_, holds);
  }
  void CountOut(std::uint64_t& sum_bytes) { sum_bytes -= std::exchange(counted_bytes_, 0); }

 private:
  std::uint64_t stated_bytes_ = 0;
  std::uint64_t received_bytes_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t message_bytes_ = 0;
  MessageReader reader_;
  SharedBytes message_;  // a unary method's, complete
  std::string kept_;
  std::size_t kept_used_ = 0;
  std::size_t counted_bytes_ = 0;
  std::size_t handler_bytes_ = 0;
  std::uint32_t head_bytes_ = 0;
  bool has_stated_bytes_ = false;
  bool ended_ = false;
};

}  // namespace kvorum::rpc

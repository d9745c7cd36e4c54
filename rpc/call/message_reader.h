// Cuts length-prefixed gRPC messages out of a stream of bytes that arrives in any portions.
//
// Used by one thread. Holds at most one message; its memory never exceeds twice the bytes that have
// arrived (plus 64 KiB), for any length that the prefix claims. One copy and one allocation per
// message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "rpc/call/grpc_protocol.h"

namespace kvorum::rpc {

class MessageReader {
 public:
  // The encoding of compressed messages, from grpc-encoding.
  enum class Encoding : std::uint8_t { kIdentity, kGzip };

  explicit MessageReader(std::uint32_t max_message_bytes) : max_message_bytes_(max_message_bytes) {}
  void set_encoding(Encoding encoding) { encoding_ = encoding; }

  // Consumes bytes up to the end of one message; returns their number. After an error the stream is
  // broken. Not to be called while a complete message waits to be taken.
  Result<std::size_t> Feed(std::string_view bytes);
  bool complete() const { return complete_; }
  // The complete message, unpacked.
  SharedBytes Take();
  // Bytes held of a message that is not taken, prefix included.
  std::size_t held_bytes() const { return std::size_t{prefix_bytes_} + body_bytes_; }

 private:
  Result<void> BeginBody();
  void AppendBody(std::string_view bytes);
  Result<void> FinishBody();

  const std::uint32_t max_message_bytes_;
  Encoding encoding_ = Encoding::kIdentity;
  bool compressed_ = false;
  bool complete_ = false;
  MessagePrefix prefix_{};
  std::uint8_t prefix_bytes_ = 0;
  std::uint32_t length_bytes_ = 0;
  std::uint32_t body_bytes_ = 0;
  // A message of ordinary size is assembled in its final block, a larger one in a string that grows
  // as bytes really arrive.
  SharedBytes block_;
  char* block_data_ = nullptr;
  std::unique_ptr<std::string> large_;  // null unless such a message is being assembled
};

}  // namespace kvorum::rpc

// The `message` stream (stream_codec.h has its layout).
#pragma once

#include <vector>

#include "server/peer/codec/stream_codec.h"

namespace kvorum::server {

class MessageStreamEncoder final : public StreamEncoder {
 public:
  void Encode(const raft::Message& message, ChainWriter& out) override;
  void EncodeLinkHeartbeat(ChainWriter& out) override;
};

class MessageStreamDecoder final : public StreamDecoder {
 public:
  explicit MessageStreamDecoder(std::size_t max_frame_bytes) : StreamDecoder(max_frame_bytes) {}

 private:
  Result<std::size_t> FindFrames(std::string_view bytes) override;
  Result<void> DecodeFrames(const SharedBytes& frames, std::vector<raft::Message>& out) override;
};

}  // namespace kvorum::server

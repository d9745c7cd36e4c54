// The `msgapp` stream (stream_codec.h has its layout). Used by one thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "server/peer/codec/stream_codec.h"

namespace kvorum::server {

// The state kept by both ends.
struct AppendPosition {
  raft::Term term = 0;
  raft::Index index = 0;

  // Updates it after a frame of type 2.
  void MoveTo(const raft::Message& message) {
    term = message.term;
    index = message.entries.empty() ? message.index : message.entries.back().index;
  }
};

class AppendStreamEncoder final : public StreamEncoder {
 public:
  // Encodes an App.
  void Encode(const raft::Message& message, ChainWriter& out) override;
  void EncodeLinkHeartbeat(ChainWriter& out) override;

 private:
  AppendPosition position_;
};

class AppendStreamDecoder final : public StreamDecoder {
 public:
  AppendStreamDecoder(raft::MemberId local, raft::MemberId remote, std::size_t max_frame_bytes)
      : StreamDecoder(max_frame_bytes), local_(local), remote_(remote) {}

 private:
  Result<std::size_t> FindFrames(std::string_view bytes) override;
  Result<void> DecodeFrames(const SharedBytes& frames, std::vector<raft::Message>& out) override;
  // Skips the entries of a frame of type 1 that starts at `begin`; false if it is incomplete.
  Result<bool> ScanEntries(std::string_view bytes, std::size_t begin, std::size_t& end);
  Result<std::size_t> DecodeContinued(const SharedBytes& frames, std::size_t position,
                                      raft::Message& message);

  const raft::MemberId local_;
  const raft::MemberId remote_;
  AppendPosition position_;
  // The position reached in the incomplete frame of type 1 at the buffer's front, so that each of
  // its entries is scanned once.
  std::size_t scanned_ = 0;
  std::uint64_t entries_left_ = 0;
};

}  // namespace kvorum::server

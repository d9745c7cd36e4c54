// The two streams between members, in the format of etcd's peers: endless frames in the body of an
// HTTP response. All integers are big-endian.
//
// `message`: 8 bytes of length, then one raftpb.Message. The link heartbeat, which keeps an idle
// connection alive, is a Heartbeat from 0 to 0.
//
// `msgapp`, App messages only; both ends keep a term and an index, which begin at 0. One byte of
// type:
//   0  link heartbeat, nothing follows
//   1  a continuing append: 8 bytes of count, per entry 8 bytes of length and the raftpb.Entry,
//      then 8 bytes of commit index. Its term and log term are the kept term; its index is the kept
//      index, which then grows by the count
//   2  any other: 8 bytes of length, then the raftpb.Message; the kept term becomes its term, the
//      kept index that of its last entry, or its index if it has none
// A writer uses 1 only if the message's index, log term and term are the kept ones.
//
// Used by one thread at a time. A decoder refuses (kDataLoss) a frame that is longer than its
// limit, of another type or malformed, and is unusable afterwards: the connection must be closed.
// It buffers at most one frame and the bytes that came with it; lengths are trusted only as far as
// bytes arrive. Entries' data are slices of one block per Feed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "proto/raft_types.h"
#include "server/peer/codec/chain_writer.h"

namespace kvorum::server {

enum class StreamKind : std::uint8_t { kMessage, kAppend };

// The name in "/raft/stream/message".
std::string_view PathName(StreamKind kind);

class StreamEncoder {
 public:
  static std::unique_ptr<StreamEncoder> Create(StreamKind kind);
  virtual ~StreamEncoder() = default;
  virtual void Encode(const raft::Message& message, ChainWriter& out) = 0;
  virtual void EncodeLinkHeartbeat(ChainWriter& out) = 0;
};

class StreamDecoder {
 public:
  // For the stream that `remote` writes for `local`.
  static std::unique_ptr<StreamDecoder> Create(StreamKind kind, raft::MemberId local,
                                               raft::MemberId remote, std::size_t max_frame_bytes);
  virtual ~StreamDecoder() = default;
  // Takes bytes, cut anywhere; appends the messages that are now complete. Link heartbeats are
  // dropped.
  Result<void> Feed(std::string_view bytes, std::vector<raft::Message>& out);
  std::size_t buffered_bytes() const { return pending_.size(); }

 protected:
  explicit StreamDecoder(std::size_t max_frame_bytes) : max_frame_bytes_(max_frame_bytes) {}
  std::unexpected<Error> TooLong(std::uint64_t length) const;

  const std::size_t max_frame_bytes_;

 private:
  // The end of the last whole frame in `bytes`, which start with a frame.
  virtual Result<std::size_t> FindFrames(std::string_view bytes) = 0;
  // Decodes whole frames.
  virtual Result<void> DecodeFrames(const SharedBytes& frames, std::vector<raft::Message>& out) = 0;

  std::string pending_;
};

// Also precedes a snapshot's content.
inline constexpr std::size_t kLengthBytes = 8;
void AppendBig64(std::string& out, std::uint64_t value);
std::uint64_t ReadBig64(std::string_view bytes);
void EncodeMessageFrame(const raft::Message& message, ChainWriter& out);

}  // namespace kvorum::server

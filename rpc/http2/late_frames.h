// Finds frames on streams that are over, which nghttp2 ignores silently: the peer must learn of
// such DATA (RFC 9113, section 5.1), and such HEADERS are an error of the connection. After a reset
// of ours DATA is excused for as long as it may have been on its way; then it is reported again.
//
// Used by one thread. Input goes through Begin, then through nghttp2, which reports the DATA frames
// that it takes (OnData), then, if it took fewer than came, through VisitLate. `is_open` says
// whether nghttp2 still knows a stream.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "rpc/http2/frame_heads.h"

namespace kvorum::rpc {

class LateFrames {
 public:
  // The time for a peer to learn of a reset.
  static constexpr Duration kExcused = std::chrono::seconds(10);

  // Counts the DATA frames in the received bytes. Returns the number of frames of all kinds.
  std::size_t Begin(std::string_view bytes, TimePoint now) {
    now_ = now;
    before_ = heads_;
    missing_ = 0;
    std::size_t frames = 0;
    heads_.Scan(bytes, [this, &frames](std::uint8_t type, std::int32_t) {
      missing_ += type == kData;
      ++frames;
    });
    return frames;
  }
  void OnData() { --missing_; }
  // True if nghttp2 has dropped a DATA frame of the bytes.
  bool missed() const { return missing_ != 0; }

  // Visits the streams of DATA frames that are over, and remembers these streams as reset.
  template <class IsOpen, class Visitor>
  void VisitLate(std::string_view bytes, IsOpen&& is_open, Visitor&& visit) {
    before_.Scan(bytes, [&](std::uint8_t type, std::int32_t stream_id) {
      if (type != kData || !IsOver(stream_id, is_open)) return;
      const auto reset = FindReset(stream_id);
      if (reset != reset_streams_.end() && reset->at + kExcused > now_) return;
      visit(stream_id);
      OnReset(stream_id);
    });
  }

  // Takes the stream of a HEADERS frame; false if its id is neither new nor that of an open stream.
  template <class IsOpen>
  [[nodiscard]] bool OnHeaders(std::int32_t stream_id, IsOpen&& is_open) {
    if (IsOver(stream_id, is_open) && FindReset(stream_id) == reset_streams_.end()) return false;
    last_stream_id_ = std::max(last_stream_id_, stream_id);
    return true;
  }

  // We reset the stream: frames that the client sent before it knew are ignored.
  void OnReset(std::int32_t stream_id) {
    if (const auto before = FindReset(stream_id); before != reset_streams_.end()) {
      before->at = now_;
      return;
    }
    const Reset reset{.stream_id = stream_id, .at = now_};
    if (reset_streams_.size() < kRememberedResets) return reset_streams_.push_back(reset);
    reset_streams_[next_reset_] = reset;
    next_reset_ = (next_reset_ + 1) % kRememberedResets;
  }

 private:
  static constexpr std::uint8_t kData = 0;
  static constexpr std::size_t kRememberedResets = 128;

  struct Reset {
    std::int32_t stream_id = 0;
    TimePoint at;
  };

  template <class IsOpen>
  bool IsOver(std::int32_t stream_id, IsOpen& is_open) const {
    const bool is_clients = stream_id % 2 == 1;
    return is_clients && stream_id <= last_stream_id_ && !is_open(stream_id);
  }
  std::vector<Reset>::iterator FindReset(std::int32_t stream_id) {
    return std::ranges::find(reset_streams_, stream_id, &Reset::stream_id);
  }

  FrameHeads heads_;
  FrameHeads before_;  // the newest input
  std::ptrdiff_t missing_ = 0;
  TimePoint now_;                    // of the newest input
  std::int32_t last_stream_id_ = 0;  // of those opened by the client
  // The latest streams that we reset, oldest overwritten first.
  std::vector<Reset> reset_streams_;
  std::size_t next_reset_ = 0;
};

}  // namespace kvorum::rpc

// Bounds what a client may do often that costs it next to nothing: pings, streams that are reset by
// it before they were answered, or for its fault, and frames that bring nothing.
//
// Used by one thread. Pure: given an event and its time, it says whether the event is still
// allowed; a client that was refused is to be hung up on.
#pragma once

#include <cstddef>

#include "base/clock.h"

namespace kvorum::rpc {

struct Options;

class FloodLimits {
 public:
  // Keeps the options.
  FloodLimits(const Options& options, TimePoint now);

  // Headers or data were sent: the client's next ping is free.
  void OnSent() { sent_since_ping_ = true; }
  // `idle`: the client has no calls. As in grpc-go.
  [[nodiscard]] bool AllowPing(TimePoint now, bool idle);
  [[nodiscard]] bool AllowReset(TimePoint now);

  // Frames that the client sent, of any kind, or work that costs as much.
  void OnFrames(std::size_t frames) { frame_tokens_ -= static_cast<double>(frames); }
  // Frames are for these: a call that began, messages that are sent to the client.
  void OnCall() { OnMessagesSent(1); }
  void OnMessagesSent(std::size_t messages);
  void OnBytesSent(std::size_t bytes);
  // Data of a call that goes on. It pays for its own frame, unless that is less than the smallest
  // message.
  void OnData(std::size_t bytes);
  // To be asked after the frames of an input and what they brought.
  [[nodiscard]] bool AllowFrames(TimePoint now);

 private:
  const Options& options_;
  bool sent_since_ping_ = false;
  int ping_strikes_ = 0;
  TimePoint last_ping_;
  double reset_tokens_;
  TimePoint reset_refill_;
  double frame_tokens_;
  TimePoint frame_refill_;
};

}  // namespace kvorum::rpc

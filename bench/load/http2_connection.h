// One client connection of the load generator: HTTP/2 with gRPC's framing, as lean as possible.
//
// It calls one method over and over, and another one now and then. So the request's header block is
// the same few bytes each time (the peer's table holds the names after the first call), frames are
// written straight into the send buffer, and of the answer only its end, its size and its status
// are examined; nghttp2 decodes HPACK. Nothing is allocated per call.
//
// Used by one thread; the socket is non-blocking and belongs in the owner's epoll set. Any error is
// final for the connection: the outstanding answers are lost.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "bench/load/link.h"
#include "bench/load/request.h"

namespace kvorum::bench {

// Gets the outcome of each call.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  // `start_nanos` is the value passed to Call, `answer_bytes` the size of the answer's messages.
  virtual void OnAnswer(std::uint64_t start_nanos, std::size_t answer_bytes) = 0;
  virtual void OnFailure(std::uint64_t start_nanos, std::string_view reason) = 0;
};

class Http2Connection {
 public:
  // Connects to "host:port" and waits, up to five seconds, for the server's settings. Its calls
  // show the token, unless it is empty.
  static Result<std::unique_ptr<Http2Connection>> Open(const std::string& endpoint,
                                                       std::string_view path,
                                                       std::string_view token = {},
                                                       const TlsContext& tls = {});
  ~Http2Connection();
  Http2Connection(const Http2Connection&) = delete;
  Http2Connection& operator=(const Http2Connection&) = delete;

  int fd() const { return link_.fd(); }
  std::size_t outstanding() const { return outstanding_; }
  bool is_new() const { return next_stream_id_ == 1; }  // there was no call yet

  // True if the server's windows and limits allow one more call of that message size.
  bool CanCall(std::size_t message_bytes) const;
  // Queues a call. Precondition: CanCall(request.size_bytes()); the first one is of the
  // connection's path.
  void Call(const RequestTemplate& request, std::uint64_t key_number, const char* value,
            std::uint64_t start_nanos);
  // Writes queued calls, as far as the socket takes them. Returns true when nothing is left.
  Result<bool> Flush();
  // Reads once and reports the calls that ended to the observer.
  Result<void> Receive(CallObserver& observer);

  // The largest message that Call takes: a stream's initial send window (RFC 9113, 6.9.2).
  static constexpr std::size_t kMaxMessageBytes = 65535;
  // Simple tokens are shorter.
  static constexpr std::size_t kMaxTokenBytes = 127;

 private:
  struct Frame;
  // A stream's number determines its slot, so this many later calls may overtake it on its
  // connection.
  static constexpr std::size_t kSlots = 1 << 16;
  struct Slot {
    std::uint64_t start_nanos = 0;
    std::size_t answer_bytes = 0;
    bool active = false;
  };

  explicit Http2Connection(Link link, std::string authority, std::string_view path);

  void QueuePreface();
  Result<void> WaitForSettings();
  void PrepareHeaderBlocks(std::string_view path, std::string_view token);
  const std::string& HeaderBlockOf(const RequestTemplate& request, std::uint32_t stream_id);
  char* QueueFrame(std::size_t payload_bytes, std::uint8_t type, std::uint8_t flags,
                   std::uint32_t stream_id);

  Result<bool> ReadSome();
  Result<void> HandleInput(CallObserver& observer);
  Result<void> HandleFrame(const Frame& frame, CallObserver& observer);
  Result<void> HandleHeaders(const Frame& frame, CallObserver& observer);
  Result<void> HandleSettings(const Frame& frame);
  // Decodes a complete block; returns the reason of a failed call, empty if the headers are fine.
  Result<std::string> DecodeHeaders(std::string_view block);
  void CreditReceived(std::size_t bytes);
  Slot* FindSlot(std::uint32_t stream_id);
  void Finish(std::uint32_t stream_id, std::string_view failure, CallObserver& observer);

  Link link_;
  const std::string authority_;
  const std::string path_;
  nghttp2_hd_inflater* inflater_ = nullptr;

  std::string first_header_block_;  // adds the names to the peer's table
  std::string header_block_;        // refers to them
  std::string block_of_another_;    // the same with another path, which the next call replaces
  std::uint32_t next_stream_id_ = 1;
  std::vector<Slot> slots_{kSlots};
  std::size_t outstanding_ = 0;

  bool settings_received_ = false;
  std::uint32_t peer_table_bytes_ = 4096;
  std::uint32_t peer_max_streams_ = UINT32_MAX;
  std::uint32_t peer_stream_window_ = 65535;
  std::uint32_t peer_max_frame_ = 16384;
  std::int64_t send_window_ = 65535;
  std::size_t uncredited_bytes_ = 0;

  std::vector<char> out_;
  std::size_t out_begin_ = 0;
  std::size_t out_end_ = 0;
  std::vector<char> message_;  // a message that takes several frames
  std::vector<char> in_;
  std::size_t in_end_ = 0;
  std::string partial_block_;  // of HEADERS that CONTINUATION frames continue
  bool partial_ends_stream_ = false;
};

}  // namespace kvorum::bench

#include "rpc/http2/http2_session.h"

#include <nghttp2/nghttp2.h>

#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "rpc/http2/nghttp2_callbacks.h"

namespace kvorum::rpc {
namespace {

// The time for the first GOAWAY to reach the client, if it does not answer our ping.
constexpr Duration kDrainRoundTrip = std::chrono::seconds(1);
// The bound of frames waiting for a client that does not read, mostly refusals of its requests:
// past it its next requests are left in the socket.
constexpr std::size_t kMaxQueuedFrames = 1024;
// A call that was open for so long was not made only to be reset at once.
constexpr Duration kLastingCall = std::chrono::seconds(1);
// SETTINGS change the windows of so many calls in the time that another frame takes.
constexpr std::size_t kCallsPerFrame = 16;
constexpr std::array<std::uint8_t, 8> kDrainPing{'k', 'v', 'o', 'r', 'u', 'm', 'G', 'A'};

struct StreamIsOpen {
  nghttp2_session* session;
  bool operator()(std::int32_t stream_id) const {
    return nghttp2_session_find_stream(session, stream_id) != nullptr;
  }
};

}  // namespace

Http2Session::Http2Session(PerLoop& per_loop, SessionHost& host, SharedBytes peer,
                           std::optional<SharedBytes> certificate_name, Serves serves)
    : per_loop_(per_loop),
      host_(host),
      peer_(std::move(peer)),
      certificate_name_(std::move(certificate_name)),
      serves_(serves),
      held_(per_loop.options, per_loop.answers),
      floods_(per_loop.options, per_loop.loop.now()),
      keepalive_(per_loop.options.ping_interval, per_loop.options.ping_timeout,
                 per_loop.loop.now()) {
  session_ = NewServerSession(*this, per_loop.session_memory);
  StartSession();
}

Http2Session::~Http2Session() {
  per_loop_.loop.Disarm(keepalive_timer_);
  per_loop_.loop.Disarm(dispatch_timer_);
  per_loop_.loop.Disarm(drain_timer_);
  while (!calls_.empty()) Detach(*calls_.newest());
  nghttp2_session_del(session_);
}

void Http2Session::StartSession() {
  const Options& options = per_loop_.options;
  std::array<nghttp2_settings_entry, 3> settings{{
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, options.stream_window_bytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, options.max_header_list_bytes},
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options.max_concurrent_streams},
  }};
  // Without a limit no limit is announced, as in grpc-go. One beyond all stream ids does not limit
  // anything, and to clients that read it into a signed number it would be nonsense.
  const std::size_t count =
      options.max_concurrent_streams > INT32_MAX ? settings.size() - 1 : settings.size();
  KV_CHECK(nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), count) == 0,
           "nghttp2 refused our settings");
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<std::int32_t>(options.connection_window_bytes));
  per_loop_.loop.Arm(keepalive_timer_, keepalive_.next());
  host_.WantFlush();
}

void Http2Session::OnInput(std::string_view bytes) {
  keepalive_.OnInput(per_loop_.loop.now());
  if (ending()) return;
  floods_.OnFrames(late_frames_.Begin(bytes, per_loop_.loop.now()));
  const auto used = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (late_frames_.missed()) {
    late_frames_.VisitLate(bytes, StreamIsOpen{session_}, [this](std::int32_t stream_id) {
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream_id, NGHTTP2_STREAM_CLOSED);
    });
  }
  if (used == NGHTTP2_ERR_FLOODED || !floods_.AllowFrames(per_loop_.loop.now())) {
    HangUp(NGHTTP2_ENHANCE_YOUR_CALM, "too_many_frames");
  } else if (used < 0) {
    EndBy(Ending::kEnded);  // not HTTP/2, or out of memory: there is nothing useful to send
    host_.WantFlush();
  } else if (nghttp2_session_want_write(session_) != 0 ||
             nghttp2_session_want_read(session_) == 0) {
    host_.WantFlush();
  }
}

void Http2Session::OnInputEnd() {
  // A gRPC client that closed its half will not read answers either.
  EndBy(Ending::kEnded);
  host_.WantFlush();
}

void Http2Session::Produce(OutputBatch& batch) {
  batch_ = &batch;
  const int status = nghttp2_session_send(session_);
  batch_ = nullptr;
  if (status != 0) EndBy(Ending::kEnded);
  CheckEnd();
  if (!waiting_.empty() && held_.MayResume())
    per_loop_.loop.Arm(dispatch_timer_, per_loop_.loop.now());
}

bool Http2Session::pauses_input(bool blocked) const {
  return blocked && (held_.stalls_input() ||
                     nghttp2_session_get_outbound_queue_size(session_) > kMaxQueuedFrames);
}

void Http2Session::CheckEnd() {
  if (nghttp2_session_want_write(session_) != 0) return;
  if (nghttp2_session_want_read(session_) == 0 || ending_ == Ending::kWhenSent ||
      (phase_ == Phase::kLast && calls_.empty())) {
    EndBy(Ending::kEnded);
  }
}

void Http2Session::Drain() {
  if (phase_ >= Phase::kDraining) return;
  if (std::exchange(phase_, Phase::kDraining) == Phase::kNew) {
    EndBy(Ending::kEnded);
    return host_.WantFlush();
  }
  // Streams that the client opens before it learns of this still count; a round trip later the last
  // of them is known (OnGoAwaySent).
  nghttp2_submit_shutdown_notice(session_);
  per_loop_.loop.Arm(drain_timer_, per_loop_.loop.now() + kDrainRoundTrip);
  host_.WantFlush();
}

void Http2Session::OnGoAwaySent() {
  if (ending_ == Ending::kHangingUp) {
    EndBy(Ending::kEnded);
  } else if (phase_ == Phase::kDraining) {
    // Not submitted together with the notice: nghttp2 would send the ping first.
    nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, kDrainPing.data());
  }
}

void Http2Session::FinalGoAway() {
  if (std::exchange(phase_, Phase::kLast) == Phase::kLast) return;
  per_loop_.loop.Disarm(drain_timer_);
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
  host_.WantFlush();
}

void Http2Session::CancelAll(const Error& reason) {
  // Cancelling detaches nothing before the next Produce.
  calls_.ForEach([&](Call& call) { Cancel(call, reason); });
  FinalGoAway();
  EndBy(Ending::kWhenSent);
  host_.WantFlush();
}

void Http2Session::HangUp(std::uint32_t error_code, std::string_view debug_data) {
  if (ending_ >= Ending::kHangingUp) return;
  EndBy(Ending::kHangingUp);
  nghttp2_submit_goaway(
      session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_), error_code,
      reinterpret_cast<const std::uint8_t*>(debug_data.data()), debug_data.size());
  host_.WantFlush();
}

void Http2Session::OnHeadersFrame(std::int32_t stream_id) {
  if (!late_frames_.OnHeaders(stream_id, StreamIsOpen{session_}))
    HangUp(NGHTTP2_PROTOCOL_ERROR, "stream_id_not_new");
}

void Http2Session::BeforeSettings() {
  floods_.OnFrames(calls_.size() / kCallsPerFrame);
  window_change_.Begin(
      nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE));
  calls_.ForEach([this](const Call& call) {
    window_change_.Add(nghttp2_session_get_stream_remote_window_size(session_, call.stream_id_));
  });
}

void Http2Session::OnInitialWindow(std::uint32_t initial_window_bytes) {
  if (!window_change_.Fits(initial_window_bytes))
    HangUp(NGHTTP2_FLOW_CONTROL_ERROR, "window_too_large");
}

void Http2Session::OnEstablished() {
  if (phase_ != Phase::kNew) return;
  phase_ = Phase::kServing;
  host_.OnEstablished();
}

void Http2Session::OnPing() {
  if (!floods_.AllowPing(per_loop_.loop.now(), /*idle=*/calls_.empty()))
    HangUp(NGHTTP2_ENHANCE_YOUR_CALM, "too_many_pings");
}

void Http2Session::OnPingAck(const std::uint8_t* opaque) {
  if (phase_ == Phase::kDraining && std::memcmp(opaque, kDrainPing.data(), kDrainPing.size()) == 0)
    FinalGoAway();
}

void Http2Session::OnReset() {
  if (!floods_.AllowReset(per_loop_.loop.now()))
    HangUp(NGHTTP2_ENHANCE_YOUR_CALM, "too_many_resets");
}

// An attack resets its streams as fast as it opens them. Who ends a thousand watches does not.
bool Http2Session::IsOldNews(const Call& call) const {
  return call.response_sent_ || call.started() + kLastingCall <= per_loop_.loop.now();
}

void Http2Session::OnKeepaliveTimer() {
  switch (keepalive_.OnTimer(per_loop_.loop.now())) {
    case Keepalive::Action::kGiveUp:
      EndBy(Ending::kEnded);
      return host_.WantFlush();
    case Keepalive::Action::kPing:
      nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
      host_.WantFlush();
      break;
    case Keepalive::Action::kWait:
      break;
  }
  per_loop_.loop.Arm(keepalive_timer_, keepalive_.next());
}

}  // namespace kvorum::rpc

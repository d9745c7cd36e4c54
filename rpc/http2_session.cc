#include "rpc/http2_session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/check.h"
#include "rpc/nghttp2_callbacks.h"

namespace kvorum::rpc {
namespace {

// A client without streams may ping this often, and gets GOAWAY at the strike after these, as in
// grpc-go.
constexpr Duration kIdlePingInterval = std::chrono::hours(2);
constexpr int kMaxPingStrikes = 2;
// The time for the first GOAWAY to reach the client, if it does not answer our ping.
constexpr Duration kDrainRoundTrip = std::chrono::seconds(1);
// The bound of frames waiting for a client that does not read, mostly refusals of its requests:
// past it its next requests are left in the socket.
constexpr std::size_t kMaxQueuedFrames = 1024;
// The number of reset streams that are remembered.
constexpr std::size_t kRememberedResets = 128;
constexpr std::int64_t kMaxWindowBytes = std::numeric_limits<std::int32_t>::max();
constexpr std::array<std::uint8_t, 8> kDrainPing{'k', 'v', 'o', 'r', 'u', 'm', 'G', 'A'};

}  // namespace

Http2Session::Http2Session(PerLoop& per_loop, SessionHost& host, SharedBytes peer,
                           std::optional<SharedBytes> certificate_name, Serves serves)
    : per_loop_(per_loop),
      host_(host),
      peer_(std::move(peer)),
      certificate_name_(std::move(certificate_name)),
      serves_(serves),
      // Long ago, so that the first ping is in time.
      last_ping_{std::numeric_limits<std::int64_t>::min() / 2},
      last_input_(per_loop.loop.now()),
      reset_tokens_(per_loop.options.reset_burst),
      reset_refill_(per_loop.loop.now()) {
  session_ = NewServerSession(*this);
  StartSession();
}

Http2Session::~Http2Session() {
  per_loop_.loop.Disarm(keepalive_timer_);
  per_loop_.loop.Disarm(dispatch_timer_);
  per_loop_.loop.Disarm(drain_timer_);
  while (calls_ != nullptr) Detach(*calls_);
  nghttp2_session_del(session_);
}

void Http2Session::StartSession() {
  const Options& options = per_loop_.options;
  std::array<nghttp2_settings_entry, 3> settings{{
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, options.stream_window_bytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, options.max_header_list_bytes},
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options.max_concurrent_streams},
  }};
  // Without a limit no limit is announced, as in grpc-go.
  const std::size_t count =
      options.max_concurrent_streams == UINT32_MAX ? settings.size() - 1 : settings.size();
  KV_CHECK(nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), count) == 0,
           "nghttp2 refused our settings");
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<std::int32_t>(options.connection_window_bytes));
  per_loop_.loop.Arm(keepalive_timer_, last_input_ + options.ping_interval);
  host_.WantFlush();
}

void Http2Session::OnInput(std::string_view bytes) {
  last_input_ = per_loop_.loop.now();
  ping_unanswered_ = false;
  if (ended_ || hanging_up_ || close_when_sent_) return;
  const FrameHeads heads_before = heads_;
  std::size_t data_frames = 0;
  heads_.Scan(bytes, [&](std::uint8_t type, std::int32_t) { data_frames += type == NGHTTP2_DATA; });
  taken_data_frames_ = 0;
  const auto used = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (taken_data_frames_ != data_frames) RefuseLateData(heads_before, bytes);
  if (used == NGHTTP2_ERR_FLOODED) {
    HangUp(NGHTTP2_ENHANCE_YOUR_CALM, "too_many_frames");
  } else if (used < 0) {
    ended_ = true;  // not HTTP/2, or out of memory: there is nothing useful to send
    host_.WantFlush();
  } else if (nghttp2_session_want_write(session_) != 0 ||
             nghttp2_session_want_read(session_) == 0) {
    host_.WantFlush();
  }
}

void Http2Session::OnInputEnd() {
  // A gRPC client that closed its half will not read answers either.
  ended_ = true;
  host_.WantFlush();
}

void Http2Session::Produce(OutputBatch& batch) {
  batch_ = &batch;
  const int status = nghttp2_session_send(session_);
  batch_ = nullptr;
  if (status != 0) ended_ = true;
  CheckEnd();
  // Half the bound, so that waiting requests are not admitted one by one.
  if (!waiting_.empty() && MayDispatch(per_loop_.options.max_unsent_bytes / 2))
    per_loop_.loop.Arm(dispatch_timer_, per_loop_.loop.now());
}

bool Http2Session::pauses_input(bool blocked) const {
  return blocked && (unsent_bytes_ > per_loop_.options.max_unsent_bytes ||
                     nghttp2_session_get_outbound_queue_size(session_) > kMaxQueuedFrames);
}

void Http2Session::CheckEnd() {
  if (nghttp2_session_want_write(session_) != 0) return;
  if (nghttp2_session_want_read(session_) == 0 || close_when_sent_ ||
      (final_goaway_sent_ && call_count_ == 0)) {
    ended_ = true;
  }
}

void Http2Session::Drain() {
  if (draining_) return;
  draining_ = true;
  if (!established_) {
    ended_ = true;
    return host_.WantFlush();
  }
  // Streams that the client opens before it learns of this still count; a round trip later the last
  // of them is known (OnGoAwaySent).
  nghttp2_submit_shutdown_notice(session_);
  per_loop_.loop.Arm(drain_timer_, per_loop_.loop.now() + kDrainRoundTrip);
  host_.WantFlush();
}

void Http2Session::OnGoAwaySent() {
  if (hanging_up_) {
    ended_ = true;
  } else if (draining_ && !final_goaway_sent_) {
    // Not submitted together with the notice: nghttp2 would send the ping first.
    nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, kDrainPing.data());
  }
}

void Http2Session::FinalGoAway() {
  if (final_goaway_sent_) return;
  final_goaway_sent_ = true;
  per_loop_.loop.Disarm(drain_timer_);
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
  host_.WantFlush();
}

void Http2Session::CancelAll(const Error& reason) {
  for (Call* call = calls_; call != nullptr;) {
    Call* next = call->next_;  // cancelling detaches nothing before the next Produce
    Cancel(*call, reason);
    call = next;
  }
  FinalGoAway();
  close_when_sent_ = true;
  host_.WantFlush();
}

void Http2Session::HangUp(std::uint32_t error_code, std::string_view debug_data) {
  if (hanging_up_) return;
  hanging_up_ = true;
  nghttp2_submit_goaway(
      session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_), error_code,
      reinterpret_cast<const std::uint8_t*>(debug_data.data()), debug_data.size());
  host_.WantFlush();
}

// nghttp2 ignores frames on streams that are gone.
bool Http2Session::IsOver(std::int32_t stream_id) const {
  const bool is_clients = stream_id % 2 == 1;
  return is_clients && stream_id <= last_stream_id_ &&
         nghttp2_session_find_stream(session_, stream_id) == nullptr &&
         std::ranges::find(reset_streams_, stream_id) == reset_streams_.end();
}

void Http2Session::OnHeadersFrame(std::int32_t stream_id) {
  if (IsOver(stream_id)) return HangUp(NGHTTP2_PROTOCOL_ERROR, "stream_id_not_new");
  last_stream_id_ = std::max(last_stream_id_, stream_id);
}

void Http2Session::RefuseLateData(FrameHeads heads, std::string_view bytes) {
  heads.Scan(bytes, [&](std::uint8_t type, std::int32_t stream_id) {
    if (type != NGHTTP2_DATA || !IsOver(stream_id)) return;
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream_id, NGHTTP2_STREAM_CLOSED);
    RememberReset(stream_id);
  });
}

void Http2Session::RememberReset(std::int32_t stream_id) {
  if (reset_streams_.size() < kRememberedResets) return reset_streams_.push_back(stream_id);
  reset_streams_[next_reset_] = stream_id;
  next_reset_ = (next_reset_ + 1) % kRememberedResets;
}

void Http2Session::BeforeSettings() {
  initial_window_bytes_ =
      nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE);
  widest_window_bytes_ = 0;
  for (const Call* call = calls_; call != nullptr; call = call->next_) {
    widest_window_bytes_ = std::max<std::int64_t>(
        widest_window_bytes_,
        nghttp2_session_get_stream_remote_window_size(session_, call->stream_id_));
  }
}

void Http2Session::OnInitialWindow(std::uint32_t initial_window_bytes) {
  // nghttp2 would only reset the streams.
  if (widest_window_bytes_ + initial_window_bytes - initial_window_bytes_ > kMaxWindowBytes)
    HangUp(NGHTTP2_FLOW_CONTROL_ERROR, "window_too_large");
}

void Http2Session::OnPing() {
  const TimePoint now = per_loop_.loop.now();
  const TimePoint previous = std::exchange(last_ping_, now);
  if (std::exchange(activity_since_ping_, false)) {
    ping_strikes_ = 0;
    return;
  }
  const bool idle = call_count_ == 0 && !per_loop_.options.permit_pings_without_streams;
  const Duration least = idle ? kIdlePingInterval : per_loop_.options.min_client_ping_interval;
  if (previous + least > now) ++ping_strikes_;
  if (ping_strikes_ > kMaxPingStrikes) HangUp(NGHTTP2_ENHANCE_YOUR_CALM, "too_many_pings");
}

void Http2Session::OnPingAck(const std::uint8_t* opaque) {
  if (draining_ && std::memcmp(opaque, kDrainPing.data(), kDrainPing.size()) == 0) FinalGoAway();
}

void Http2Session::OnReset() {
  const TimePoint now = per_loop_.loop.now();
  const double elapsed_s = std::chrono::duration<double>(now - reset_refill_).count();
  reset_refill_ = now;
  reset_tokens_ = std::min<double>(per_loop_.options.reset_burst,
                                   reset_tokens_ + elapsed_s * per_loop_.options.resets_per_second);
  reset_tokens_ -= 1;
  if (reset_tokens_ < 0) HangUp(NGHTTP2_ENHANCE_YOUR_CALM, "too_many_resets");
}

void Http2Session::OnKeepaliveTimer() {
  const TimePoint now = per_loop_.loop.now();
  const TimePoint next = last_input_ + per_loop_.options.ping_interval;
  if (ping_unanswered_) {
    ended_ = true;
  } else if (now < next) {
    return per_loop_.loop.Arm(keepalive_timer_, next);
  } else {
    ping_unanswered_ = true;
    nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
    per_loop_.loop.Arm(keepalive_timer_, now + per_loop_.options.ping_timeout);
  }
  host_.WantFlush();
}

}  // namespace kvorum::rpc

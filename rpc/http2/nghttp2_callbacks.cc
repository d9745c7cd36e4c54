#include "rpc/http2/nghttp2_callbacks.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "base/check.h"
#include "rpc/http2/http2_session.h"
#include "rpc/io/session_memory.h"

namespace kvorum::rpc {

// Called by nghttp2 from inside OnInput or Produce. They may submit frames, never receive or send.
struct Http2Session::Callbacks {
  static Http2Session& Self(void* user_data) { return *static_cast<Http2Session*>(user_data); }
  static Call* CallOf(nghttp2_session* session, std::int32_t stream_id) {
    return static_cast<Call*>(nghttp2_session_get_stream_user_data(session, stream_id));
  }
  static std::string_view View(const std::uint8_t* bytes, std::size_t size_bytes) {
    return {reinterpret_cast<const char*>(bytes), size_bytes};
  }

  static int OnBeginFrame(nghttp2_session* /*session*/, const nghttp2_frame_hd* head,
                          void* user_data) {
    switch (head->type) {
      case NGHTTP2_DATA:
        Self(user_data).late_frames_.OnData();
        break;
      case NGHTTP2_HEADERS:
        Self(user_data).OnHeadersFrame(head->stream_id);
        break;
      case NGHTTP2_SETTINGS:
        if (head->length > 0) Self(user_data).BeforeSettings();
        break;
      default:  // a number from the wire; the others are nghttp2's
        break;
    }
    return 0;
  }

  static int OnBeginHeaders(nghttp2_session* session, const nghttp2_frame* frame, void* user_data) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) {
      Self(user_data).head_.Clear();
      return 0;
    }
    Call* call = Self(user_data).NewCall(frame->hd.stream_id);
    if (call == nullptr) {
      return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                       NGHTTP2_REFUSED_STREAM);
    }
    return nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, call);
  }

  static int OnHeader(nghttp2_session* session, const nghttp2_frame* frame,
                      const std::uint8_t* name, std::size_t name_bytes, const std::uint8_t* value,
                      std::size_t value_bytes, std::uint8_t /*flags*/, void* user_data) {
    Call* call = CallOf(session, frame->hd.stream_id);
    if (call == nullptr) return 0;
    Http2Session& self = Self(user_data);
    const std::size_t max_list_bytes = self.per_loop_.options.max_header_list_bytes;
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      self.head_.OnField(View(name, name_bytes), View(value, value_bytes), self.per_loop_.router,
                         self.metadata_, max_list_bytes);
    } else {
      self.head_.OnTrailer(View(name, name_bytes), View(value, value_bytes), max_list_bytes);
    }
    return 0;
  }

  static int OnFrameReceived(nghttp2_session* session, const nghttp2_frame* frame,
                             void* user_data) {
    Http2Session& self = Self(user_data);
    const bool end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS: {
        Call* call = CallOf(session, frame->hd.stream_id);
        if (call == nullptr) break;
        if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
          self.BeginCall(*call, end);
        } else if (self.head_.too_large) {
          self.RefuseStream(*call, NGHTTP2_FRAME_SIZE_ERROR);
        } else if (self.head_.malformed || !end) {
          self.RefuseStream(*call, NGHTTP2_PROTOCOL_ERROR);
        } else {
          self.OnRemoteEnd(*call);
        }
        break;
      }
      case NGHTTP2_DATA:
        if (end) {
          if (Call* call = CallOf(session, frame->hd.stream_id)) self.OnRemoteEnd(*call);
        }
        break;
      case NGHTTP2_RST_STREAM: {
        const Call* const call = CallOf(session, frame->hd.stream_id);
        if (call == nullptr || !self.IsOldNews(*call)) self.OnReset();
        break;
      }
      case NGHTTP2_SETTINGS:
        for (const nghttp2_settings_entry& entry :
             std::span(frame->settings.iv, frame->settings.niv)) {
          if (entry.settings_id == NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE)
            self.OnInitialWindow(entry.value);
        }
        self.OnEstablished();
        break;
      case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) {
          self.OnPingAck(frame->ping.opaque_data);
        } else {
          self.OnPing();
        }
        break;
      default:  // a number from the wire; nghttp2 has handled the others
        break;
    }
    return 0;
  }

  static int OnDataChunk(nghttp2_session* session, std::uint8_t /*flags*/, std::int32_t stream_id,
                         const std::uint8_t* data, std::size_t size_bytes, void* user_data) {
    if (Call* call = CallOf(session, stream_id)) {
      Self(user_data).OnData(*call, View(data, size_bytes));
    } else {
      nghttp2_session_consume(session, stream_id, size_bytes);
    }
    return 0;
  }

  static int OnStreamClose(nghttp2_session* session, std::int32_t stream_id,
                           std::uint32_t /*error_code*/, void* user_data) {
    if (Call* call = CallOf(session, stream_id)) Self(user_data).Detach(*call);
    return 0;
  }

  static int OnFrameSent(nghttp2_session* session, const nghttp2_frame* frame, void* user_data) {
    Http2Session& self = Self(user_data);
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
      case NGHTTP2_DATA:
        self.floods_.OnSent();
        if (Call* const call = CallOf(session, frame->hd.stream_id)) call->response_sent_ = true;
        if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
          // The answer is complete: further bytes from the client are not wanted.
          const Call* call = CallOf(session, frame->hd.stream_id);
          if (call != nullptr && !call->request_.ended()) {
            nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                      NGHTTP2_NO_ERROR);
          }
        }
        break;
      case NGHTTP2_RST_STREAM:
        self.late_frames_.OnReset(frame->hd.stream_id);
        // Streams that we must reset for the client's fault cost us as much as those it resets.
        if (frame->rst_stream.error_code != NGHTTP2_NO_ERROR &&
            frame->rst_stream.error_code != NGHTTP2_CANCEL &&
            frame->rst_stream.error_code != NGHTTP2_REFUSED_STREAM) {
          self.OnReset();
        }
        break;
      case NGHTTP2_GOAWAY:
        self.OnGoAwaySent();
        break;
      default:  // a number from the wire; the others need nothing
        break;
    }
    return 0;
  }

  static int OnFrameNotSent(nghttp2_session* session, const nghttp2_frame* frame,
                            int /*library_error*/, void* /*user_data*/) {
    // A header block that cannot be sent would leave its client waiting.
    if (frame->hd.type == NGHTTP2_HEADERS && CallOf(session, frame->hd.stream_id) != nullptr) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                NGHTTP2_INTERNAL_ERROR);
    }
    return 0;
  }

  static ssize_t Send(nghttp2_session* /*session*/, const std::uint8_t* data,
                      std::size_t size_bytes, int /*flags*/, void* user_data) {
    Http2Session& self = Self(user_data);
    if (self.batch_->full() || self.ended()) return NGHTTP2_ERR_WOULDBLOCK;
    self.batch_->Append(View(data, size_bytes));
    return static_cast<ssize_t>(size_bytes);
  }

  // Returns how much of the message the next DATA frame takes; SendData appends its bytes.
  static ssize_t ReadMessage(nghttp2_session* /*session*/, std::int32_t /*stream_id*/,
                             std::uint8_t* /*buffer*/, std::size_t limit_bytes,
                             std::uint32_t* data_flags, nghttp2_data_source* source,
                             void* user_data) {
    Http2Session& self = Self(user_data);
    if (self.batch_->full() || self.ended()) return NGHTTP2_ERR_PAUSE;
    const std::size_t left = static_cast<Call*>(source->ptr)->buffered_bytes();
    const bool all = static_cast<Call*>(source->ptr)->to_come_bytes() == 0;
    if (left == 0 && !all) return NGHTTP2_ERR_DEFERRED;  // until TakePiece
    *data_flags = NGHTTP2_DATA_FLAG_NO_COPY;
    if (left <= limit_bytes && all) {
      *data_flags |= NGHTTP2_DATA_FLAG_EOF;
      // Trailers or the body's next part follow, except for a whole HTTP answer.
      if (!static_cast<Call*>(source->ptr)->has_whole_http_answer())
        *data_flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    }
    return static_cast<ssize_t>(std::min(left, limit_bytes));
  }

  static int SendData(nghttp2_session* /*session*/, nghttp2_frame* /*frame*/,
                      const std::uint8_t* frame_head, std::size_t size_bytes,
                      nghttp2_data_source* source, void* user_data) {
    constexpr std::size_t kFrameHeadBytes = 9;
    Http2Session& self = Self(user_data);
    self.batch_->Append(View(frame_head, kFrameHeadBytes));
    self.AppendMessage(*static_cast<Call*>(source->ptr), size_bytes);
    return 0;
  }

  static nghttp2_session_callbacks* Make() {
    nghttp2_session_callbacks* callbacks = nullptr;
    KV_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0, "out of memory");
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, &OnBeginFrame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &OnBeginHeaders);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &OnHeader);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &OnFrameReceived);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &OnDataChunk);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &OnStreamClose);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, &OnFrameSent);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, &OnFrameNotSent);
    nghttp2_session_callbacks_set_send_callback(callbacks, &Send);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, &SendData);
    return callbacks;
  }

  static nghttp2_option* MakeOptions() {
    nghttp2_option* option = nullptr;
    KV_CHECK(nghttp2_option_new(&option) == 0, "out of memory");
    // Windows are given back as messages are consumed.
    nghttp2_option_set_no_auto_window_update(option, 1);
    // Keep nothing of streams that have ended.
    nghttp2_option_set_no_closed_streams(option, 1);
    // We check the header rules ourselves (http2_session.h tells why).
    nghttp2_option_set_no_http_messaging(option, 1);
    // OnReset does this with our limits and texts; this is only a safety net.
    nghttp2_option_set_stream_reset_rate_limit(option, 1'000'000, 100'000);
    return option;
  }
};

void SubmitMessage(nghttp2_session* session, std::int32_t stream_id, Call& call) {
  nghttp2_data_provider provider{};
  provider.source.ptr = &call;
  provider.read_callback = &Http2Session::Callbacks::ReadMessage;
  nghttp2_submit_data(session,
                      call.has_whole_http_answer() ? NGHTTP2_FLAG_END_STREAM : NGHTTP2_FLAG_NONE,
                      stream_id, &provider);
}

namespace {

SessionMemory& MemoryOf(void* user) { return *static_cast<SessionMemory*>(user); }

// nghttp2 copies it.
nghttp2_mem Allocator(SessionMemory& memory) {
  return {.mem_user_data = &memory,
          .malloc = [](std::size_t bytes, void* user) { return MemoryOf(user).Take(bytes); },
          .free = [](void* block, void* user) { MemoryOf(user).Give(block); },
          .calloc = [](std::size_t count, std::size_t bytes,
                       void* user) { return MemoryOf(user).TakeZeroed(count, bytes); },
          .realloc = [](void* block, std::size_t bytes,
                        void* user) { return MemoryOf(user).Resize(block, bytes); }};
}

}  // namespace

nghttp2_session* NewServerSession(Http2Session& owner, SessionMemory& memory) {
  static const nghttp2_session_callbacks* const callbacks = Http2Session::Callbacks::Make();
  static const nghttp2_option* const option = Http2Session::Callbacks::MakeOptions();
  nghttp2_mem allocator = Allocator(memory);
  nghttp2_session* session = nullptr;
  KV_CHECK(nghttp2_session_server_new3(&session, callbacks, &owner, option, &allocator) == 0,
           "out of memory");
  return session;
}

}  // namespace kvorum::rpc

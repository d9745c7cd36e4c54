// nghttp2's side of an Http2Session: its options and callbacks. For http2_session's own files only.
#pragma once

#include <cstdint>

struct nghttp2_session;

namespace kvorum::rpc {

class Call;
class Http2Session;
class SessionMemory;

// The memory outlives the session.
nghttp2_session* NewServerSession(Http2Session& owner, SessionMemory& memory);
// Lets the call's unsent bytes flow out as DATA frames.
void SubmitMessage(nghttp2_session* session, std::int32_t stream_id, Call& call);

}  // namespace kvorum::rpc

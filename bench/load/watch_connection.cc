#include "bench/load/watch_connection.h"

#include <nghttp2/nghttp2.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "bench/load/connect.h"
#include "bench/load/request.h"

namespace kvorum::bench {
namespace {

constexpr std::size_t kReadBytes = std::size_t{256} << 10;
constexpr std::int32_t kWindowBytes = (1 << 30);
constexpr std::size_t kPrefixBytes = 5;

// Returns false at the end or for a truncated number.
bool ReadVarint(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// The next field's number, and its bytes if it has any; 0 at the end.
std::uint32_t NextField(std::string_view& message, std::string_view& field) {
  std::uint64_t tag = 0;
  std::uint64_t value = 0;
  field = {};
  if (!ReadVarint(message, tag) || !ReadVarint(message, value)) return 0;
  if ((tag & 7) == 2) {
    field = message.substr(0, value);
    message.remove_prefix(field.size());
  }
  return static_cast<std::uint32_t>(tag >> 3);
}

// Appends a WatchRequest with a create_request, after its gRPC prefix.
void AppendCreate(std::string& out, std::string_view key, std::string_view end) {
  std::string create;
  create.push_back('\x0a');
  AppendVarint(create, key.size());
  create += key;
  if (!end.empty()) {
    create.push_back('\x12');
    AppendVarint(create, end.size());
    create += end;
  }
  std::string message("\x0a");
  AppendVarint(message, create.size());
  message += create;
  out.push_back('\0');
  for (int shift = 24; shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(message.size() >> static_cast<unsigned>(shift)));
  out += message;
}

nghttp2_nv Header(std::string_view name, std::string_view value) {
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
          value.size(), NGHTTP2_NV_FLAG_NONE};
}

// The value of the last event's kv, which is the last of its bytes fields.
std::string_view ValueOf(std::string_view event) {
  std::string_view field;
  while (const std::uint32_t number = NextField(event, field)) {
    if (number != 2) continue;
    std::string_view kv = field;
    while (const std::uint32_t of_kv = NextField(kv, field)) {
      if (of_kv == 5) return field;
    }
  }
  return {};
}

}  // namespace

struct WatchConnection::Callbacks {
  static int OnDataChunk(nghttp2_session* session, std::uint8_t, std::int32_t stream_id,
                         const std::uint8_t* data, std::size_t size, void* user) {
    auto* stream = static_cast<Stream*>(nghttp2_session_get_stream_user_data(session, stream_id));
    if (stream != nullptr) {
      static_cast<WatchConnection*>(user)->OnData(*stream,
                                                  {reinterpret_cast<const char*>(data), size});
    }
    return 0;
  }
  static int OnStreamClose(nghttp2_session*, std::int32_t, std::uint32_t, void* user) {
    static_cast<WatchConnection*>(user)->failure_ = "the server ended a watch";
    return 0;
  }
  static ssize_t ReadRequests(nghttp2_session*, std::int32_t, std::uint8_t* out, std::size_t limit,
                              std::uint32_t*, nghttp2_data_source* source, void*) {
    auto& stream = *static_cast<Stream*>(source->ptr);
    const std::size_t size = std::min(limit, stream.requests.size() - stream.sent);
    if (size == 0) return NGHTTP2_ERR_DEFERRED;  // the stream stays open
    std::copy_n(stream.requests.data() + stream.sent, size, out);
    stream.sent += size;
    if (stream.sent == stream.requests.size()) stream.requests = {};
    if (stream.requests.empty()) stream.sent = 0;
    return static_cast<ssize_t>(size);
  }
};

WatchConnection::WatchConnection(int fd, std::string authority, WatchObserver& observer)
    : fd_(fd), authority_(std::move(authority)), observer_(observer), in_(kReadBytes) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::OnDataChunk);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::OnStreamClose);
  nghttp2_session_client_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry window{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindowBytes};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &window, 1);
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kWindowBytes);
}

WatchConnection::~WatchConnection() {
  nghttp2_session_del(session_);
  close(fd_);
}

Result<std::unique_ptr<WatchConnection>> WatchConnection::Open(const std::string& endpoint,
                                                               WatchObserver& observer) {
  KV_TRY(const int fd, ConnectSocket(endpoint));
  std::unique_ptr<WatchConnection> connection(new WatchConnection(fd, endpoint, observer));
  KV_RETURN_IF_ERROR(connection->Flush());
  return connection;
}

Result<void> WatchConnection::OpenStream(const WatchShape& shape) {
  Stream& stream = *streams_.emplace_back(std::make_unique<Stream>());
  std::string key(shape.key_size, 'k');
  for (std::size_t i = 0; i < shape.watchers; ++i) {
    if (shape.own_keys) {
      WriteKey(key.data(), key.size(), shape.first_key + i);
      AppendCreate(stream.requests, key, {});
    } else {
      std::string end = shape.prefix;
      if (end.empty()) {
        AppendCreate(stream.requests, std::string_view("\0", 1), std::string_view("\0", 1));
      } else {
        ++end.back();
        AppendCreate(stream.requests, shape.prefix, end);
      }
    }
  }
  const nghttp2_nv headers[] = {Header(":method", "POST"),
                                Header(":scheme", "http"),
                                Header(":path", "/etcdserverpb.Watch/Watch"),
                                Header(":authority", authority_),
                                Header("content-type", "application/grpc"),
                                Header("te", "trailers")};
  nghttp2_data_provider provider{};
  provider.source.ptr = &stream;
  provider.read_callback = Callbacks::ReadRequests;
  const std::int32_t id =
      nghttp2_submit_request(session_, nullptr, headers, std::size(headers), &provider, &stream);
  if (id < 0) return Fail(Code::kInternal, nghttp2_strerror(id));
  return Flush();
}

Result<void> WatchConnection::Receive() {
  const ssize_t got = recv(fd_, in_.data(), in_.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (got <= 0) return Fail(Code::kUnavailable, "the server closed a watch connection");
  const ssize_t used = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(in_.data()), static_cast<std::size_t>(got));
  if (used < 0) return Fail(Code::kInternal, nghttp2_strerror(static_cast<int>(used)));
  if (!failure_.empty()) return Fail(Code::kUnavailable, failure_);
  return Flush();
}

// Requests and window updates are small: the socket takes them.
Result<void> WatchConnection::Flush() {
  const std::uint8_t* data = nullptr;
  while (true) {
    ssize_t left = nghttp2_session_mem_send(session_, &data);
    if (left < 0) return Fail(Code::kInternal, nghttp2_strerror(static_cast<int>(left)));
    if (left == 0) return {};
    while (left > 0) {
      const ssize_t sent = send(fd_, data, static_cast<std::size_t>(left), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return Fail(Code::kUnavailable, "a watch connection broke");
      data += sent;
      left -= sent;
    }
  }
}

void WatchConnection::OnData(Stream& stream, std::string_view bytes) {
  // Complete messages are parsed in place.
  if (!stream.partial.empty()) {
    stream.partial += bytes;
    bytes = stream.partial;
  }
  std::string_view left = bytes;
  while (left.size() >= kPrefixBytes) {
    std::size_t size = 0;
    for (std::size_t i = 1; i < kPrefixBytes; ++i)
      size = size << 8 | static_cast<unsigned char>(left[i]);
    if (left.size() < kPrefixBytes + size) break;
    OnResponse(left.substr(kPrefixBytes, size));
    left.remove_prefix(kPrefixBytes + size);
  }
  std::string rest(left);
  stream.partial = std::move(rest);
}

void WatchConnection::OnResponse(std::string_view message) {
  std::size_t events = 0;
  std::string_view last;
  std::string_view field;
  bool created = false;
  while (const std::uint32_t number = NextField(message, field)) {
    created |= number == 3;
    if (number != 11) continue;
    ++events;
    last = field;
  }
  if (created) observer_.OnCreated();
  if (events != 0) observer_.OnEvents(events, ValueOf(last));
}

}  // namespace kvorum::bench

#include "server/messages/watch_codec.h"

#include "proto/wire.h"
#include "server/messages/kv_decode.h"

namespace kvorum::server {
namespace {

// WatchResponse
constexpr std::uint32_t kWatchId = 2;
constexpr std::uint32_t kCreated = 3;
constexpr std::uint32_t kCanceled = 4;
constexpr std::uint32_t kCompactRevision = 5;
constexpr std::uint32_t kCancelReason = 6;
constexpr std::uint32_t kFragment = 7;
// WatchCreateRequest.FilterType
constexpr std::uint64_t kNoPut = 0;
constexpr std::uint64_t kNoDelete = 1;

bool ReadCreate(watch::CreateRequest& request, std::string_view bytes) {
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.tag()) {
      case wire::BytesTag(1):
        request.key = reader.Bytes();
        break;
      case wire::BytesTag(2):
        request.range_end = reader.Bytes();
        break;
      case wire::VarintTag(3):
        request.start_revision = reader.Int();
        break;
      case wire::VarintTag(4):
        request.progress_notify = reader.Bool();
        break;
      case wire::VarintTag(5):
      case wire::BytesTag(5):  // those that are not known filter nothing
        reader.RepeatedVarint([&](std::uint64_t filter) {
          request.wanted.no_put |= filter == kNoPut;
          request.wanted.no_delete |= filter == kNoDelete;
        });
        break;
      case wire::VarintTag(6):
        request.wanted.prev_kv = reader.Bool();
        break;
      case wire::VarintTag(7):
        request.watch_id = reader.Int();
        break;
      case wire::VarintTag(8):
        request.wanted.fragment = reader.Bool();
        break;
      default:
        reader.Skip();
    }
  }
  return reader.ok();
}

bool ReadCancel(WatchCancelRequest& request, std::string_view bytes) {
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == wire::VarintTag(1)) {
      request.watch_id = reader.Int();
    } else {
      reader.Skip();
    }
  }
  return reader.ok();
}

bool ReadProgress(std::string_view bytes) {
  wire::Reader reader(bytes);
  while (reader.Next()) reader.Skip();
  return reader.ok();
}

// The parts of one request that comes in parts are merged, the last kind wins.
template <class T>
T& KindOf(WatchRequest& request) {
  T* same = std::get_if<T>(&request);
  return same != nullptr ? *same : request.emplace<T>();
}

}  // namespace

Result<WatchRequest> DecodeWatchRequest(std::string_view bytes) {
  WatchRequest request;
  wire::Reader reader(bytes);
  bool parts_ok = true;
  while (reader.Next()) {
    switch (reader.tag()) {
      case wire::BytesTag(1):
        parts_ok &= ReadCreate(KindOf<watch::CreateRequest>(request), reader.Bytes());
        break;
      case wire::BytesTag(2):
        parts_ok &= ReadCancel(KindOf<WatchCancelRequest>(request), reader.Bytes());
        break;
      case wire::BytesTag(3):
        parts_ok &= ReadProgress(reader.Bytes());
        KindOf<WatchProgressRequest>(request);
        break;
      default:
        reader.Skip();
    }
  }
  if (reader.ok() && parts_ok) return request;
  return MalformedRequest();
}

void AppendWatchResponse(std::string& out, const ResponseHeader& header,
                         const watch::Response& response) {
  AppendHeader(out, header);
  wire::AppendInt(out, kWatchId, response.watch_id);
  wire::AppendBool(out, kCreated, response.created);
  wire::AppendBool(out, kCanceled, response.canceled);
  wire::AppendInt(out, kCompactRevision, response.compact_revision);
  wire::AppendBytes(out, kCancelReason, response.cancel_reason);
  wire::AppendBool(out, kFragment, response.fragment);
}

}  // namespace kvorum::server

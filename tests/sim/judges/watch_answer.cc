#include "tests/sim/judges/watch_answer.h"

#include "proto/wire.h"

namespace kvorum::sim {
namespace {

bool ReadHeader(WatchAnswer& answer, std::string_view bytes) {
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 3) {
      answer.revision = reader.Int();
    } else {
      reader.Skip();
    }
  }
  return reader.ok();
}

bool ReadEvent(WatchAnswer& answer, std::string_view bytes) {
  WatchEvent event;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        event.is_delete = reader.Varint() == 1;
        break;
      case 2:
        event.kv = reader.Bytes();
        break;
      case 3:
        event.previous = reader.Bytes();
        break;
      default:
        return false;
    }
  }
  answer.events.push_back(event);
  return reader.ok();
}

}  // namespace

std::optional<WatchAnswer> ReadWatchAnswer(std::string_view bytes) {
  WatchAnswer answer;
  bool ok = true;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        ok &= ReadHeader(answer, reader.Bytes());
        break;
      case 2:
        answer.watch_id = reader.Int();
        break;
      case 3:
        answer.created = reader.Bool();
        break;
      case 4:
        answer.canceled = reader.Bool();
        break;
      case 5:
        answer.compact_revision = reader.Int();
        break;
      case 6:
        answer.cancel_reason = reader.Bytes();
        break;
      case 7:
        answer.fragment = reader.Bool();
        break;
      case 11:
        ok &= ReadEvent(answer, reader.Bytes());
        break;
      default:
        ok = false;
        reader.Skip();
    }
  }
  if (!ok || !reader.ok()) return std::nullopt;
  return answer;
}

std::string WatchCreateBody(const WatchCreate& create) {
  std::string body;
  wire::AppendBytes(body, 1, create.key);
  wire::AppendBytes(body, 2, create.range_end);
  wire::AppendInt(body, 3, create.start_revision);
  wire::AppendBool(body, 4, create.progress_notify);
  std::string filters;  // packed
  if (create.no_put) filters.push_back('\0');
  if (create.no_delete) filters.push_back('\1');
  wire::AppendBytes(body, 5, filters);
  wire::AppendBool(body, 6, create.prev_kv);
  wire::AppendBool(body, 8, create.fragment);
  std::string request;
  wire::AppendBytesAlways(request, 1, body);
  return request;
}

std::string WatchCancelBody(std::int64_t watch_id) {
  std::string body;
  wire::AppendInt(body, 1, watch_id);
  std::string request;
  wire::AppendBytesAlways(request, 2, body);
  return request;
}

std::string WatchProgressBody() {
  std::string request;
  wire::AppendBytesAlways(request, 3, "");
  return request;
}

}  // namespace kvorum::sim

// The few requests and answers of the API that this process sends and reads as another server's
// client: range, put, watch, login.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/kv_encode.h"
#include "base/error.h"

namespace kvorum::server {

struct ReceivedKeyValue {
  std::string key;
  std::int64_t create_revision = 0;
  std::int64_t mod_revision = 0;
  std::int64_t version = 0;
  std::string value;
  std::int64_t lease = 0;
};

struct RangeAnswer {
  ResponseHeader header;
  std::vector<ReceivedKeyValue> rows;
  bool more = false;
  std::int64_t count = 0;
};

enum class EventType : std::int32_t { kPut = 0, kDelete = 1 };
struct ReceivedEvent {
  EventType type = EventType::kPut;
  ReceivedKeyValue row;
  ReceivedKeyValue previous;
};

struct WatchAnswer {
  ResponseHeader header;
  std::int64_t watch_id = 0;
  bool created = false;
  bool canceled = false;
  std::int64_t compact_revision = 0;
  std::string cancel_reason;
  bool fragment = false;
  std::vector<ReceivedEvent> events;
};

// All keys from `key` to `range_end`; one key without it.
std::string EncodeRange(std::string_view key, std::string_view range_end);
std::string EncodePut(std::string_view key, std::string_view value);
std::string EncodeWatchCreate(std::string_view key, std::string_view range_end,
                              std::int64_t start_revision);
std::string EncodeAuthenticate(std::string_view name, std::string_view password);

// kInternal for bytes that are not the message.
Result<RangeAnswer> DecodeRangeAnswer(std::string_view bytes);
Result<WatchAnswer> DecodeWatchAnswer(std::string_view bytes);
Result<std::string> DecodeToken(std::string_view bytes);

}  // namespace kvorum::server

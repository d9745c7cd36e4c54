#include "api/client_messages.h"

#include "api/auth_messages.h"
#include "api/tables.h"
#include "mvcc/records/requests.h"

namespace kvorum::server {
namespace {

template <class T>
Result<T> DecodeAnswer(const wire::Message<T>& table, std::string_view bytes) {
  T answer{};
  if (wire::Decode(table, bytes, answer) == wire::Decoded::kOk) return answer;
  return Fail(Code::kInternal, "an answer that cannot be read");
}

}  // namespace

std::string EncodeRange(std::string_view key, std::string_view range_end) {
  return wire::Encode(kRangeRequest, mvcc::RangeRequest{.key = key, .range_end = range_end});
}

std::string EncodePut(std::string_view key, std::string_view value) {
  return wire::Encode(kPutRequest, mvcc::PutRequest{.key = key, .value = value});
}

Result<RangeAnswer> DecodeRangeAnswer(std::string_view bytes) {
  return DecodeAnswer(kRangeResponse, bytes);
}

Result<WatchAnswer> DecodeWatchAnswer(std::string_view bytes) {
  return DecodeAnswer(kWatchResponse, bytes);
}

}  // namespace kvorum::server

#include "api/client_messages.h"

#include "api/auth_messages.h"
#include "api/tables.h"
#include "mvcc/records/requests.h"

namespace kvorum::server {
namespace {

constexpr auto kRow =
    Describe<ReceivedKeyValue, Field<1, &ReceivedKeyValue::key>,
             Field<2, &ReceivedKeyValue::create_revision>,
             Field<3, &ReceivedKeyValue::mod_revision>, Field<4, &ReceivedKeyValue::version>,
             Field<5, &ReceivedKeyValue::value>, Field<6, &ReceivedKeyValue::lease>>(
        "mvccpb.KeyValue");
constexpr auto kEvent =
    Describe<ReceivedEvent, Field<1, &ReceivedEvent::type>, Nested<2, &ReceivedEvent::row, kRow>,
             Nested<3, &ReceivedEvent::previous, kRow>>("mvccpb.Event");
constexpr auto kRange = Describe<RangeAnswer, Nested<1, &RangeAnswer::header, kResponseHeader>,
                                 Nested<2, &RangeAnswer::rows, kRow>, Field<3, &RangeAnswer::more>,
                                 Field<4, &RangeAnswer::count>>("etcdserverpb.RangeResponse");
constexpr auto kWatch =
    Describe<WatchAnswer, Nested<1, &WatchAnswer::header, kResponseHeader>,
             Field<2, &WatchAnswer::watch_id>, Field<3, &WatchAnswer::created>,
             Field<4, &WatchAnswer::canceled>, Field<5, &WatchAnswer::compact_revision>,
             Text<6, &WatchAnswer::cancel_reason>, Field<7, &WatchAnswer::fragment>,
             Nested<11, &WatchAnswer::events, kEvent>>("etcdserverpb.WatchResponse");

constexpr const wire::Table* kClientTables[] = {&kRow, &kEvent, &kRange, &kWatch};

template <class T>
Result<T> DecodeAnswer(const wire::Message<T>& table, std::string_view bytes) {
  T answer{};
  if (wire::Decode(table, bytes, answer) == wire::Decoded::kOk) return answer;
  return Fail(Code::kInternal, "an answer that cannot be read");
}

}  // namespace

MessageTables ClientTables() { return kClientTables; }

std::string EncodeRange(std::string_view key, std::string_view range_end) {
  return wire::Encode(kRangeRequest, mvcc::RangeRequest{.key = key, .range_end = range_end});
}

std::string EncodePut(std::string_view key, std::string_view value) {
  return wire::Encode(kPutRequest, mvcc::PutRequest{.key = key, .value = value});
}

Result<RangeAnswer> DecodeRangeAnswer(std::string_view bytes) {
  return DecodeAnswer(kRange, bytes);
}

Result<WatchAnswer> DecodeWatchAnswer(std::string_view bytes) {
  return DecodeAnswer(kWatch, bytes);
}

}  // namespace kvorum::server

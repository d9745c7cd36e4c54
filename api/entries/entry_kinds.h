// The rows of the table of request_kind.h as types. EntryKind<RequestKind::kPut> has
//
//   kKind               RequestKind::kPut
//   kUnderCorruptAlarm  whether a CORRUPT alarm refuses it
//   Body                the decoded message
//   Decode(bytes)       the message, whose views point into the bytes, or MalformedRequest
//   Check(body)         the rules of a client's request, except limits that are flags
//   CostBytes(body)     the bytes that count against the quota
//
// and code that treats all kinds alike visits them. The calls are direct: a row costs nothing
// beyond the switch.
#pragma once

#include <limits>
#include <string>

#include "api/auth_messages.h"
#include "api/downgrade.h"
#include "api/entries/request_kind.h"
#include "api/kv_decode.h"
#include "api/lease_messages.h"
#include "api/maintenance_encode.h"
#include "base/error.h"
#include "mvcc/records/validate.h"

namespace kvorum::server {

// A message whose fields, if it has any, are not used.
struct EmptyBody {};
inline Result<EmptyBody> DecodeEmpty(std::string_view /*bytes*/) { return EmptyBody{}; }
// The same for an entry that changes nothing.
struct BodyWithoutEffect {};
inline Result<BodyWithoutEffect> DecodeWithoutEffect(std::string_view /*bytes*/) {
  return BodyWithoutEffect{};
}

inline Result<void> NoRules(const auto& /*body*/) { return {}; }
// The limit of a txn's operations is a flag of the member that the client asks.
inline Result<void> CheckTxnOfAnySize(const mvcc::TxnRequest& request) {
  return mvcc::CheckTxn(request, std::numeric_limits<std::size_t>::max());
}

constexpr std::uint64_t NoCost(const auto& /*body*/) { return 0; }
constexpr std::uint64_t LeaseCost(const LeaseGrantRequest& /*request*/) { return 64; }

#define KV_ENTRY_KIND(name, number, field, message, decode, check, cost, under_corrupt_alarm) \
  template <>                                                                                 \
  struct EntryKind<RequestKind::name> {                                                       \
    using Body = decltype(decode(std::string_view()))::value_type;                            \
    static constexpr RequestKind kKind = RequestKind::name;                                   \
    static constexpr UnderCorruptAlarm kUnderCorruptAlarm =                                   \
        UnderCorruptAlarm::under_corrupt_alarm;                                               \
    static Result<Body> Decode(std::string_view bytes) { return decode(bytes); }              \
    static Result<void> Check(const Body& body) { return check(body); }                       \
    static std::uint64_t CostBytes(const Body& body) { return cost(body); }                   \
  };
KV_ENTRY_KINDS(KV_ENTRY_KIND)
#undef KV_ENTRY_KIND

// Calls the visitor with the kind's EntryKind, and returns its Result. kUnimplemented, naming the
// field, for a number that is not a kind.
template <class Visitor>
auto VisitEntryKind(RequestKind kind, Visitor&& visitor)
    -> decltype(visitor(EntryKind<RequestKind::kNone>())) {
  switch (kind) {
#define KV_ENTRY_KIND(name, ...) \
  case RequestKind::name:        \
    return visitor(EntryKind<RequestKind::name>());
    KV_ENTRY_KINDS(KV_ENTRY_KIND)
#undef KV_ENTRY_KIND
  }
  return Fail(Code::kUnimplemented, "the log holds a request of a newer version (field " +
                                        std::to_string(static_cast<unsigned>(kind)) + ")");
}

}  // namespace kvorum::server

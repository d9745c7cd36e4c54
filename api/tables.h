// The tables of fields (proto/fields.h) that several files of this folder share, and the lists for
// the test that compares all tables with the .proto files. Include it in .cc files.
#pragma once

#include <span>

#include "api/alarm.h"
#include "api/kv_decode.h"
#include "api/kv_encode.h"
#include "api/member.h"
#include "mvcc/records/requests.h"
#include "proto/fields.h"

namespace kvorum::server {

using wire::Describe;
using wire::Field;
using wire::Nested;
using wire::Only;
using wire::Text;
using wire::UncheckedText;

extern const wire::Message<ResponseHeader> kResponseHeader;
extern const wire::Message<Alarm> kAlarm;
extern const wire::Message<DowngradeInfo> kDowngradeInfo;
extern const wire::Message<mvcc::RangeRequest> kRangeRequest;
extern const wire::Message<mvcc::PutRequest> kPutRequest;
extern const wire::Message<mvcc::DeleteRangeRequest> kDeleteRangeRequest;
extern const wire::Message<CompactionRequest> kCompactionRequest;

// The field numbers of a txn around its operations, which kv_decode.cc decodes and
// kv_request_encode.cc encodes.
namespace txn_fields {

enum TxnRequest : std::uint8_t { kCompare = 1, kSuccess = 2, kFailure = 3 };

// An operation's number is its position in mvcc::RequestOp.
enum RequestOp : std::uint8_t { kRange = 1, kPut = 2, kDeleteRange = 3, kTxn = 4 };

enum Compare : std::uint8_t { kResult = 1, kTarget = 2, kKey = 3, kRangeEnd = 64 };
// The field of target_union that belongs to a target; none of them for an unknown target.
constexpr std::uint32_t UnionOf(mvcc::CompareTarget target) {
  return 4 + static_cast<std::uint32_t>(target);
}

}  // namespace txn_fields

using MessageTables = std::span<const wire::Table* const>;
MessageTables AlarmTables();
MessageTables AuthTables();
MessageTables ClientTables();
MessageTables ClusterTables();
MessageTables DowngradeTables();
MessageTables KvTables();
MessageTables LeaseTables();
MessageTables LockTables();
MessageTables MaintenanceTables();
MessageTables WatchTables();

}  // namespace kvorum::server

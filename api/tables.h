// The tables of fields (proto/fields.h) that several files of this folder share, and the lists of
// all tables (message_tables.h). Include it in .cc files.
#pragma once

#include <span>

#include "api/alarm.h"
#include "api/kv_decode.h"
#include "api/kv_encode.h"
#include "api/member.h"
#include "api/message_tables.h"
#include "mvcc/records/requests.h"
#include "proto/fields.h"

namespace kvorum::server {

using wire::Describe;
using wire::Enum;
using wire::Field;
using wire::FieldType;
using wire::Nested;
using wire::Only;
using wire::Text;
using wire::UncheckedText;
using enum wire::Log;

struct ReceivedKeyValue;
struct RangeAnswer;
struct WatchAnswer;

extern const wire::Message<ResponseHeader> kResponseHeader;
extern const wire::Message<ReceivedKeyValue> kKeyValue;
extern const wire::Message<RangeAnswer> kRangeResponse;
extern const wire::Message<WatchAnswer> kWatchResponse;
extern const wire::Message<Alarm> kAlarm;
extern const wire::Message<DowngradeInfo> kDowngradeInfo;
extern const wire::Message<mvcc::RangeRequest> kRangeRequest;
extern const wire::Message<mvcc::PutRequest> kPutRequest;
extern const wire::Message<mvcc::DeleteRangeRequest> kDeleteRangeRequest;
extern const wire::Message<CompactionRequest> kCompactionRequest;

// Read and written by hand.
extern const wire::Table kTxnRequest;
extern const wire::Table kRequestOp;
extern const wire::Table kTxnCompare;
extern const wire::Table kHeaderAlone;
extern const wire::Table kPutResponse;
extern const wire::Table kDeleteRangeResponse;
extern const wire::Table kTxnResponse;
extern const wire::Table kResponseOp;
extern const wire::Table kRangeStreamResponse;

// The lists of the folder's files; MessageNamed() looks in all of them.
MessageTables AlarmTables();
MessageTables AuthTables();
MessageTables ClusterTables();
MessageTables DowngradeTables();
MessageTables KvTables();
MessageTables LeaseTables();
MessageTables LockTables();
MessageTables MaintenanceTables();
MessageTables WatchTables();

}  // namespace kvorum::server

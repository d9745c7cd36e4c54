// The tables of fields (proto/fields.h) that several files of this folder share, and the lists for
// the test that compares all tables with the .proto files. Include it in .cc files.
#pragma once

#include <span>

#include "mvcc/requests.h"
#include "proto/fields.h"
#include "server/messages/alarm.h"
#include "server/messages/kv_encode.h"

namespace kvorum::server {

using wire::Describe;
using wire::Field;
using wire::Nested;
using wire::Only;
using wire::Text;
using wire::UncheckedText;

extern const wire::Message<ResponseHeader> kResponseHeader;
extern const wire::Message<Alarm> kAlarm;
extern const wire::Message<mvcc::RangeRequest> kRangeRequest;
extern const wire::Message<mvcc::PutRequest> kPutRequest;
extern const wire::Message<mvcc::DeleteRangeRequest> kDeleteRangeRequest;

using MessageTables = std::span<const wire::Table* const>;
MessageTables AlarmTables();
MessageTables AuthTables();
MessageTables ClusterTables();
MessageTables EmptyTables();
MessageTables KvTables();
MessageTables LeaseTables();
MessageTables LockTables();
MessageTables MaintenanceTables();
MessageTables WatchTables();

}  // namespace kvorum::server

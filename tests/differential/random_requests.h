// Random requests of each kind: most of them succeed and meet existing keys, a good part is
// refused. Nothing is made that is known to end the peer for good: see TxnMaker.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/rpc.pb.h"
#include "tests/differential/choices.h"

namespace kvorum::differential {

etcdserverpb::RangeRequest RandomRange(Choices& choices);
etcdserverpb::PutRequest RandomPut(Choices& choices);
etcdserverpb::DeleteRangeRequest RandomDelete(Choices& choices);
etcdserverpb::Compare RandomCompare(Choices& choices);
etcdserverpb::CompactionRequest RandomCompaction(Choices& choices);
etcdserverpb::HashKVRequest RandomHashKv(Choices& choices);

// Lives longer than a session, or is refused.
etcdserverpb::LeaseGrantRequest RandomGrant(Choices& choices);

// Only ranges: answered without the log.
etcdserverpb::TxnRequest RandomReadTxn(Choices& choices);

// A txn of any nesting: two times in three a careful one, in which no key is changed twice.
etcdserverpb::TxnRequest RandomTxn(Choices& choices);

// A txn of `ops` operations, one of which may be a txn of `nested_ops`.
etcdserverpb::TxnRequest LongTxn(Choices& choices, std::int64_t ops, std::int64_t nested_ops);

}  // namespace kvorum::differential

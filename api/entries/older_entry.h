// Entries of the log that a member of etcd before 3.7 reads as every other member does.
//
// Such a member finds more in an entry than what it says:
//
//   - An empty field that is written is more than one that is left out: with an empty range_end, a
//     range, a deletion or a compare is about all keys from `key` on. Of an operation in parts it
//     takes the last part. A field of another type than its own ends its process. Members of etcd
//     write anew what a client has sent; so do we, by Rewrite.
//   - Of a transaction that another member has proposed it leaves out the ranges, and with them
//     what they need: permissions, and a revision that is there (etcd's issue 18667). So it applies
//     what the others refuse. It does not look into nested transactions: there NestRanges puts
//     them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/entries/request_kind.h"
#include "mvcc/records/requests.h"
#include "mvcc/records/txn.h"

namespace kvorum::server {

// The same request in the fewest bytes, if clients make requests of this kind; else the same bytes,
// and so for a body that cannot be read.
std::string Rewrite(RequestKind kind, std::string_view body);

// The operations of the two branches that NestRanges has changed.
struct NestedRanges {
  std::vector<bool> success;
  std::vector<bool> failure;
};

// Replaces each range by a transaction of nothing else, which makes no difference to readers of the
// whole entry; those in nested transactions stay.
NestedRanges NestRanges(mvcc::TxnRequest& request);
// Makes the result of such a transaction that of the one before.
void TakeOut(const NestedRanges& nested, mvcc::TxnResult& result);

}  // namespace kvorum::server

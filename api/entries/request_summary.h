// Requests as log lines show them: keys, ranges, options and sizes, in etcd's form. Values,
// passwords and tokens are never in it; values have their size. Made only once a request was slow
// or has failed.
//
// Bounds: about 4 KiB, however large the request; what is cut off ends in "...". Bytes that are no
// such request give what could be read of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kvorum::server {

// A log entry's (internal_request.h): `header:<ID:7> put:<key:"a" value_size:3 >`.
std::string EntrySummary(std::string_view entry);

struct CallSummary {
  std::string text;
  std::int64_t operations = -1;  // as etcd counts them: a put is 1, a range 0; -1: not counted
  bool only_reads = false;
};
// The summaries of calls to the KV service. The branch that a txn took is not known here, so the
// longer one is counted.
CallSummary SummarizeRange(std::string_view request);
CallSummary SummarizePut(std::string_view request);
CallSummary SummarizeDeleteRange(std::string_view request);
CallSummary SummarizeTxn(std::string_view request);

}  // namespace kvorum::server

// A member's incremental hash (mvcc/store/history_sum.h) as members tell each other, in JSON:
// {"member":"8e9e05c52164694d","serves":true,"bases":[[-1,7]],"points":[[256,9],[300,12]]}
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "mvcc/store/history_sum.h"
#include "proto/raft_types.h"

namespace kvorum::server {

// GET at the peer port; ?points=N for more than the last few.
inline constexpr std::string_view kHistoryPath = "/kvorum/history";

struct MemberHistory {
  raft::MemberId member = raft::kNone;
  bool serves = true;  // false while it is kept from serving
  mvcc::HistorySum::History history;
};

std::string EncodeHistoryJson(const MemberHistory& history);
// kUnknown for anything that no member can have sent.
Result<MemberHistory> DecodeHistoryJson(std::string_view text);

}  // namespace kvorum::server

// Answers of the Maintenance service, and the two attribute entries of the log, on the wire.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/alarm.h"
#include "api/kv_encode.h"
#include "api/member.h"
#include "base/error.h"
#include "base/shared_bytes.h"

namespace kvorum::server {

struct Status {
  std::string_view version;
  std::string storage_version;
  std::int64_t db_size_bytes = 0;
  std::int64_t db_size_in_use_bytes = 0;
  std::int64_t db_size_quota_bytes = 0;
  raft::MemberId leader = raft::kNone;
  raft::Index commit_index = 0;
  raft::Index applied_index = 0;
  raft::Term term = 0;
  bool is_learner = false;
  std::vector<std::string> errors;
  ResponseHeader header = {};    // set when it is encoded
  DowngradeInfo downgrade = {};  // reported even if no downgrade is under way
};

SharedBytes EncodeStatusResponse(const ResponseHeader& header, Status status);
SharedBytes EncodeHashResponse(const ResponseHeader& header, std::uint32_t hash);
SharedBytes EncodeHashKvResponse(const ResponseHeader& header, std::uint32_t hash,
                                 std::int64_t compact_revision, std::int64_t hash_revision);
SharedBytes EncodeAlarmResponse(const ResponseHeader& header, const std::vector<Alarm>& alarms);

// A SnapshotResponse around its blob, which is sent without a copy.
std::string EncodeSnapshotHead(std::uint64_t remaining_bytes, std::size_t blob_bytes);
std::string EncodeSnapshotTail(std::string_view version);

// Returns HashKVRequest.revision.
Result<std::int64_t> DecodeHashKvRequest(std::string_view bytes);

// membershippb.ClusterMemberAttrSetRequest and ClusterVersionSetRequest, as in log entries.
struct MemberAttributes {
  raft::MemberId member = raft::kNone;
  std::string name;
  std::vector<std::string> client_urls;
};
std::string EncodeMemberAttributes(const MemberAttributes& attributes);
Result<MemberAttributes> DecodeMemberAttributes(std::string_view bytes);
std::string EncodeClusterVersion(std::string_view version);
Result<std::string> DecodeClusterVersion(std::string_view bytes);

}  // namespace kvorum::server

// A downgrade of the cluster in the API, the log, the bucket `cluster` and Status.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/kv_encode.h"
#include "api/member.h"
#include "base/error.h"
#include "base/shared_bytes.h"

namespace kvorum::server {

// Open on the wire: any other value means no action.
enum class DowngradeAction : std::int32_t { kValidate = 0, kEnable = 1, kCancel = 2 };

struct DowngradeRequest {
  DowngradeAction action = DowngradeAction::kValidate;
  std::string version;  // as the client writes it
};

Result<DowngradeRequest> DecodeDowngradeRequest(std::string_view bytes);
// `cluster_version` without its patch number: "3.7".
SharedBytes EncodeDowngradeResponse(const ResponseHeader& header, std::string_view cluster_version);

// membershippb.DowngradeInfoSetRequest, as in log entries.
std::string EncodeDowngradeEntry(const DowngradeInfo& info);
Result<DowngradeInfo> DecodeDowngradeEntry(std::string_view bytes);

// The bucket's JSON. kDataLoss for a value that is not such an object.
std::string EncodeDowngradeJson(const DowngradeInfo& info);
Result<DowngradeInfo> DecodeDowngradeJson(std::string_view json);

}  // namespace kvorum::server

#include "client/error_text.h"

#include <algorithm>
#include <array>

namespace kvorum::client {
namespace {

// The errors of the v3 API, each after "etcdserver: ". Sorted.
constexpr auto kApiErrors = std::to_array<std::string_view>({
    "Peer URLs already exists",
    "authentication failed, invalid user ID or password",
    "authentication is not enabled",
    "bad leader transferee",
    "can only promote a learner member",
    "can only promote a learner member which is in sync with leader",
    "cluster ID mismatch",
    "cluster has a downgrade job in progress",
    "cluster version not found during downgrade",
    "corrupt cluster",
    "duplicate key given in txn request",
    "given member URLs are invalid",
    "invalid auth management",
    "invalid auth token",
    "invalid downgrade target version",
    "invalid sort option",
    "key is not provided",
    "key not found",
    "leader changed",
    "lease already exists",
    "lease is provided",
    "member ID already exist",
    "member not found",
    "mvcc: database space exceeded",
    "mvcc: required revision has been compacted",
    "mvcc: required revision is a future revision",
    "no inflight downgrade job",
    "no leader",
    "not capable",
    "not leader",
    "permission denied",
    "permission is not granted to the role",
    "re-configuration failed due to not enough started members",
    "request is too large",
    "request timed out",
    "request timed out, possibly due to connection lost",
    "request timed out, possibly due to previous leader failure",
    "requested lease not found",
    "revision of auth store is old",
    "role is not granted to the user",
    "role name already exists",
    "role name is empty",
    "role name not found",
    "root user does not exist",
    "root user does not have root role",
    "rpc not supported for learner",
    "server stopped",
    "too large lease TTL",
    "too many learner members in cluster",
    "too many operations in txn request",
    "too many requests",
    "unhealthy cluster",
    "user name already exists",
    "user name is empty",
    "user name not found",
    "value is provided",
    "wrong downgrade target version format",
});
static_assert(std::is_sorted(kApiErrors.begin(), kApiErrors.end()));

}  // namespace

bool IsApiError(std::string_view message) {
  constexpr std::string_view kPrefix = "etcdserver: ";
  if (!message.starts_with(kPrefix)) return false;
  return std::binary_search(kApiErrors.begin(), kApiErrors.end(), message.substr(kPrefix.size()));
}

std::string ErrorText(const Error& error) {
  if (IsApiError(error.message)) return error.message;
  if (error.code == Code::kDeadlineExceeded) return "context deadline exceeded";
  const bool is_ours = error.message.starts_with("mutex: ") ||
                       error.message.starts_with("election: ") ||
                       error.message == "context canceled";
  if (is_ours) return error.message;
  return "rpc error: code = " + std::string(CodeName(error.code)) + " desc = " + error.message;
}

}  // namespace kvorum::client

#include "api/inner_text.h"

#include <utility>

#include "base/api_errors.h"

namespace kvorum::server {
namespace {

constexpr std::pair<ApiError, std::string_view> kInner[] = {
    {kErrLeaseNotFound, "lease not found"},
    {kErrLeaseExist, "lease already exists"},
    {kErrLeaseTtlTooLarge, "too large lease TTL"},
    {kErrCompacted, "mvcc: required revision has been compacted"},
    {kErrFutureRev, "mvcc: required revision is a future revision"},
    {kErrNoSpace, "etcdserver: no space"},
    {kErrRootUserNotExist, "auth: root user does not exist"},
    {kErrRootRoleNotExist, "auth: root user does not have root role"},
    {kErrUserAlreadyExist, "auth: user already exists"},
    {kErrUserEmpty, "auth: user name is empty"},
    {kErrUserNotFound, "auth: user not found"},
    {kErrRoleAlreadyExist, "auth: role already exists"},
    {kErrRoleNotFound, "auth: role not found"},
    {kErrRoleEmpty, "auth: role name is empty"},
    {kErrPermissionNotGiven, "auth: permission not given"},
    {kErrAuthFailed, "auth: authentication failed, invalid user ID or password"},
    {kErrPermissionDenied, "auth: permission denied"},
    {kErrRoleNotGranted, "auth: role is not granted to the user"},
    {kErrPermissionNotGranted, "auth: permission is not granted to the role"},
    {kErrAuthNotEnabled, "auth: authentication is not enabled"},
    {kErrAuthOldRevision, "auth: revision in header is old"},
    {kErrInvalidAuthToken, "auth: invalid auth token"},
    {kErrInvalidAuthMgmt, "auth: invalid auth management"}};

}  // namespace

std::string_view InnerText(std::string_view message) {
  for (const auto& [error, text] : kInner)
    if (message == error.message) return text;
  return message;
}

}  // namespace kvorum::server

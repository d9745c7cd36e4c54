// The errors of users, roles, tokens and permission checks that a client gets: codes and texts are
// part of the API, clients match on both. The one table of them; the server passes them on as they
// are. No text ever holds a password, a hash, a token or a key.
#pragma once

#include <string>
#include <string_view>

#include "base/api_error.h"
#include "base/error.h"

namespace kvorum::auth {

inline constexpr ApiError kErrRootUserNotExist{Code::kFailedPrecondition,
                                               "etcdserver: root user does not exist"};
inline constexpr ApiError kErrRootRoleNotExist{Code::kFailedPrecondition,
                                               "etcdserver: root user does not have root role"};
inline constexpr ApiError kErrUserAlreadyExist{Code::kFailedPrecondition,
                                               "etcdserver: user name already exists"};
inline constexpr ApiError kErrUserEmpty{Code::kInvalidArgument, "etcdserver: user name is empty"};
inline constexpr ApiError kErrUserNotFound{Code::kFailedPrecondition,
                                           "etcdserver: user name not found"};
inline constexpr ApiError kErrRoleAlreadyExist{Code::kFailedPrecondition,
                                               "etcdserver: role name already exists"};
inline constexpr ApiError kErrRoleNotFound{Code::kFailedPrecondition,
                                           "etcdserver: role name not found"};
inline constexpr ApiError kErrRoleEmpty{Code::kInvalidArgument, "etcdserver: role name is empty"};
inline constexpr ApiError kErrAuthFailed{
    Code::kInvalidArgument, "etcdserver: authentication failed, invalid user ID or password"};
inline constexpr ApiError kErrPermissionNotGiven{Code::kInvalidArgument,
                                                 "etcdserver: permission not given"};
inline constexpr ApiError kErrPermissionDenied{Code::kPermissionDenied,
                                               "etcdserver: permission denied"};
inline constexpr ApiError kErrRoleNotGranted{Code::kFailedPrecondition,
                                             "etcdserver: role is not granted to the user"};
inline constexpr ApiError kErrPermissionNotGranted{
    Code::kFailedPrecondition, "etcdserver: permission is not granted to the role"};
inline constexpr ApiError kErrAuthNotEnabled{Code::kFailedPrecondition,
                                             "etcdserver: authentication is not enabled"};
inline constexpr ApiError kErrInvalidAuthToken{Code::kUnauthenticated,
                                               "etcdserver: invalid auth token"};
inline constexpr ApiError kErrInvalidAuthMgmt{Code::kInvalidArgument,
                                              "etcdserver: invalid auth management"};
inline constexpr ApiError kErrAuthOldRevision{Code::kInvalidArgument,
                                              "etcdserver: revision of auth store is old"};

// Those that the API has no code for: Unknown, with the text as it is inside etcd.
inline constexpr ApiError kErrNoPasswordUser{
    Code::kUnknown, "auth: authentication failed, password was given for no password user"};
inline constexpr ApiError kErrVerifyOnly{Code::kUnknown,
                                         "auth: token signing attempted with verify-only key"};
inline constexpr ApiError kErrPasswordTooLong{Code::kUnknown,
                                              "bcrypt: password length exceeds 72 bytes"};

// Of our own: what etcd takes, and what then ends it or does not mean what the caller thinks.
inline constexpr ApiError kErrPasswordHasZeroByte{Code::kInvalidArgument,
                                                  "auth: password contains a zero byte"};
inline constexpr ApiError kErrNameTooLong{Code::kInvalidArgument,
                                          "auth: name is longer than 480 bytes"};

// What a member refuses to start with.
inline constexpr std::string_view kInvalidAuthOptsText = "auth: invalid auth options";
inline constexpr ApiError kErrMissingKey{Code::kInvalidArgument, "auth: missing key data"};
inline constexpr ApiError kErrKeyMismatch{Code::kInvalidArgument,
                                          "auth: public and private keys don't match"};

// An error return: `return Refuse(kErrUserEmpty);`.
inline std::unexpected<Error> Refuse(const ApiError& error) { return Fail(error.ToError()); }

}  // namespace kvorum::auth

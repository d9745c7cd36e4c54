// The errors that the store and the checks before it give to a client: codes and texts are part of
// the API, clients match on both. The one table of them; the server passes them on as they are.
#pragma once

#include <string>
#include <string_view>

#include "base/api_error.h"
#include "base/error.h"

namespace kvorum::mvcc {

inline constexpr ApiError kErrEmptyKey{Code::kInvalidArgument, "etcdserver: key is not provided"};
inline constexpr ApiError kErrKeyNotFound{Code::kInvalidArgument, "etcdserver: key not found"};
inline constexpr ApiError kErrValueProvided{Code::kInvalidArgument,
                                            "etcdserver: value is provided"};
inline constexpr ApiError kErrLeaseProvided{Code::kInvalidArgument,
                                            "etcdserver: lease is provided"};
inline constexpr ApiError kErrTooManyOps{Code::kInvalidArgument,
                                         "etcdserver: too many operations in txn request"};
inline constexpr ApiError kErrDuplicateKey{Code::kInvalidArgument,
                                           "etcdserver: duplicate key given in txn request"};
inline constexpr ApiError kErrInvalidSortOption{Code::kInvalidArgument,
                                                "etcdserver: invalid sort option"};
inline constexpr ApiError kErrCompacted{Code::kOutOfRange,
                                        "etcdserver: mvcc: required revision has been compacted"};
inline constexpr ApiError kErrFutureRev{Code::kOutOfRange,
                                        "etcdserver: mvcc: required revision is a future revision"};
inline constexpr ApiError kErrLeaseNotFound{Code::kNotFound,
                                            "etcdserver: requested lease not found"};
inline constexpr ApiError kErrStreamSortOrder{Code::kUnimplemented,
                                              "RangeStream does not support custom sort orders"};
inline constexpr ApiError kErrStreamFilters{Code::kUnimplemented,
                                            "RangeStream does not support revision filters"};

// An error return: `return Refuse(kErrCompacted);`.
inline std::unexpected<Error> Refuse(const ApiError& error) {
  return Fail(error.code, std::string(error.message));
}

}  // namespace kvorum::mvcc

// Paths of the methods that several tests call.
#pragma once

#include <string_view>

namespace kvorum::server {

inline constexpr std::string_view kRangePath = "/etcdserverpb.KV/Range";
inline constexpr std::string_view kRangeStreamPath = "/etcdserverpb.KV/RangeStream";
inline constexpr std::string_view kPutPath = "/etcdserverpb.KV/Put";
inline constexpr std::string_view kDeleteRangePath = "/etcdserverpb.KV/DeleteRange";
inline constexpr std::string_view kTxnPath = "/etcdserverpb.KV/Txn";
inline constexpr std::string_view kCompactPath = "/etcdserverpb.KV/Compact";

inline constexpr std::string_view kLeaseGrantPath = "/etcdserverpb.Lease/LeaseGrant";
inline constexpr std::string_view kLeaseRevokePath = "/etcdserverpb.Lease/LeaseRevoke";
inline constexpr std::string_view kLeaseKeepAlivePath = "/etcdserverpb.Lease/LeaseKeepAlive";
inline constexpr std::string_view kLeaseTimeToLivePath = "/etcdserverpb.Lease/LeaseTimeToLive";
inline constexpr std::string_view kLeaseLeasesPath = "/etcdserverpb.Lease/LeaseLeases";

inline constexpr std::string_view kAlarmPath = "/etcdserverpb.Maintenance/Alarm";
inline constexpr std::string_view kStatusPath = "/etcdserverpb.Maintenance/Status";

}  // namespace kvorum::server

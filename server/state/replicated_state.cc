#include "server/state/replicated_state.h"

#include <string>
#include <utility>
#include <vector>

#include "api/downgrade.h"
#include "api/member_id.h"
#include "mvcc/lmdb/long_key.h"

namespace kvorum::server {
namespace {

Result<auth::AuthStore::Content> LoadAuth(mvcc::Snapshot& content) {
  std::vector<auth::Record> records;
  const auto load = [&](mvcc::Bucket bucket, auth::Table table) {
    return mvcc::ScanBucket(content, bucket,
                            [&](std::string_view key, std::string_view value) -> Result<void> {
                              records.push_back({table, std::string(key), std::string(value)});
                              return {};
                            });
  };
  KV_RETURN_IF_ERROR(load(mvcc::Bucket::kAuth, auth::Table::kAuth));
  KV_RETURN_IF_ERROR(load(mvcc::Bucket::kAuthUsers, auth::Table::kUsers));
  KV_RETURN_IF_ERROR(load(mvcc::Bucket::kAuthRoles, auth::Table::kRoles));
  return auth::AuthStore::Load(records);
}

}  // namespace

Result<MembershipView> LoadMembership(mvcc::Snapshot& content) {
  MembershipView view;
  KV_RETURN_IF_ERROR(
      mvcc::ScanBucket(content, mvcc::Bucket::kMembers,
                       [&](std::string_view, std::string_view value) -> Result<void> {
                         KV_TRY(Member member, DecodeMemberJson(value));
                         const raft::MemberId id = member.id;
                         view.members.emplace(id, std::move(member));
                         return {};
                       }));
  KV_RETURN_IF_ERROR(mvcc::ScanBucket(
      content, mvcc::Bucket::kMembersRemoved,
      [&](std::string_view key, std::string_view) -> Result<void> {
        const auto id = ParseMemberId(key);
        if (!id.has_value()) {
          return Fail(Code::kDataLoss, "the database names a removed member \"" + std::string(key) +
                                           "\", which is not a member ID");
        }
        view.removed.insert(*id);
        return {};
      }));
  KV_RETURN_IF_ERROR(
      mvcc::ScanBucket(content, mvcc::Bucket::kCluster,
                       [&](std::string_view key, std::string_view value) -> Result<void> {
                         if (key == "clusterVersion") view.cluster_version = value;
                         if (key == "downgrade") {
                           KV_TRY(view.downgrade, DecodeDowngradeJson(value));
                         }
                         return {};
                       }));
  return view;
}

Result<ReplicatedState> LoadReplicatedState(mvcc::Snapshot& content) {
  ReplicatedState state;
  KV_TRY(state.members, LoadMembership(content));
  KV_RETURN_IF_ERROR(mvcc::ScanBucket(content, mvcc::Bucket::kAlarm,
                                      [&](std::string_view key, std::string_view) -> Result<void> {
                                        KV_TRY(const Alarm alarm, DecodeAlarm(key));
                                        state.alarms.insert(alarm);
                                        return {};
                                      }));
  KV_TRY(state.auth, LoadAuth(content));
  return state;
}

}  // namespace kvorum::server

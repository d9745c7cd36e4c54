#include "datadir/content_check.h"

#include <algorithm>
#include <utility>

#include "api/alarm.h"
#include "api/downgrade.h"
#include "api/entries/conf_state_json.h"
#include "api/member.h"
#include "api/member_id.h"
#include "api/version_number.h"
#include "auth/auth_content.h"
#include "base/check.h"
#include "lease/lease_record.h"

namespace kvorum::datadir {
namespace {

using mvcc::Bucket;

std::optional<Bucket> BucketOf(std::string_view name) {
  const auto* const found = std::ranges::find(mvcc::kBucketNames, name);
  if (found == mvcc::kBucketNames.end()) return std::nullopt;
  return static_cast<Bucket>(found - mvcc::kBucketNames.begin());
}

std::unexpected<Error> Bad(std::string_view why) { return Fail(Code::kDataLoss, std::string(why)); }

Result<void> CheckMeta(std::string_view key, std::string_view value) {
  if (key == mvcc::meta_key::kConfState)
    KV_RETURN_IF_ERROR(server::DecodeConfStateJson(value));
  else if (key == mvcc::meta_key::kStorageVersion && !server::Version::Parse(value).has_value())
    return Bad("the value is not a version");
  return {};
}

Result<void> CheckLease(std::string_view key, std::string_view value) {
  KV_TRY(const lease::LeaseRecord record, lease::DecodeLease(value));
  if (key != lease::View(lease::EncodeLeaseKey(record.id)))
    return Bad("it holds lease " + server::IdText(static_cast<std::uint64_t>(record.id)));
  return {};
}

Result<void> CheckCluster(std::string_view key, std::string_view value) {
  if (key == "clusterVersion" && !server::Version::Parse(value).has_value())
    return Bad("the value is not a version");
  if (key == "downgrade") KV_RETURN_IF_ERROR(server::DecodeDowngradeJson(value));
  return {};
}

Result<void> CheckMember(std::string_view key, std::string_view value) {
  const auto id = server::ParseMemberId(key);
  if (!id.has_value()) return Bad("the key is not a member ID");
  KV_TRY(const server::Member member, server::DecodeMemberJson(value));
  if (member.id != *id) return Bad("it holds member " + server::IdText(member.id));
  return {};
}

Result<void> CheckRemovedMember(std::string_view key) {
  if (!server::ParseMemberId(key).has_value()) return Bad("the key is not a member ID");
  return {};
}

auth::Table TableOf(Bucket bucket) {
  if (bucket == Bucket::kAuthUsers) return auth::Table::kUsers;
  return bucket == Bucket::kAuthRoles ? auth::Table::kRoles : auth::Table::kAuth;
}

}  // namespace

void ContentCheck::BeginBucket(std::string_view name) {
  bucket_ = BucketOf(name);
  if (bucket_.has_value()) begun_[static_cast<std::size_t>(*bucket_)] = true;
}

Result<void> ContentCheck::Add(std::string_view key, std::string_view value) {
  if (!bucket_.has_value()) return {};
  if (*bucket_ != Bucket::kKey) return AddSmall(*bucket_, key, value);
  KV_TRY(const auto decoded, revision_check_.Next(key, value));
  ++revisions_;
  newest_revision_ = decoded.revision.main;
  return {};
}

Result<void> ContentCheck::AddNested(std::string_view key) const {
  if (!bucket_.has_value()) return {};
  return mvcc::NestedBucket(mvcc::BucketName(*bucket_), key);
}

Result<void> ContentCheck::AddSmall(Bucket bucket, std::string_view key, std::string_view value) {
  const auto check = [&]() -> Result<void> {
    switch (bucket) {
      case Bucket::kKey:
        break;
      case Bucket::kMeta:
        return CheckMeta(key, value);
      case Bucket::kLease:
        return CheckLease(key, value);
      case Bucket::kAlarm:
        KV_RETURN_IF_ERROR(server::DecodeAlarm(key));
        return {};
      case Bucket::kCluster:
        return CheckCluster(key, value);
      case Bucket::kMembers:
        return CheckMember(key, value);
      case Bucket::kMembersRemoved:
        return CheckRemovedMember(key);
      case Bucket::kAuth:
      case Bucket::kAuthUsers:
      case Bucket::kAuthRoles:
        auth_.push_back({TableOf(bucket), std::string(key), std::string(value)});
        return auth::AuthContent::CheckRecord(auth_.back());
    }
    KV_CHECK(false, "the bucket of keys is checked in order");
    return {};
  };
  if (bucket == Bucket::kMeta) KV_RETURN_IF_ERROR(mvcc::CheckMetaRecord(key, value));
  const Result<void> checked = check();
  if (checked.has_value()) return {};
  return mvcc::BadRecord(mvcc::BucketName(bucket), key, checked.error().message);
}

Result<void> ContentCheck::CheckWhole() const {
  KV_RETURN_IF_ERROR(auth::AuthContent::Load(auth_));
  return {};
}

Result<void> ContentCheck::CheckBuckets() const {
  for (const Bucket bucket : {Bucket::kKey, Bucket::kMeta})
    if (!begun_[static_cast<std::size_t>(bucket)]) return mvcc::NoDatabase();
  return {};
}

}  // namespace kvorum::datadir

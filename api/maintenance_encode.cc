#include "api/maintenance_encode.h"

#include <utility>

#include "api/tables.h"
#include "proto/wire.h"

namespace kvorum::server {
namespace {

constexpr auto kStatus = Describe<
    Status, Nested<1, &Status::header, kResponseHeader, "header">,
    Text<2, &Status::version, "version">, Field<3, &Status::db_size_bytes, "dbSize">,
    Field<4, &Status::leader, "leader">, Field<5, &Status::commit_index, "raftIndex">,
    Field<6, &Status::term, "raftTerm">, Field<7, &Status::applied_index, "raftAppliedIndex">,
    Text<8, &Status::errors, "errors">, Field<9, &Status::db_size_in_use_bytes, "dbSizeInUse">,
    Field<10, &Status::is_learner, "isLearner">,
    Text<11, &Status::storage_version, "storageVersion">,
    Field<12, &Status::db_size_quota_bytes, "dbSizeQuota">,
    Nested<13, &Status::downgrade, kDowngradeInfo, "downgradeInfo">>("etcdserverpb.StatusResponse");

struct HashAnswer {
  ResponseHeader header;
  std::uint32_t hash = 0;
  std::int64_t compact_revision = 0;
  std::int64_t hash_revision = 0;
};
constexpr auto kHashAnswer =
    Describe<HashAnswer, Nested<1, &HashAnswer::header, kResponseHeader, "header">,
             Field<2, &HashAnswer::hash, "hash">>("etcdserverpb.HashResponse");
constexpr auto kHashKvAnswer =
    Describe<HashAnswer, Nested<1, &HashAnswer::header, kResponseHeader, "header">,
             Field<2, &HashAnswer::hash, "hash">,
             Field<3, &HashAnswer::compact_revision, "compact_revision">,
             Field<4, &HashAnswer::hash_revision, "hash_revision">>("etcdserverpb.HashKVResponse");
constexpr auto kHashKvRequest =
    Describe<std::int64_t, Only<1, std::int64_t, "revision">>("etcdserverpb.HashKVRequest");

struct AlarmAnswer {
  ResponseHeader header;
  std::vector<Alarm> alarms;
};
constexpr auto kAlarmAnswer =
    Describe<AlarmAnswer, Nested<1, &AlarmAnswer::header, kResponseHeader, "header">,
             Nested<2, &AlarmAnswer::alarms, kAlarm, "alarms">>("etcdserverpb.AlarmResponse");

// Written around the bytes of a file, by hand.
namespace snapshot_fields {
constexpr wire::Row kRows[] = {
    wire::Part(1, "header", kResponseHeader), wire::Bare(2, "remaining_bytes", FieldType::kUint64),
    wire::Bare(3, "blob", FieldType::kBytes), wire::Bare(4, "version", FieldType::kString)};
constexpr std::uint32_t kRemainingBytes = wire::NumberOf(kRows, "remaining_bytes");
constexpr std::uint32_t kBlob = wire::NumberOf(kRows, "blob");
constexpr std::uint32_t kVersion = wire::NumberOf(kRows, "version");
}  // namespace snapshot_fields
constexpr auto kSnapshotAnswer =
    wire::ByHand("etcdserverpb.SnapshotResponse", snapshot_fields::kRows);

struct Attributes {
  std::string name;
  std::vector<std::string> client_urls;
};
constexpr auto kAttributes =
    Describe<Attributes, UncheckedText<1, &Attributes::name, "name", kShown>,
             UncheckedText<2, &Attributes::client_urls, "client_urls", kShown>>(
        "membershippb.Attributes");
struct AttributesEntry {
  raft::MemberId member = raft::kNone;
  Attributes attributes;
};
constexpr auto kAttributesEntry =
    Describe<AttributesEntry, Field<1, &AttributesEntry::member, "member_ID", kShown>,
             Nested<2, &AttributesEntry::attributes, kAttributes, "member_attributes", kShown>>(
        "membershippb.ClusterMemberAttrSetRequest");

struct VersionEntry {
  std::string version;
};
constexpr auto kVersionEntry =
    Describe<VersionEntry, UncheckedText<1, &VersionEntry::version, "ver", kShown>>(
        "membershippb.ClusterVersionSetRequest");

constexpr const wire::Table* kMaintenanceTables[] = {
    &kStatus,         &kHashAnswer, &kHashKvAnswer,    &kHashKvRequest, &kAlarmAnswer,
    &kSnapshotAnswer, &kAttributes, &kAttributesEntry, &kVersionEntry};

template <class T>
Result<T> DecodeEntry(const wire::Message<T>& table, std::string_view bytes) {
  T entry;
  if (wire::Decode(table, bytes, entry) == wire::Decoded::kOk) return entry;
  return Fail(Code::kDataLoss, "a log entry's attributes are malformed");
}

}  // namespace

MessageTables MaintenanceTables() { return kMaintenanceTables; }

SharedBytes EncodeStatusResponse(const ResponseHeader& header, Status status) {
  status.header = header;
  return wire::EncodeShared(kStatus, status);
}

SharedBytes EncodeHashResponse(const ResponseHeader& header, std::uint32_t hash) {
  return wire::EncodeShared(kHashAnswer, {.header = header, .hash = hash});
}

SharedBytes EncodeHashKvResponse(const ResponseHeader& header, std::uint32_t hash,
                                 std::int64_t compact_revision, std::int64_t hash_revision) {
  return wire::EncodeShared(kHashKvAnswer, {.header = header,
                                            .hash = hash,
                                            .compact_revision = compact_revision,
                                            .hash_revision = hash_revision});
}

SharedBytes EncodeAlarmResponse(const ResponseHeader& header, const std::vector<Alarm>& alarms) {
  return wire::EncodeShared(kAlarmAnswer, {.header = header, .alarms = alarms});
}

std::string EncodeSnapshotHead(std::uint64_t remaining_bytes, std::size_t blob_bytes) {
  std::string out;
  wire::AppendUint(out, snapshot_fields::kRemainingBytes, remaining_bytes);
  if (blob_bytes > 0) wire::AppendLengthDelimitedHeader(out, snapshot_fields::kBlob, blob_bytes);
  return out;
}

std::string EncodeSnapshotTail(std::string_view version) {
  std::string out;
  wire::AppendBytes(out, snapshot_fields::kVersion, version);
  return out;
}

Result<std::int64_t> DecodeHashKvRequest(std::string_view bytes) {
  return wire::DecodeRequest(kHashKvRequest, bytes);
}

std::string EncodeMemberAttributes(const MemberAttributes& attributes) {
  return wire::Encode(kAttributesEntry, {.member = attributes.member,
                                         .attributes = {.name = attributes.name,
                                                        .client_urls = attributes.client_urls}});
}

Result<MemberAttributes> DecodeMemberAttributes(std::string_view bytes) {
  KV_TRY(AttributesEntry entry, DecodeEntry(kAttributesEntry, bytes));
  return MemberAttributes{.member = entry.member,
                          .name = std::move(entry.attributes.name),
                          .client_urls = std::move(entry.attributes.client_urls)};
}

std::string EncodeClusterVersion(std::string_view version) {
  return wire::Encode(kVersionEntry, {.version = std::string(version)});
}

Result<std::string> DecodeClusterVersion(std::string_view bytes) {
  KV_TRY(VersionEntry entry, DecodeEntry(kVersionEntry, bytes));
  return std::move(entry.version);
}

}  // namespace kvorum::server

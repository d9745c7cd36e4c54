#include "api/maintenance_encode.h"

#include <utility>

#include "api/tables.h"
#include "proto/wire.h"

namespace kvorum::server {
namespace {

constexpr auto kStatus =
    Describe<Status, Nested<1, &Status::header, kResponseHeader>, Text<2, &Status::version>,
             Field<3, &Status::db_size_bytes>, Field<4, &Status::leader>,
             Field<5, &Status::commit_index>, Field<6, &Status::term>,
             Field<7, &Status::applied_index>, Text<8, &Status::errors>,
             Field<9, &Status::db_size_in_use_bytes>, Field<10, &Status::is_learner>,
             Text<11, &Status::storage_version>, Field<12, &Status::db_size_quota_bytes>,
             Nested<13, &Status::downgrade, kDowngradeInfo>>("etcdserverpb.StatusResponse");

struct HashAnswer {
  ResponseHeader header;
  std::uint32_t hash = 0;
  std::int64_t compact_revision = 0;
  std::int64_t hash_revision = 0;
};
constexpr auto kHashAnswer = Describe<HashAnswer, Nested<1, &HashAnswer::header, kResponseHeader>,
                                      Field<2, &HashAnswer::hash>>("etcdserverpb.HashResponse");
constexpr auto kHashKvAnswer =
    Describe<HashAnswer, Nested<1, &HashAnswer::header, kResponseHeader>,
             Field<2, &HashAnswer::hash>, Field<3, &HashAnswer::compact_revision>,
             Field<4, &HashAnswer::hash_revision>>("etcdserverpb.HashKVResponse");
constexpr auto kHashKvRequest =
    Describe<std::int64_t, Only<1, std::int64_t>>("etcdserverpb.HashKVRequest");

struct AlarmAnswer {
  ResponseHeader header;
  std::vector<Alarm> alarms;
};
constexpr auto kAlarmAnswer =
    Describe<AlarmAnswer, Nested<1, &AlarmAnswer::header, kResponseHeader>,
             Nested<2, &AlarmAnswer::alarms, kAlarm>>("etcdserverpb.AlarmResponse");

namespace snapshot_fields {
constexpr std::uint32_t kRemainingBytes = 2, kBlob = 3, kVersion = 4;
}  // namespace snapshot_fields

struct Attributes {
  std::string name;
  std::vector<std::string> client_urls;
};
constexpr auto kAttributes =
    Describe<Attributes, UncheckedText<1, &Attributes::name>,
             UncheckedText<2, &Attributes::client_urls>>("membershippb.Attributes");
struct AttributesEntry {
  raft::MemberId member = raft::kNone;
  Attributes attributes;
};
constexpr auto kAttributesEntry = Describe<AttributesEntry, Field<1, &AttributesEntry::member>,
                                           Nested<2, &AttributesEntry::attributes, kAttributes>>(
    "membershippb.ClusterMemberAttrSetRequest");

struct VersionEntry {
  std::string version;
};
constexpr auto kVersionEntry = Describe<VersionEntry, UncheckedText<1, &VersionEntry::version>>(
    "membershippb.ClusterVersionSetRequest");

constexpr const wire::Table* kMaintenanceTables[] = {
    &kStatus,      &kHashAnswer, &kHashKvAnswer,    &kHashKvRequest,
    &kAlarmAnswer, &kAttributes, &kAttributesEntry, &kVersionEntry};

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

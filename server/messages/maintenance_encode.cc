#include "server/messages/maintenance_encode.h"

#include "proto/wire.h"
#include "server/messages/kv_decode.h"

namespace kvorum::server {
namespace {

std::unexpected<Error> MalformedEntry() {
  return Fail(Code::kDataLoss, "a log entry's attributes are malformed");
}

}  // namespace

SharedBytes EncodeStatusResponse(const ResponseHeader& header, const Status& status) {
  constexpr std::uint32_t kDowngradeInfo = 13;
  std::string out;
  AppendHeader(out, header);
  wire::AppendBytes(out, 2, status.version);
  wire::AppendInt(out, 3, status.db_size_bytes);
  wire::AppendUint(out, 4, status.leader);
  wire::AppendUint(out, 5, status.commit_index);
  wire::AppendUint(out, 6, status.term);
  wire::AppendUint(out, 7, status.applied_index);
  for (const std::string& error : status.errors) wire::AppendBytesAlways(out, 8, error);
  wire::AppendInt(out, 9, status.db_size_in_use_bytes);
  wire::AppendBool(out, 10, status.is_learner);
  wire::AppendBytes(out, 11, status.storage_version);
  wire::AppendInt(out, 12, status.db_size_quota_bytes);
  wire::AppendBytesAlways(out, kDowngradeInfo, {});  // present: no downgrade is under way
  return SharedBytes::Own(std::move(out));
}

SharedBytes EncodeHashResponse(const ResponseHeader& header, std::uint32_t hash) {
  std::string out;
  AppendHeader(out, header);
  wire::AppendUint(out, 2, hash);
  return SharedBytes::Own(std::move(out));
}

SharedBytes EncodeHashKvResponse(const ResponseHeader& header, std::uint32_t hash,
                                 std::int64_t compact_revision, std::int64_t hash_revision) {
  std::string out;
  AppendHeader(out, header);
  wire::AppendUint(out, 2, hash);
  wire::AppendInt(out, 3, compact_revision);
  wire::AppendInt(out, 4, hash_revision);
  return SharedBytes::Own(std::move(out));
}

SharedBytes EncodeAlarmResponse(const ResponseHeader& header, const std::vector<Alarm>& alarms) {
  std::string out;
  AppendHeader(out, header);
  for (const Alarm& alarm : alarms) wire::AppendBytesAlways(out, 2, EncodeAlarm(alarm));
  return SharedBytes::Own(std::move(out));
}

Result<std::int64_t> DecodeHashKvRequest(std::string_view bytes) {
  std::int64_t revision = 0;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == wire::VarintTag(1)) {
      revision = reader.Int();
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return MalformedRequest();
  return revision;
}

Result<raft::MemberId> DecodeMoveLeaderRequest(std::string_view bytes) {
  raft::MemberId target = raft::kNone;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == wire::VarintTag(1)) {
      target = reader.Varint();
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return MalformedRequest();
  return target;
}

std::string EncodeMemberAttributes(const MemberAttributes& attributes) {
  std::string inner;
  wire::AppendBytes(inner, 1, attributes.name);
  for (const std::string& url : attributes.client_urls) wire::AppendBytesAlways(inner, 2, url);
  std::string out;
  wire::AppendUint(out, 1, attributes.member);
  wire::AppendBytesAlways(out, 2, inner);
  return out;
}

Result<MemberAttributes> DecodeMemberAttributes(std::string_view bytes) {
  MemberAttributes attributes;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == wire::VarintTag(1)) {
      attributes.member = reader.Varint();
    } else if (reader.tag() == wire::BytesTag(2)) {
      wire::Reader inner(reader.Bytes());
      while (inner.Next()) {
        if (inner.tag() == wire::BytesTag(1)) {
          attributes.name = inner.Bytes();
        } else if (inner.tag() == wire::BytesTag(2)) {
          attributes.client_urls.emplace_back(inner.Bytes());
        } else {
          inner.Skip();
        }
      }
      if (!inner.ok()) return MalformedEntry();
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return MalformedEntry();
  return attributes;
}

std::string EncodeClusterVersion(std::string_view version) {
  std::string out;
  wire::AppendBytes(out, 1, version);
  return out;
}

Result<std::string> DecodeClusterVersion(std::string_view bytes) {
  std::string version;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == wire::BytesTag(1)) {
      version = reader.Bytes();
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return MalformedEntry();
  return version;
}

}  // namespace kvorum::server

#include "server/messages/lock_messages.h"

#include <string>

#include "proto/wire.h"
#include "server/messages/kv_decode.h"

namespace kvorum::server {
namespace {

bool ReadLeaderKey(LeaderKey& leader, std::string_view bytes) {
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.tag()) {
      case wire::BytesTag(1):
        leader.name = reader.Bytes();
        break;
      case wire::BytesTag(2):
        leader.key = reader.Bytes();
        break;
      case wire::VarintTag(3):
        leader.created = reader.Int();
        break;
      case wire::VarintTag(4):
        leader.lease = reader.Int();
        break;
      default:
        reader.Skip();
    }
  }
  return reader.ok();
}

Result<LeadershipRequest> DecodeLeadership(std::string_view bytes, bool has_value) {
  LeadershipRequest request;
  wire::Reader reader(bytes);
  bool leader_ok = true;
  while (reader.Next()) {
    if (reader.tag() == wire::BytesTag(1)) {
      if (!request.leader) request.leader.emplace();
      leader_ok &= ReadLeaderKey(*request.leader, reader.Bytes());
    } else if (reader.tag() == wire::BytesTag(2) && has_value) {
      request.value = reader.Bytes();
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok() || !leader_ok) return MalformedRequest();
  return request;
}

}  // namespace

Result<LockRequest> DecodeLock(std::string_view bytes) {
  KV_TRY(const CampaignRequest same, DecodeCampaign(bytes));  // but for the value
  return LockRequest{.name = same.name, .lease = same.lease};
}

Result<std::string_view> DecodeOnlyBytes(std::string_view bytes) {
  std::string_view only;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == wire::BytesTag(1)) {
      only = reader.Bytes();
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return MalformedRequest();
  return only;
}

Result<CampaignRequest> DecodeCampaign(std::string_view bytes) {
  CampaignRequest request;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.tag()) {
      case wire::BytesTag(1):
        request.name = reader.Bytes();
        break;
      case wire::VarintTag(2):
        request.lease = reader.Int();
        break;
      case wire::BytesTag(3):
        request.value = reader.Bytes();
        break;
      default:
        reader.Skip();
    }
  }
  if (!reader.ok()) return MalformedRequest();
  return request;
}

Result<LeadershipRequest> DecodeProclaim(std::string_view bytes) {
  return DecodeLeadership(bytes, /*has_value=*/true);
}

Result<LeadershipRequest> DecodeResign(std::string_view bytes) {
  return DecodeLeadership(bytes, /*has_value=*/false);
}

SharedBytes EncodeLockResponse(const ResponseHeader& header, std::string_view key) {
  std::string response;
  AppendHeader(response, header);
  wire::AppendBytes(response, 2, key);
  return SharedBytes::Own(std::move(response));
}

SharedBytes EncodeCampaignResponse(const ResponseHeader& header, const LeaderKey& leader) {
  std::string key;
  wire::AppendBytes(key, 1, leader.name);
  wire::AppendBytes(key, 2, leader.key);
  wire::AppendInt(key, 3, leader.created);
  wire::AppendInt(key, 4, leader.lease);
  std::string response;
  AppendHeader(response, header);
  wire::AppendBytesAlways(response, 2, key);
  return SharedBytes::Own(std::move(response));
}

SharedBytes EncodeLeaderResponse(const ResponseHeader& header, std::string_view kv) {
  std::string response;
  AppendHeader(response, header);
  wire::AppendBytesAlways(response, 2, kv);
  return SharedBytes::Own(std::move(response));
}

}  // namespace kvorum::server

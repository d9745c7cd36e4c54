#include "server/messages/cluster_encode.h"

#include "proto/wire.h"
#include "server/messages/kv_decode.h"
#include "server/messages/text_reader.h"

namespace kvorum::server {
namespace {

std::string EncodeMember(const Member& member) {
  std::string out;
  wire::AppendUint(out, 1, member.id);
  wire::AppendBytes(out, 2, member.name);
  for (const std::string& url : member.peer_urls) wire::AppendBytesAlways(out, 3, url);
  for (const std::string& url : member.client_urls) wire::AppendBytesAlways(out, 4, url);
  wire::AppendBool(out, 5, member.is_learner);
  return out;
}

void AppendMembers(std::string& out, std::uint32_t field, const MembershipView& view) {
  for (const auto& [id, member] : view.members)
    wire::AppendBytesAlways(out, field, EncodeMember(member));
}

}  // namespace

Result<MemberRequest> DecodeMemberAddRequest(std::string_view bytes) {
  MemberRequest request;
  TextReader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == wire::BytesTag(1)) {
      request.peer_urls.emplace_back(reader.Text());
    } else if (reader.tag() == wire::VarintTag(2)) {
      request.is_learner = reader.Bool();
    } else {
      reader.Skip();
    }
  }
  KV_RETURN_IF_ERROR(reader.Outcome());
  return request;
}

Result<MemberRequest> DecodeMemberUpdateRequest(std::string_view bytes) {
  MemberRequest request;
  TextReader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == wire::VarintTag(1)) {
      request.id = reader.Varint();
    } else if (reader.tag() == wire::BytesTag(2)) {
      request.peer_urls.emplace_back(reader.Text());
    } else {
      reader.Skip();
    }
  }
  KV_RETURN_IF_ERROR(reader.Outcome());
  return request;
}

Result<raft::MemberId> DecodeMemberId(std::string_view bytes) {
  raft::MemberId id = raft::kNone;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == wire::VarintTag(1)) {
      id = reader.Varint();
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return MalformedRequest();
  return id;
}

Result<bool> DecodeMemberListRequest(std::string_view bytes) {
  bool linearizable = false;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == wire::VarintTag(1)) {
      linearizable = reader.Bool();
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return MalformedRequest();
  return linearizable;
}

SharedBytes EncodeMemberAddResponse(const ResponseHeader& header, const Member& added,
                                    const MembershipView& view) {
  std::string out;
  AppendHeader(out, header);
  wire::AppendBytesAlways(out, 2, EncodeMember(added));
  AppendMembers(out, 3, view);
  return SharedBytes::Own(std::move(out));
}

SharedBytes EncodeMembersResponse(const ResponseHeader& header, const MembershipView& view) {
  std::string out;
  AppendHeader(out, header);
  AppendMembers(out, 2, view);
  return SharedBytes::Own(std::move(out));
}

}  // namespace kvorum::server

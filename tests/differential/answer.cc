#include "tests/differential/answer.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string_view>

#include "tests/differential/request.h"

namespace kvorum::differential {
namespace {

// The header of a response, by reflection: every response of the API has one.
const google::protobuf::FieldDescriptor* HeaderField(const google::protobuf::Message& response) {
  return response.GetDescriptor()->FindFieldByName("header");
}

std::string Hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

void CompareText(std::string_view what, const std::string& ours, const std::string& peer,
                 std::vector<std::string>& lines) {
  if (ours == peer) return;
  lines.push_back(std::string(what) + ": ours \"" + ours + "\", peer \"" + peer + "\"");
}

std::string TrailersText(const std::multimap<std::string, std::string>& trailers) {
  std::string text;
  for (const auto& [name, value] : trailers)
    text.append(name).append("=").append(value).append(";");
  return text;
}

// Equal bytes are equal messages; unknown fields are part of the bytes.
void CompareMessages(const google::protobuf::Message& ours, const google::protobuf::Message& peer,
                     std::vector<std::string>& lines) {
  const std::string our_bytes = ours.SerializeAsString();
  const std::string peer_bytes = peer.SerializeAsString();
  if (our_bytes == peer_bytes) return;
  std::string report;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&report);
  static_cast<void>(differencer.Compare(peer, ours));
  std::istringstream stream(report);
  for (std::string line; std::getline(stream, line);) lines.push_back("peer -> ours: " + line);
  if (report.empty()) {
    lines.push_back("bytes: ours " + Hex(our_bytes) + ", peer " + Hex(peer_bytes));
  }
}

}  // namespace

void Anonymize(google::protobuf::Message& response) {
  const auto* field = HeaderField(response);
  if (field == nullptr || !response.GetReflection()->HasField(response, field)) return;
  auto& header = static_cast<etcdserverpb::ResponseHeader&>(
      *response.GetReflection()->MutableMessage(&response, field));
  if (header.cluster_id() != 0) header.set_cluster_id(1);
  if (header.member_id() != 0) header.set_member_id(1);
  if (header.raft_term() != 0) header.set_raft_term(1);
}

void NormalizeLeases(google::protobuf::Message& response) {
  if (auto* times = dynamic_cast<etcdserverpb::LeaseTimeToLiveResponse*>(&response)) {
    std::ranges::sort(*times->mutable_keys());
    if (times->ttl() > 0 && times->ttl() <= times->grantedttl()) times->set_ttl(1);
  } else if (auto* list = dynamic_cast<etcdserverpb::LeaseLeasesResponse*>(&response)) {
    std::ranges::sort(*list->mutable_leases(), {}, &etcdserverpb::LeaseStatus::id);
  }
}

std::int64_t HeaderRevision(const google::protobuf::Message& response) {
  const auto* field = HeaderField(response);
  if (field == nullptr) return 0;
  return static_cast<const etcdserverpb::ResponseHeader&>(
             response.GetReflection()->GetMessage(response, field))
      .revision();
}

std::vector<std::string> Differences(const Answer& ours, const Answer& peer) {
  std::vector<std::string> lines;
  CompareText("code", std::to_string(ours.code), std::to_string(peer.code), lines);
  CompareText("text", ours.text, peer.text, lines);
  CompareText("details", Hex(ours.details), Hex(peer.details), lines);
  CompareText("trailers", TrailersText(ours.trailers), TrailersText(peer.trailers), lines);
  CompareMessages(*ours.response, *peer.response, lines);
  return lines;
}

std::string Describe(const Answer& answer) {
  if (answer.ok()) return "OK { " + Describe(*answer.response) + "}";
  return "code " + std::to_string(answer.code) + ": " + answer.text;
}

}  // namespace kvorum::differential

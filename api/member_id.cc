#include "api/member_id.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text/parse_number.h"

namespace kvorum::server {
namespace {

std::uint64_t FirstEightBytesOfSha1(std::string_view bytes) {
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  std::uint64_t id = 0;
  for (std::size_t i = 0; i < 8; ++i) id = (id << 8) | digest[i];
  return id;
}

}  // namespace

raft::MemberId ComputeMemberId(std::vector<std::string> peer_urls, std::string_view cluster_token,
                               std::optional<std::int64_t> added_at_unix_s) {
  std::ranges::sort(peer_urls);
  std::string bytes;
  for (const std::string& url : peer_urls) bytes += url;
  bytes += cluster_token;
  if (added_at_unix_s.has_value()) bytes += std::to_string(*added_at_unix_s);
  return raft::MemberId{FirstEightBytesOfSha1(bytes)};
}

std::uint64_t ComputeClusterId(std::vector<raft::MemberId> members) {
  std::ranges::sort(members);
  std::string bytes;
  for (const raft::MemberId id : members) {
    for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(id.value() >> shift);
  }
  return FirstEightBytesOfSha1(bytes);
}

std::string IdText(std::uint64_t id) {
  std::array<char, 16> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), id, 16);
  return {digits.data(), end};
}

std::string IdText(raft::MemberId id) { return IdText(id.value()); }

std::optional<std::uint64_t> ParseIdText(std::string_view text) {
  return ParseNumber<std::uint64_t>(text, 16);
}

std::optional<raft::MemberId> ParseMemberId(std::string_view text) {
  return ParseIdText(text).transform([](std::uint64_t id) { return raft::MemberId{id}; });
}

}  // namespace kvorum::server

#include "rpc/http/http1_rules.h"

#include <algorithm>
#include <array>

#include "base/letter_case.h"

namespace kvorum::rpc {
namespace {

constexpr std::string_view kChunked = "chunked";

constexpr std::array<bool, 256> MakeHostTable() {
  std::array<bool, 256> table{};
  for (unsigned char c = 'a'; c <= 'z'; ++c) table[c] = true;
  for (unsigned char c = 'A'; c <= 'Z'; ++c) table[c] = true;
  for (unsigned char c = '0'; c <= '9'; ++c) table[c] = true;
  for (const char c : std::string_view("!$%&()*+,-.:;='[]_~"))
    table[static_cast<unsigned char>(c)] = true;
  return table;
}
constexpr std::array<bool, 256> kHostByte = MakeHostTable();

bool AreHostBytes(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return kHostByte[static_cast<unsigned char>(c)]; });
}

// The size of "http://" or "https://" at the beginning; 0: the target is of another form.
std::size_t SchemeSize(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (EqualsInAnyCase(target.substr(0, scheme.size()), scheme)) return scheme.size();
  }
  return 0;
}

}  // namespace

void Http1Head::AddHost(std::string_view value) {
  ++hosts_;
  host_is_valid_ = AreHostBytes(value);
}

void Http1Head::AddTransferEncoding(std::string_view value) {
  ++encodings_;
  is_chunked_ = EqualsInAnyCase(value, kChunked);
}

std::optional<Http1Head::Refusal> Http1Head::Judge(bool is_http_1_0, bool is_connect) const {
  if (hosts_ > 1) return Refusal{400, "400 Bad Request: too many Host headers"};
  if (encodings_ > 0) {
    if (encodings_ > 1 || !is_chunked_) return Refusal{501, "Unsupported transfer encoding"};
    if (lengths_ > 0) return Refusal{400, "400 Bad Request: both a length and an encoding"};
    if (is_http_1_0) return Refusal{400, "400 Bad Request: an encoding that HTTP/1.0 has not"};
  }
  if (hosts_ == 0 && !is_http_1_0 && !is_connect)
    return Refusal{400, "400 Bad Request: missing required Host header"};
  if (!host_is_valid_) return Refusal{400, "400 Bad Request: malformed Host header"};
  return std::nullopt;
}

std::optional<Http1Head::Refusal> ToOriginForm(std::string& target, std::string& host) {
  const std::size_t begin = SchemeSize(target);
  if (begin == 0) return std::nullopt;
  const std::size_t end = std::min(target.find_first_of("/?", begin), target.size());
  const std::string_view authority = std::string_view(target).substr(begin, end - begin);
  const std::string_view named = authority.substr(authority.rfind('@') + 1);
  if (named.empty() || named.front() == ':' || !AreHostBytes(named))
    return Http1Head::Refusal{400, "400 Bad Request: malformed host of the target"};
  host = named;
  const bool has_path = end < target.size() && target[end] == '/';
  target.replace(0, end, has_path ? "" : "/");
  return std::nullopt;
}

}  // namespace kvorum::rpc

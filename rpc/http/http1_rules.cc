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

}  // namespace

void Http1Head::AddHost(std::string_view value) {
  ++hosts_;
  host_is_valid_ =
      std::ranges::all_of(value, [](char c) { return kHostByte[static_cast<unsigned char>(c)]; });
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

}  // namespace kvorum::rpc

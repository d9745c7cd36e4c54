#include "wal/segment_name.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text/parse_number.h"

namespace kvorum::wal {
namespace {

constexpr std::size_t kHexDigits = 16;
constexpr std::string_view kSuffix = ".wal";

std::optional<std::uint64_t> ParseHex(std::string_view digits) {
  if (!std::ranges::all_of(
          digits, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); })) {
    return std::nullopt;
  }
  return ParseNumber<std::uint64_t>(digits, 16);
}

}  // namespace

std::string SegmentName::FileName() const {
  std::array<char, 2 * kHexDigits + 2> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%016llx-%016llx",
                static_cast<unsigned long long>(sequence),
                static_cast<unsigned long long>(first_index.value()));
  return std::string(buffer.data()).append(kSuffix);
}

std::optional<SegmentName> SegmentName::Parse(std::string_view file_name) {
  if (file_name.size() != 2 * kHexDigits + 1 + kSuffix.size() || file_name[kHexDigits] != '-' ||
      !file_name.ends_with(kSuffix)) {
    return std::nullopt;
  }
  const std::optional<std::uint64_t> sequence = ParseHex(file_name.substr(0, kHexDigits));
  const std::optional<std::uint64_t> first = ParseHex(file_name.substr(kHexDigits + 1, kHexDigits));
  if (!sequence.has_value() || !first.has_value()) return std::nullopt;
  return SegmentName{*sequence, raft::Index{*first}};
}

Result<std::vector<SegmentName>> ListSegments(FileSystem& fs, const std::string& dir) {
  KV_TRY(const std::vector<std::string> names, fs.List(dir));
  std::vector<SegmentName> segments;  // names are sorted, and so are their sequence numbers
  for (const std::string& name : names) {
    const std::optional<SegmentName> segment = SegmentName::Parse(name);
    if (!segment.has_value()) continue;
    if (!segments.empty() && segments.back().sequence + 1 != segment->sequence) segments.clear();
    segments.push_back(*segment);
  }
  return segments;
}

}  // namespace kvorum::wal

#include "rpc/packed_metadata.h"

namespace kvorum::rpc {

void PackedMetadata::Add(std::string_view name, std::string_view value) {
  const Sizes sizes{.name = static_cast<std::uint32_t>(name.size()),
                    .value = static_cast<std::uint32_t>(value.size())};
  const std::size_t after_bytes = size_bytes_ + sizeof(sizes) + name.size() + value.size();
  if (!spilled_.empty() || after_bytes > kInlineBytes) {
    if (spilled_.empty()) {
      spilled_.reserve(2 * after_bytes);
      spilled_.assign(inline_.data(), inline_.data() + size_bytes_);
    }
    spilled_.resize(after_bytes);
  }
  char* at = (spilled_.empty() ? inline_.data() : spilled_.data()) + size_bytes_;
  std::memcpy(at, &sizes, sizeof(sizes));
  at += sizeof(sizes);
  if (!name.empty()) std::memcpy(at, name.data(), name.size());
  if (!value.empty()) std::memcpy(at + name.size(), value.data(), value.size());
  size_bytes_ = after_bytes;
}

std::optional<std::string_view> PackedMetadata::Find(std::string_view name) const {
  const char* at = data();
  for (const char* end = at + size_bytes_; at != end;) {
    const Pair pair = ReadPair(at);
    if (pair.name == name) return pair.value;
  }
  return std::nullopt;
}

}  // namespace kvorum::rpc

#include "rpc/call/packed_metadata.h"

namespace kvorum::rpc {
namespace {

// An ordinary call's metadata takes fewer.
constexpr std::size_t kUsualBytes = 256;

}  // namespace

void PackedMetadata::Append(std::string& pairs, std::string_view name, std::string_view value) {
  const Sizes sizes{.name = static_cast<std::uint32_t>(name.size()),
                    .value = static_cast<std::uint32_t>(value.size())};
  pairs.append(reinterpret_cast<const char*>(&sizes), sizeof(sizes)).append(name).append(value);
}

void PackedMetadata::Add(std::string_view name, std::string_view value) {
  std::string pairs(packed_.view());
  Append(pairs, name, value);
  packed_ = SharedBytes::Copy(pairs);
}

std::optional<std::string_view> PackedMetadata::Find(std::string_view name) const {
  const char* at = packed_.data();
  for (const char* end = at + packed_.size(); at != end;) {
    const Pair pair = ReadPair(at);
    if (pair.name == name) return pair.value;
  }
  return std::nullopt;
}

void MetadataPacker::Add(std::string_view name, std::string_view value) {
  if (pairs_.empty()) {
    if (equal_bytes_ < last_.size()) {
      const char* at = last_.data() + equal_bytes_;
      const PackedMetadata::Pair pair = PackedMetadata::ReadPair(at);
      if (pair.name == name && pair.value == value) {
        equal_bytes_ = static_cast<std::size_t>(at - last_.data());
        return;
      }
    }
    pairs_.reserve(kUsualBytes);
    pairs_ = last_.view().substr(0, equal_bytes_);
  }
  PackedMetadata::Append(pairs_, name, value);
}

PackedMetadata MetadataPacker::Pack() {
  SharedBytes packed = last_;
  if (!pairs_.empty() || equal_bytes_ != last_.size()) {
    packed = SharedBytes::Copy(pairs_.empty() ? last_.view().substr(0, equal_bytes_) : pairs_);
    last_ = packed.size() <= kMostKeptBytes ? packed : SharedBytes();
  }
  Clear();
  return PackedMetadata(std::move(packed));
}

void MetadataPacker::Clear() {
  equal_bytes_ = 0;
  std::string().swap(pairs_);
}

}  // namespace kvorum::rpc

// The metadata of a call: names and values one after another in one block, each pair behind its two
// sizes. The metadata of an ordinary call fits in the object; more goes to one allocation.
//
// A stream keeps its metadata for as long as it lasts, and there may be a hundred thousand: so no
// table of entries, and nothing reserved beyond what the usual headers take.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace kvorum::rpc {

class PackedMetadata {
 public:
  PackedMetadata() = default;
  PackedMetadata(const PackedMetadata&) = delete;
  PackedMetadata& operator=(const PackedMetadata&) = delete;

  // Invalidates the views that the readers have returned.
  void Add(std::string_view name, std::string_view value);

  // The first value under the name. O(bytes).
  std::optional<std::string_view> Find(std::string_view name) const;
  template <class Visitor>  // visitor(name, value)
  void ForEach(Visitor&& visitor) const {
    const char* at = data();
    for (const char* end = at + size_bytes_; at != end;) {
      const Pair pair = ReadPair(at);
      visitor(pair.name, pair.value);
    }
  }

 private:
  struct Sizes {
    std::uint32_t name;
    std::uint32_t value;
  };
  struct Pair {
    std::string_view name;
    std::string_view value;
  };
  static constexpr std::size_t kInlineBytes = 128;

  const char* data() const { return spilled_.empty() ? inline_.data() : spilled_.data(); }
  // Moves `at` behind the pair.
  static Pair ReadPair(const char*& at) {
    Sizes sizes;
    std::memcpy(&sizes, at, sizeof(sizes));
    const char* name = at + sizeof(sizes);
    const char* value = name + sizes.name;
    at = value + sizes.value;
    return {.name = {name, sizes.name}, .value = {value, sizes.value}};
  }

  std::size_t size_bytes_ = 0;
  std::array<char, kInlineBytes> inline_;
  std::vector<char> spilled_;  // empty as long as all fits in inline_
};

}  // namespace kvorum::rpc

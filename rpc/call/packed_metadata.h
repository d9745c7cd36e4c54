// The metadata of a call: names and values one after another in one block, each pair behind its two
// sizes.
//
// A stream keeps its metadata for as long as it lasts, and there may be a hundred thousand. The
// calls of a connection mostly bring the same metadata: they share one block of it
// (MetadataPacker).
//
// Threads: like SharedBytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/shared_bytes.h"

namespace kvorum::rpc {

class PackedMetadata {
 public:
  PackedMetadata() = default;

  // Costs O(bytes so far): many pairs are packed by a MetadataPacker. Invalidates the views that
  // the readers have returned.
  void Add(std::string_view name, std::string_view value);

  // The first value under the name. O(bytes).
  std::optional<std::string_view> Find(std::string_view name) const;
  template <class Visitor>  // visitor(name, value)
  void ForEach(Visitor&& visitor) const {
    const char* at = packed_.data();
    for (const char* end = at + packed_.size(); at != end;) {
      const Pair pair = ReadPair(at);
      visitor(pair.name, pair.value);
    }
  }

 private:
  friend class MetadataPacker;
  struct Sizes {
    std::uint32_t name;
    std::uint32_t value;
  };
  struct Pair {
    std::string_view name;
    std::string_view value;
  };

  explicit PackedMetadata(SharedBytes packed) : packed_(std::move(packed)) {}
  static void Append(std::string& pairs, std::string_view name, std::string_view value);
  // Moves `at` behind the pair.
  static Pair ReadPair(const char*& at) {
    Sizes sizes;
    std::memcpy(&sizes, at, sizeof(sizes));
    const char* name = at + sizeof(sizes);
    const char* value = name + sizes.name;
    at = value + sizes.value;
    return {.name = {name, sizes.name}, .value = {value, sizes.value}};
  }

  SharedBytes packed_;
};

// Packs the metadata of a connection's calls, one call's after another's. Metadata like the last
// call's costs a comparison, and neither a copy nor memory.
//
// Used by one thread.
class MetadataPacker {
 public:
  // An idle connection keeps no larger block for calls to come.
  static constexpr std::size_t kMostKeptBytes = 1024;

  void Add(std::string_view name, std::string_view value);
  // Returns what was added since the last Pack or Clear.
  PackedMetadata Pack();
  // Forgets what was added.
  void Clear();

 private:
  SharedBytes last_;
  std::size_t equal_bytes_ = 0;  // of the pairs that are those at the beginning of last_
  std::string pairs_;            // all pairs, once one differs from last_; empty until then
};

}  // namespace kvorum::rpc

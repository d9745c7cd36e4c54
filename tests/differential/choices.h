// The small random choices for making requests: keys of a small alphabet, so that requests
// interact; ends, values, revisions and limits with all odd cases that the API accepts or refuses.
// A seed makes the same choices everywhere, given the same revisions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/rng.h"

namespace kvorum::differential {

class Choices {
 public:
  explicit Choices(std::uint64_t seed) : rng_(seed) {}

  // The servers' present revisions, around which revisions are chosen.
  void Observe(std::int64_t newest, std::int64_t compacted);
  std::int64_t newest() const { return newest_; }
  std::int64_t compacted() const { return compacted_; }

  bool Percent(std::uint64_t chance) { return rng_.Below(100) < chance; }
  bool OneIn(std::uint64_t n) { return rng_.OneIn(n); }
  // Both ends are possible.
  std::int64_t Between(std::int64_t low, std::int64_t high);
  Rng& rng() { return rng_; }

  // Every key of the alphabet, and those that only deletes of careful txns touch (all of these have
  // the prefix kDeletedPrefix).
  static std::span<const std::string> Keys();
  static std::span<const std::string> DeletedKeys();
  static constexpr char kDeletedPrefix[] = "gone/";

  std::string Key();                               // one that a put may have made
  std::string AnyKey();                            // seldom: empty, unknown, random bytes
  std::string BoundedEnd(const std::string& key);  // after the key, never open, never "\0"
  std::string AnyEnd(const std::string& key);      // mostly none; also open, before the key
  std::string Value();
  std::string Bytes(std::int64_t most);
  std::int64_t Revision();        // readable or nearly so; seldom far out
  std::int64_t FilterRevision();  // for min and max revisions
  std::int64_t Limit();
  std::int64_t Lease();         // one of a few, which may have been granted; seldom another
  std::int64_t UnknownLease();  // one that never is

 private:
  Rng rng_;
  std::int64_t newest_ = 1;
  std::int64_t compacted_ = 0;
};

// One zero byte: as a range's end no end at all, with itself as key everything.
inline const std::string kZero("\0", 1);

}  // namespace kvorum::differential

#include "tests/differential/choices.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/key_range.h"

namespace kvorum::differential {
namespace {

constexpr std::size_t kLongKeyBytes = 3000;

std::vector<std::string> MakeKeys() {
  std::vector<std::string> keys = {kZero,
                                   std::string("\0\0", 2),
                                   std::string("\0\xff", 2),
                                   "\x01",
                                   "a",
                                   "aa",
                                   "ab",
                                   "abc",
                                   std::string("a\0", 2),
                                   std::string("a\0b", 3),
                                   "b",
                                   "b/",
                                   "b/1",
                                   "b/2",
                                   "b/3",
                                   "b0",
                                   "c",
                                   "\xc3\x28",
                                   "\xe2\x82\xac",
                                   "\xf0\x9f\x98\x80",
                                   "\x7f",
                                   "\x80",
                                   "\xfe",
                                   "\xff",
                                   "\xff\xff",
                                   "\xff\xff\xff"};
  for (int i = 0; i < 20; ++i) keys.push_back("key/" + std::to_string(i));
  keys.push_back(std::string(kLongKeyBytes, 'k'));
  keys.push_back(std::string(kLongKeyBytes, 'k') + '\0');
  return keys;
}

std::vector<std::string> MakeDeletedKeys() {
  std::vector<std::string> keys(10, Choices::kDeletedPrefix);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] += std::to_string(i);
  return keys;
}

}  // namespace

std::span<const std::string> Choices::Keys() {
  static const std::vector<std::string> keys = MakeKeys();
  return keys;
}

std::span<const std::string> Choices::DeletedKeys() {
  static const std::vector<std::string> keys = MakeDeletedKeys();
  return keys;
}

void Choices::Observe(std::int64_t newest, std::int64_t compacted) {
  newest_ = newest;
  compacted_ = compacted;
}

std::int64_t Choices::Between(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(rng_.Below(static_cast<std::uint64_t>(high - low + 1)));
}

std::string Choices::Key() {
  const auto keys = Percent(85) ? Keys() : DeletedKeys();
  return keys[rng_.Below(keys.size())];
}

std::string Choices::AnyKey() {
  if (OneIn(100)) return {};
  if (OneIn(60)) return "nobody/" + Bytes(4);
  if (OneIn(60)) return Bytes(6);
  return Key();
}

std::string Choices::BoundedEnd(const std::string& key) {
  if (Percent(30)) return key + kZero;
  if (Percent(40)) {
    const std::string end = PrefixEnd(key);
    if (end != kZero) return end;
  }
  for (int tries = 0; tries < 4; ++tries) {
    const std::string end = Key();
    if (end > key && end != kZero) return end;
  }
  return key + kZero + kZero;
}

std::string Choices::AnyEnd(const std::string& key) {
  const std::int64_t dice = Between(1, 100);
  if (dice <= 40) return {};
  if (dice <= 75) return BoundedEnd(key);
  if (dice <= 88) return kZero;
  if (dice <= 91) return key;
  if (dice <= 94) return Bytes(3);
  return Key();
}

std::string Choices::Value() {
  if (OneIn(12)) return {};
  if (Percent(60)) return std::to_string(Between(1, 6));
  if (OneIn(80)) return std::string(static_cast<std::size_t>(Between(1000, 6000)), 'v');
  return Bytes(40);
}

std::string Choices::Bytes(std::int64_t most) {
  std::string bytes(static_cast<std::size_t>(Between(1, most)), '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng_.Below(256));
  return bytes;
}

std::int64_t Choices::Revision() {
  constexpr std::array<std::int64_t, 7> kFarOut = {-1,
                                                   -2,
                                                   -1000000,
                                                   1000000000,
                                                   1LL << 40,
                                                   std::numeric_limits<std::int64_t>::max(),
                                                   std::numeric_limits<std::int64_t>::min()};
  const std::int64_t dice = Between(1, 100);
  const std::int64_t oldest = std::max<std::int64_t>(compacted_, 1);
  if (dice <= 60) return Between(oldest, std::max(oldest, newest_));
  if (dice <= 75) return Between(std::max(oldest, newest_ - 100), std::max(oldest, newest_));
  if (dice <= 85) return compacted_ + Between(-2, 2);
  if (dice <= 95) return newest_ + Between(0, 20);
  return kFarOut[rng_.Below(kFarOut.size())];
}

std::int64_t Choices::FilterRevision() {
  if (OneIn(20)) return Revision();
  return Between(std::max<std::int64_t>(1, newest_ - 400), newest_ + 5);
}

std::int64_t Choices::Limit() {
  if (OneIn(30)) return -Between(1, 5);
  if (OneIn(30)) return std::numeric_limits<std::int64_t>::max() - Between(0, 1);
  return Percent(70) ? Between(1, 6) : Between(7, 80);
}

std::int64_t Choices::Lease() {
  if (OneIn(10)) return UnknownLease();
  // A negative id is one like any other.
  return OneIn(8) ? -1 : Between(1, 12);
}

std::int64_t Choices::UnknownLease() {
  if (OneIn(4)) return -Between(2, 9);
  return OneIn(4) ? std::numeric_limits<std::int64_t>::max() : Between(100, 1000);
}

}  // namespace kvorum::differential

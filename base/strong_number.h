// Numbers of different meanings as different types: a term is not an index, and neither is a
// member's id, so that a call which swaps two of them does not compile. At run time a StrongNumber
// is its std::uint64_t and nothing else.
//
//   using Term = StrongNumber<struct TermTag>;
//   Term term = 5;        // a literal converts
//   Term read{number};    // what is computed or was read converts explicitly
//   term.value();         // and back
//
// Values compare among themselves and with literals, and are equal to plain numbers or not.
// Arithmetic is that of a position: position ±
// distance is a position, and position - position is a distance, a std::uint64_t. It wraps as
// unsigned numbers do.
//
// Threading: plain values.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <utility>

namespace kvorum {

template <class Tag>
class StrongNumber {
 public:
  constexpr StrongNumber() = default;
  consteval StrongNumber(int literal)  // NOLINT(google-explicit-constructor): see above
      : value_(literal >= 0 ? static_cast<std::uint64_t>(literal) : throw "negative") {}
  constexpr explicit StrongNumber(std::uint64_t value) : value_(value) {}

  constexpr std::uint64_t value() const { return value_; }

  constexpr StrongNumber& operator++() { return *this += 1; }
  constexpr StrongNumber operator++(int) { return std::exchange(*this, *this + 1); }
  constexpr StrongNumber& operator--() { return *this -= 1; }
  constexpr StrongNumber& operator+=(std::uint64_t distance) {
    value_ += distance;
    return *this;
  }
  constexpr StrongNumber& operator-=(std::uint64_t distance) {
    value_ -= distance;
    return *this;
  }
  friend constexpr StrongNumber operator+(StrongNumber position, std::integral auto distance) {
    return StrongNumber{position.value_ + static_cast<std::uint64_t>(distance)};
  }
  friend constexpr StrongNumber operator-(StrongNumber position, std::integral auto distance) {
    return StrongNumber{position.value_ - static_cast<std::uint64_t>(distance)};
  }
  friend constexpr std::uint64_t operator-(StrongNumber to, StrongNumber from) {
    return to.value_ - from.value_;
  }

  friend constexpr bool operator==(StrongNumber, StrongNumber) = default;
  friend constexpr auto operator<=>(StrongNumber, StrongNumber) = default;
  // Equality with a plain number needs no conversion, as in EXPECT_EQ(id, 0x8e9e05c52164694d).
  friend constexpr bool operator==(StrongNumber a, std::integral auto b) {
    return std::cmp_equal(a.value_, b);
  }
  // So does order with the type of a literal, which is not a constant within EXPECT_LT.
  template <class Literal>
    requires(std::same_as<Literal, int> || std::same_as<Literal, unsigned>)
  friend constexpr auto operator<=>(StrongNumber a, Literal b) {
    return std::cmp_less(b, 0) ? std::strong_ordering::greater
                               : a.value_ <=> static_cast<std::uint64_t>(b);
  }

  template <class Traits>
  friend auto& operator<<(std::basic_ostream<char, Traits>& out, StrongNumber number) {
    return out << number.value_;
  }

 private:
  std::uint64_t value_ = 0;
};

template <class T>
inline constexpr bool kIsStrongNumber = false;
template <class Tag>
inline constexpr bool kIsStrongNumber<StrongNumber<Tag>> = true;

}  // namespace kvorum

template <class Tag>
struct std::hash<kvorum::StrongNumber<Tag>> {
  std::size_t operator()(kvorum::StrongNumber<Tag> number) const noexcept {
    return std::hash<std::uint64_t>()(number.value());
  }
};

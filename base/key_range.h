// The single home of the API's range_end rule: empty means the single key, one zero byte means
// every key from `key` on, anything else is the exclusive end. An end at or before the key makes an
// empty range, which is not an error. A value.
#pragma once

#include <string>
#include <string_view>

namespace kvorum {

// True for the range_end of a range without an end.
constexpr bool IsOpenEnd(std::string_view range_end) {
  return range_end.size() == 1 && range_end[0] == '\0';
}

// The range_end for all keys with the prefix: the smallest key after them, or an open end.
inline std::string PrefixEnd(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');
  ++prefix.back();
  return prefix;
}

class KeyRange {
 public:
  KeyRange(std::string_view key, std::string_view range_end)
      : begin_(key), end_(range_end), single_(range_end.empty()), open_(IsOpenEnd(range_end)) {}

  std::string_view begin() const { return begin_; }
  bool single() const { return single_; }  // exactly the key begin()
  bool open() const { return open_; }      // without an end
  // The exclusive end; meaningful unless single() or open().
  std::string_view end() const { return end_; }

  // True if the key is before the end. The caller knows that it is not before begin().
  bool BeforeEnd(std::string_view key) const {
    if (open_) return true;
    return single_ ? key == begin_ : key < end_;
  }
  bool Contains(std::string_view key) const { return key >= begin_ && BeforeEnd(key); }

 private:
  std::string_view begin_;
  std::string_view end_;
  bool single_;
  bool open_;
};

}  // namespace kvorum

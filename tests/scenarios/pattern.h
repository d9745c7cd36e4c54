// The grammar of a story's lines: words of small letters stand for themselves, words of capitals
// for something to be filled in.
//
//   N             a member that there is, counted from 1
//   COUNT         a whole number
//   TIME          a duration such as 500ms or 10s
//   KEY, NAME     a word
//   KEY=VALUE     two words
//   TEXT          a word or, with spaces, a text in quotes
//   OPTION=NUMBER...   any number of these, at the end
//
// Anywhere in a word, \xNN is a byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace kvorum::server {

// The words of a line; quotes hold one with spaces together.
Result<std::vector<std::string>> SplitStoryLine(std::string_view line);

// The words in the places of a pattern's capitals, in their order; KEY=VALUE is two.
class Slots {
 public:
  struct Slot {
    std::string text;
    std::uint64_t number = 0;
    Duration time{};
  };
  // A member's number from 0 on.
  std::size_t Member(std::size_t i) const { return slots_.at(i).number - 1; }
  std::uint64_t Number(std::size_t i) const { return slots_.at(i).number; }
  std::int64_t Revision(std::size_t i) const { return static_cast<std::int64_t>(Number(i)); }
  Duration Time(std::size_t i) const { return slots_.at(i).time; }
  const std::string& Text(std::size_t i) const { return slots_.at(i).text; }
  std::size_t size() const { return slots_.size(); }

  void Add(Slot slot) { slots_.push_back(std::move(slot)); }

 private:
  std::vector<Slot> slots_;
};

// The error says which word does not fit. `members` is how many there are.
Result<Slots> MatchPattern(std::string_view pattern, const std::vector<std::string>& words,
                           std::size_t members);

}  // namespace kvorum::server

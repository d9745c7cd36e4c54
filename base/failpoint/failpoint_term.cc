#include "base/failpoint/failpoint_term.h"

#include <array>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/text/duration_text.h"
#include "base/text/parse_number.h"

namespace kvorum::failpoint {
namespace {

// A longer sleep than this is a mistake in the term, and would overflow further down.
constexpr double kMaxSleepNs = 24.0 * 3600 * 1e9;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Term> Parse() {
    Term term;
    do {
      KV_TRY(Part part, ParsePart());
      term.push_back(std::move(part));
    } while (Take("->"));
    if (!rest().empty()) return Bad("unexpected text");
    return term;
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }

  bool Take(std::string_view word) {
    if (!rest().starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::unexpected<Error> Bad(std::string_view why) const {
    return Fail(Code::kInvalidArgument, "failpoint term \"" + std::string(text_) +
                                            "\": " + std::string(why) + " at position " +
                                            std::to_string(at_));
  }

  template <class T>
  bool TakeNumber(T* number) {
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), *number);
    if (error != std::errc()) return false;
    at_ += static_cast<std::size_t>(end - begin);
    return true;
  }

  Result<Part> ParsePart() {
    Part part;
    while (!rest().empty() && ((rest()[0] >= '0' && rest()[0] <= '9') || rest()[0] == '.')) {
      const std::size_t start = at_;
      double number = 0;
      if (!TakeNumber(&number)) return Bad("a number was expected");
      if (Take("%")) {
        if (number < 0 || number > 100) return Bad("a percentage is from 0 to 100");
        part.percent = number;
      } else {
        at_ = start;
        std::uint64_t times = 0;
        if (!TakeNumber(&times) || !Take("*")) return Bad("a modifier is 25.0% or 3*");
        part.times_left = times;
      }
    }
    constexpr std::array<std::pair<std::string_view, Action>, 5> kActions = {
        {{"off", Action::kOff},
         {"return", Action::kReturn},
         {"sleep", Action::kSleep},
         {"panic", Action::kPanic},
         {"print", Action::kPrint}}};
    for (const auto& [word, action] : kActions) {
      if (!Take(word)) continue;
      part.action = action;
      KV_RETURN_IF_ERROR(ParseValue(part));
      return part;
    }
    return Bad("unknown action");
  }

  Result<void> ParseValue(Part& part) {
    std::string value;
    bool quoted = false;
    const bool given = Take("(");
    if (given) {
      quoted = Take("\"");
      KV_TRY(value, quoted ? ParseQuoted() : ParseBare());
      if (!Take(")")) return Bad("\")\" was expected");
    }
    if (part.action == Action::kSleep) {
      if (!given) return Bad("sleep needs a time");
      KV_TRY(part.duration, quoted ? ParseGoDuration(value) : ParseMilliseconds(value));
    }
    if (part.action == Action::kReturn) part.value = std::move(value);
    return {};
  }

  Result<std::string> ParseQuoted() {
    std::string value;
    while (!rest().empty()) {
      const char c = rest()[0];
      ++at_;
      if (c == '"') return value;
      if (c != '\\') {
        value += c;
        continue;
      }
      if (rest().empty()) break;
      const char escaped = rest()[0];
      ++at_;
      value += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
    }
    return Bad("the string has no end");
  }

  Result<std::string> ParseBare() {
    const std::size_t end = rest().find(')');
    if (end == std::string_view::npos) return Bad("\")\" was expected");
    std::string value(rest().substr(0, end));
    at_ += end;
    return value;
  }

  Result<Duration> ParseMilliseconds(std::string_view value) const {
    const auto ms = ParseNumber<double>(value);
    if (!ms) return Bad("sleep takes milliseconds or a quoted duration");
    return Nanoseconds(*ms * 1e6);
  }

  // Go's notation: "1.5s", "1h2m3s", "10ms".
  Result<Duration> ParseGoDuration(std::string_view value) const {
    const auto duration = ParseDuration(value);
    if (!duration) return Bad(duration.error().message);
    return Nanoseconds(static_cast<double>(duration->count()));
  }

  Result<Duration> Nanoseconds(double ns) const {
    if (!(ns >= 0 && ns <= kMaxSleepNs)) return Bad("a sleep is from 0 to 24 hours");
    return Duration(static_cast<std::int64_t>(ns));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Term> ParseTerm(std::string_view text) { return Parser(text).Parse(); }

const Part* Choose(Term& term, Rng& rng) {
  for (Part& part : term) {
    if (part.times_left == 0) continue;
    if (part.percent < 100) {
      const double drawn = static_cast<double>(rng() >> 11) * 0x1p-53 * 100;
      if (drawn >= part.percent) continue;
    }
    if (part.times_left.has_value()) --*part.times_left;
    return &part;
  }
  return nullptr;
}

}  // namespace kvorum::failpoint

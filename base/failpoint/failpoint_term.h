// The little language of failpoint terms: `5%3*return("x")->sleep(10)->off`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/rng.h"

namespace kvorum::failpoint {

enum class Action : std::uint8_t { kOff, kReturn, kSleep, kPanic, kPrint };

struct Part {
  double percent = 100;
  std::optional<std::uint64_t> times_left;  // no limit if unset
  Action action = Action::kOff;
  std::string value;     // for return
  Duration duration{0};  // for sleep
};

using Term = std::vector<Part>;

Result<Term> ParseTerm(std::string_view text);

// Returns the part that acts now, nullptr if none does, and counts its `3*` down.
const Part* Choose(Term& term, Rng& rng);

}  // namespace kvorum::failpoint

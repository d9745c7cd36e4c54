// The checker's verdict on a history.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kvorum::linearizability {

// The kind of a violation: for tests, and the first word that a reader sees.
enum class Flaw : std::uint8_t {
  kNone,
  kStaleRead,          // a read saw less than had been acknowledged before it was called
  kReadFromTheFuture,  // a read saw a write that was called only after it had returned
  kRevisionWentBack,   // a later write got an older revision
  kRevisionReused,     // two writes were given one revision
  kRevisionOfNobody,   // a revision that none of the operations can have made
  kAppliedTwice,       // one write made two revisions
  kLostWrite,          // a state changed by a write is seen unchanged later
  kWrongAnswer,        // any other answer that the store's state does not give
  kNoOrder,            // without revisions: no order of the operations gives their answers
};

std::string_view Name(Flaw flaw);

struct Verdict {
  enum class Kind : std::uint8_t { kLinearizable, kViolation, kUndecided };
  Kind kind = Kind::kLinearizable;
  Flaw flaw = Flaw::kNone;
  // Some lines for a reader: the operations that contradict each other, and how.
  std::string explanation;

  std::size_t acknowledged = 0;
  std::size_t unknown = 0;
  // The number of those found to have taken effect (by revisions only).
  std::size_t unknown_applied = 0;
  std::int64_t last_revision = 0;

  bool ok() const { return kind == Kind::kLinearizable; }
};

}  // namespace kvorum::linearizability

// What the checker says of a history.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kvorum::linearizability {

// What kind of wrong a violation is: for tests, and the first word that a reader sees.
enum class Flaw : std::uint8_t {
  kNone,
  kStaleRead,          // a read saw less than what had been acknowledged before it was called
  kReadFromTheFuture,  // a read saw what was asked for only after it had returned
  kRevisionWentBack,   // a later write got an older revision
  kRevisionReused,     // two writes were given one revision
  kRevisionOfNobody,   // a revision that none of the operations can have made
  kAppliedTwice,       // one write made two revisions
  kLostWrite,          // a state that a write had changed is seen as it was before
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
  // Of those, how many were found to have taken effect (by revisions only).
  std::size_t unknown_applied = 0;
  std::int64_t last_revision = 0;

  bool ok() const { return kind == Kind::kLinearizable; }
};

}  // namespace kvorum::linearizability

// The versions of the other members forbid some things. The code that asks for them writes here
// (server/integrity/older_members.h); any thread reads.
#pragma once

#include <atomic>
#include <cstddef>

namespace kvorum::server {

struct MemberPatches {
  // Members that decide permissions of transactions otherwise, while auth is on; else 0.
  std::atomic<std::size_t> older_while_auth{0};
  // There is one, whether auth is on or not, and this member is not to run beside it with auth on.
  std::atomic<bool> forbid_auth{false};
  // A member would take a learner for a voter once its peer URLs are changed.
  std::atomic<bool> lose_learners{false};
};

}  // namespace kvorum::server

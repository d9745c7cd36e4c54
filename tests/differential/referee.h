// Decides whether two answers to a request are equal, apart from the differences allowed to this
// peer, and counts how often each of those occurred.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/differential/allowed_differences.h"

namespace kvorum::differential {

class Referee {
 public:
  struct Allowed {
    AllowedDifference difference;
    std::int64_t uses = 0;
  };

  // `peer_version` as the peer tells it: "3.4.23".
  explicit Referee(const std::string& peer_version);

  // Returns the differences that are not allowed. Corrects the peer's answer by the allowed ones on
  // the way.
  std::vector<std::string> Judge(const Request& request, const Answer& ours, Answer& peer);

  const std::vector<Allowed>& allowed() const { return allowed_; }

 private:
  std::vector<Allowed> allowed_;
};

}  // namespace kvorum::differential

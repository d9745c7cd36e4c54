// Decides whether two answers to a request are the same, but for the differences that are allowed
// to this peer, and counts how often each of those was there.
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

  // What differs and may not. Corrects the peer's answer by the allowed differences on the way.
  std::vector<std::string> Judge(const Request& request, const Answer& ours, Answer& peer);

  const std::vector<Allowed>& allowed() const { return allowed_; }

 private:
  std::vector<Allowed> allowed_;
};

}  // namespace kvorum::differential

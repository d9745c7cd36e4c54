// Where the peer, an etcd from the distribution, is known not to answer as etcd 3.7.1, whose
// answers are the ones that count. Nothing else may differ.
#pragma once

#include <span>
#include <string_view>

#include "tests/differential/answer.h"
#include "tests/differential/request.h"

namespace kvorum::differential {

struct AllowedDifference {
  std::string_view name;
  std::string_view reason;
  int peer_minor_before;  // allowed to peers older than 3.<this>
  // Makes the peer's answer what 3.7.1 says, if this very difference is there; whether it was.
  // Looks at nothing else, so that any other difference stays to be seen.
  bool (*correct)(const Request& request, const Answer& ours, Answer& peer);
};

// For a difference that no version ends, since etcd promises neither answer.
inline constexpr int kEveryPeer = 1000;

std::span<const AllowedDifference> AllowedDifferences();

}  // namespace kvorum::differential

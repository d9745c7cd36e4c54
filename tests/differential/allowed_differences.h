// The known cases in which the peer, an etcd from the distribution, answers differently from etcd
// 3.7.3, whose answers are authoritative. Nothing else may differ.
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
  // Changes the peer's answer to that of 3.7.3 if this very difference is there, and returns
  // whether it was. Checks nothing else, so that any other difference remains visible.
  bool (*correct)(const Request& request, const Answer& ours, Answer& peer);
};

// For a difference that no version ends, since etcd promises neither answer.
inline constexpr int kEveryPeer = 1000;

std::span<const AllowedDifference> AllowedDifferences();

}  // namespace kvorum::differential

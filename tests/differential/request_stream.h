// The stream of requests of one seed: kinds by weight, and short stories whose requests belong
// together, such as a large value that is put, read and taken away again.
//
// The revisions that servers answer are part of what makes the stream: a seed gives the same stream
// again if they are told it at the same places (Observe).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/differential/choices.h"
#include "tests/differential/request.h"

namespace kvorum::differential {

class RequestStream {
 public:
  explicit RequestStream(std::uint64_t seed) : choices_(seed) {}

  void Observe(std::int64_t newest, std::int64_t compacted) { choices_.Observe(newest, compacted); }
  Choices& choices() { return choices_; }

  // The next requests, at least `count`.
  std::vector<Request> Next(std::size_t count);

 private:
  void AddStory(std::vector<Request>& requests);
  void AddTxnStory(std::vector<Request>& requests);
  void AddLeaseStory(std::vector<Request>& requests);
  void AddManyOps(std::vector<Request>& requests);
  void AddLargeValue(std::vector<Request>& requests);
  void AddLargeKey(std::vector<Request>& requests);
  void AddTooLarge(std::vector<Request>& requests);

  Choices choices_;
};

// A compaction that is refused, and answered when the work of all before it is done: what HashKV
// says may depend on that while nothing lives.
Request SettleCompactions();

}  // namespace kvorum::differential

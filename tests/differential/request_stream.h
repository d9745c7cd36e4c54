// The stream of requests of one seed: kinds by weight, and short stories of related requests, such
// as a large value that is put, read and deleted again.
//
// The revisions in the servers' answers influence the stream: a seed gives the same stream again if
// they are passed in at the same places (Observe).
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

// A compaction that is refused, and answered when the work of all earlier ones is done: HashKV may
// depend on that while no key lives.
Request SettleCompactions();

}  // namespace kvorum::differential

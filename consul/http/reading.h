// Consistency and blocking, the same for every read of the catalog, of health, of sessions and of
// KV.
//
// A read without ?stale asks the store for its revision first, with the caller's credentials, and
// waits until the copy has it; a read with ?stale takes the copy as it is. Requests of one token
// that wait for a question that has not been sent yet share it. With ?index it then waits until the
// index moves, its time is over, or its client leaves.
//
// A store that is silent does not hold a read up: 500 `No cluster leader` comes kHoldTimeout after
// the read began, or after its wait with the jitter. A stale one is answered from the copy.
//
// Thread-safe. What the parts name outlives it, and it outlives its requests' loops. A request that
// waits costs its exchange, an entry of the timers and one of what it waits for: no thread, no
// watch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "consul/catalog/catalog_copy.h"
#include "consul/http/exchange.h"
#include "consul/http/store_access.h"

namespace kvorum::consul {

// The values of ?index, ?wait, ?stale, ?consistent, ?max_stale and ?dc.
struct ReadOptions {
  std::uint64_t index = 0;  // 0: does not block
  Duration wait{};          // without its jitter, at most 600 s
  bool is_stale = false;
  bool is_consistent = false;
  Duration max_stale{};  // an older answer is asked for at the leader; 0: any is taken
};
// Nothing: the exchange was answered with the API's error.
std::optional<ReadOptions> ParseRead(Exchange& exchange, std::string_view datacenter);

// False: the exchange was answered, since ?dc names another data center.
bool IsOurDatacenter(Exchange& exchange, std::string_view datacenter);

// Something that moves by an index and can be waited for: topics of the catalog, keys of KV.
struct Moving {
  std::function<std::uint64_t()> index;
  // Like CatalogCopy::WaitFor: calls back once when the index is greater than `after`, or at a
  // relist. The handle drops the wait.
  std::function<std::shared_ptr<void>(std::uint64_t after, std::move_only_function<void()>)> wait;
  // A blocked query whose answer is "not found", and was so before, goes on waiting.
  std::function<bool()> is_found = {};
};
// Its index is the largest of the topics'.
Moving MovingOf(CatalogCopy& copy, std::vector<Topic> topics);

class Reading {
 public:
  struct Parts {
    CatalogCopy& copy;
    StoreAccess& access;
    Executor& executor;  // of the timers
    std::string registry_prefix = "/kvorum/registry/";
    std::string datacenter = "dc1";
    std::uint64_t seed = 0;  // of the jitter; 0: from the operating system
  };
  explicit Reading(Parts parts);
  ~Reading();
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  // Does what the exchange's parameters ask for (freshness first, then blocking until the index
  // moves or the wait is over), sets the headers, and calls `answer` on the exchange's loop.
  void Read(Exchange exchange, Moving moving, std::move_only_function<void(Exchange)> answer);
  // The same for a request that came at that time, from which its wait is counted.
  void Read(Exchange exchange, Moving moving, std::move_only_function<void(Exchange)> answer,
            TimePoint begun);

  // Requests that wait for an index to move.
  std::size_t waiting() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kvorum::consul

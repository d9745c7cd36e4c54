// Consistency and blocking, the same for every read of the catalog, of health, of sessions and of
// KV.
//
// Thread-safe. See docs/consul.md and the pages' sections on consistency modes and blocking
// queries.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "consul/catalog/catalog_copy.h"
#include "consul/http/exchange.h"
#include "consul/http/store_access.h"

namespace kvorum::consul {

// What ?index, ?wait, ?stale, ?consistent, ?max_stale and ?dc say.
struct ReadOptions {
  std::uint64_t index = 0;  // 0: does not block
  Duration wait{};          // with its jitter, at most 600 s and a sixteenth
  bool is_stale = false;
  bool is_consistent = false;
};
// Nothing: the exchange was answered with the API's error.
std::optional<ReadOptions> ParseRead(Exchange& exchange, std::string_view datacenter);

// Something that moves by an index and can be waited for: a topic of the catalog, keys of KV.
struct Moving {
  std::function<std::uint64_t()> index;
  // As CatalogCopy::WaitFor: calls back once when the index is greater than `after`, or at a
  // relist. The handle drops the wait.
  std::function<std::shared_ptr<void>(std::uint64_t after, std::move_only_function<void()>)> wait;
  // A blocked query whose answer is "not found", and was so before, goes on waiting.
  std::function<bool()> is_found = {};
};

class Reading {
 public:
  struct Parts {
    CatalogCopy& copy;
    StoreAccess& access;
    std::string datacenter = "dc1";
  };
  explicit Reading(Parts parts);
  ~Reading();

  // Does what the exchange's parameters ask for (freshness first, then blocking until the index
  // moves or the wait is over), sets the headers, and calls `answer` on the exchange's loop.
  void Read(Exchange exchange, Moving moving, std::move_only_function<void(Exchange)> answer);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kvorum::consul

// What all connections of one loop share: the settings, the router, and the buffers for one read
// and one write at a time, so that an idle connection owns neither.
//
// Belongs to the loop's thread, except the counters, which others may read.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "rpc/http.h"
#include "rpc/loop.h"
#include "rpc/output_batch.h"
#include "rpc/server.h"
#include "rpc/service.h"

namespace kvorum::rpc {

struct Front {
  static constexpr std::size_t kInputBytes = 64 * 1024;

  Front(const Options& o, const Router& r, const HttpHandler& h, Loop& l)
      : options(o), router(r), http(h), loop(l), input(kInputBytes) {}

  const Options& options;
  const Router& router;
  const HttpHandler& http;
  Loop& loop;
  std::vector<char> input;
  OutputBatch output;
  // Written by this loop alone.
  std::atomic<std::uint64_t> received_bytes{0};
  std::atomic<std::uint64_t> sent_bytes{0};
};

// A timer that calls a member function of its owner.
template <class Owner, void (Owner::*kMethod)()>
class MemberTimer final : public Timer {
 public:
  explicit MemberTimer(Owner& owner) : owner_(owner) {}
  void OnTimer() override { (owner_.*kMethod)(); }

 private:
  Owner& owner_;
};

}  // namespace kvorum::rpc

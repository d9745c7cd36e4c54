// The health of this member over HTTP: /health, and the probes /livez and /readyz with their named
// checks, each also under its own path (/readyz/linearizable_read).
//
// A probe answers "ok"; with ?verbose a line for each check before it; ?exclude=name leaves a check
// out. A failed check makes it 503 with all lines. /health answers with JSON and counts alarms,
// too.
//
// Thread-safe. A request without a loop is answered from any thread. Ownership: outlives the
// routes, and its parts outlive it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/metric.h"
#include "rpc/http/http.h"

namespace kvorum::server {

class LeaderStreams;
class Quarantine;
struct Reads;

class Health {
 public:
  Health(const Reads& reads, const Quarantine& quarantine, LeaderStreams& leader_streams)
      : reads_(reads), quarantine_(quarantine), leader_streams_(leader_streams) {}
  void AddRoutes(rpc::HttpMux& mux);

  // ---- for the metrics ----
  struct Check {
    std::string_view probe;
    std::string_view name;
    Counter passed{};
    Counter failed{};
    std::atomic<bool> is_known{false};  // it was run
    std::atomic<bool> last_passed{false};
  };
  std::span<const Check> checks() const { return checks_; }
  std::uint64_t successes() const { return successes_.value(); }
  std::uint64_t failures() const { return failures_.value(); }

 private:
  static constexpr std::string_view kSerializableRead = "serializable_read";
  static constexpr std::string_view kLinearizableRead = "linearizable_read";

  void ServeHealth(const rpc::HttpRequest& request, rpc::HttpReply reply);
  void ServeProbe(std::span<Check> checks, const rpc::HttpRequest& request, rpc::HttpReply reply);
  void Answer(rpc::HttpReply& reply, const std::string& reason);
  // All checks but that of a linearizable read, which waits for the cluster.
  Result<void> RunAtOnce(const Check& check) const;

  class OfLeader;

  const Reads& reads_;
  const Quarantine& quarantine_;
  LeaderStreams& leader_streams_;
  // In the order in which verbose answers list them.
  std::array<Check, 5> checks_{{{.probe = "livez", .name = kSerializableRead},
                                {.probe = "readyz", .name = "data_corruption"},
                                {.probe = "readyz", .name = kSerializableRead},
                                {.probe = "readyz", .name = kLinearizableRead},
                                {.probe = "readyz", .name = "non_learner"}}};
  Counter successes_;
  Counter failures_;
};

}  // namespace kvorum::server

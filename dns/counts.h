// Counts what a DNS server is asked and what it says, as metrics of sync/kernel/metrics.h.
//
// For one thread at a time. Cost: an array's place and an atomic add, and a cell of the metrics for
// each combination that has come.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "dns/message.h"
#include "sync/kernel/metrics.h"

namespace kvorum::dns {

class Counts {
 public:
  // Null: they are not exported. The metrics outlive the counts.
  explicit Counts(sync::Metrics* metrics) : metrics_(metrics) {}

  // A question's type, if the packet had a question, and its answer.
  void Answered(std::optional<std::uint16_t> type, Rcode rcode, bool is_truncated);
  // A question over UDP that was beyond its address's rate, and a connection beyond their number.
  void DroppedForRate() { Dropped(0, "rate"); }
  void DroppedForConnections() { Dropped(1, "connections"); }

 private:
  static constexpr std::size_t kTypes = 7;
  static constexpr std::size_t kRcodes = 7;
  void Dropped(std::size_t place, std::string_view reason);

  sync::Metrics* const metrics_;
  std::array<std::shared_ptr<Counter>, kTypes * kRcodes> answered_ = {};
  std::array<std::shared_ptr<Counter>, 2> dropped_ = {};
  std::shared_ptr<Counter> truncated_ = nullptr;
};

}  // namespace kvorum::dns

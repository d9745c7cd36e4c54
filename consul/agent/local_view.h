// The agent's own list at one moment, by the ids that the API shows.
//
// A value for one thread; pointers into it live as long as it does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "consul/model/records.h"
#include "sync/agent/syncer.h"

namespace kvorum::consul {

class LocalView {
 public:
  LocalView(const sync::Syncer& syncer, std::string node);

  // In the order of their encoded ids; what is being deregistered is left out.
  std::vector<ServiceRecord> Services() const;
  std::optional<ServiceRecord> Service(std::string_view id) const;
  std::vector<CheckRecord> NodeChecks() const;
  NodeRecord Node() const { return {.node = node_, .checks = NodeChecks()}; }

  const sync::Entry* Entry(std::string_view service_id) const;
  // The entry that has the check, of a service or of the node, and the check.
  struct Found {
    const sync::Entry* entry = nullptr;
    const sync::Check* check = nullptr;
  };
  std::optional<Found> Check(std::string_view id) const;

  // About what the list takes, deregistered entries too.
  std::size_t size_bytes() const;

  enum class Written : std::uint8_t { kNotYet, kYes, kDenied };
  // The entry is named by its encoded id; one that is not there any more has been removed.
  Written WrittenOf(std::string_view encoded_id) const;

 private:
  std::string node_;
  std::vector<sync::Registry::Listed> listed_;
};

}  // namespace kvorum::consul

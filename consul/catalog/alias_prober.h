// Checks that stand for others (the kind alias): critical if one of a service's checks or of its
// node's is, else warning if one is, else passing. The agent's own checks are those of its list; of
// other nodes those of the catalog, with serfHealth. All other kinds go to the prober behind.
//
// Thread-safe; a probe of an alias is answered within Begin. The list is taken anew when the one
// at hand is older than kAge, however many aliases there are. What the constructor takes outlives
// the prober, the catalog until SetCatalog(nullptr) has returned.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "consul/catalog/catalog_copy.h"
#include "consul/model/records.h"
#include "sync/agent/syncer.h"
#include "sync/checks/prober.h"

namespace kvorum::consul {

class AliasProber final : public sync::Prober {
 public:
  static constexpr Duration kAge = std::chrono::milliseconds(100);

  AliasProber(sync::Prober& others, const sync::Syncer& syncer, const Clock& clock,
              std::string node)
      : others_(others), syncer_(syncer), clock_(clock), node_(std::move(node)) {}

  void Begin(const sync::CheckDefinition& check, OnEnd on_end) override;
  // Null: aliases of what is on other nodes are critical.
  void SetCatalog(const CatalogCopy* catalog);

 private:
  // The checks that an alias looks at, in order, and whether the thing is there at all.
  struct Aliased {
    bool is_there = false;
    std::vector<CheckRecord> checks = {};
  };
  Aliased OwnChecks(const sync::CheckDefinition& alias, std::string_view service);
  std::optional<Aliased> ChecksOf(const std::string& node, const std::string& service) const;
  sync::ProbeResult ResultOf(const sync::CheckDefinition& alias);

  sync::Prober& others_;
  const sync::Syncer& syncer_;
  const Clock& clock_;
  const std::string node_;
  std::mutex mutex_;  // guards what follows
  const CatalogCopy* catalog_ = nullptr;
  TimePoint taken_{};  // when the list was
  std::vector<sync::Registry::Listed> list_;
};

}  // namespace kvorum::consul

#include "consul/catalog/alias_prober.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/letter_case.h"
#include "base/text/go_quote.h"
#include "consul/model/api_json.h"
#include "consul/model/ids.h"

namespace kvorum::consul {
namespace {

using sync::CheckKind;

// The first critical check decides, else the last that is a warning.
sync::ProbeResult WorstOf(const std::vector<CheckRecord>& checks) {
  sync::ProbeResult worst{.health = Health::kPassing,
                          .output = checks.empty() ? "No checks found." : "All checks passing."};
  for (const CheckRecord& check : checks) {
    if (check.health == Health::kPassing || worst.health == Health::kCritical) continue;
    worst = {.health = check.health,
             .output = "Aliased check " + GoQuote(check.name) + " failing: " + check.output};
  }
  worst.output = sync::CleanOutput(worst.output);
  return worst;
}

sync::ProbeResult NotFound(const std::string& node, const std::string& service) {
  return {.health = Health::kCritical,
          .output = sync::CleanOutput(service.empty() ? "Node " + node + " could not be found"
                                                      : "Service " + service +
                                                            " could not be found on node " + node)};
}

}  // namespace

void AliasProber::Begin(const sync::CheckDefinition& check, OnEnd on_end) {
  if (check.kind != CheckKind::kAlias) return others_.Begin(check, std::move(on_end));
  on_end(ResultOf(check));
}

void AliasProber::SetCatalog(const CatalogCopy* catalog) {
  const std::lock_guard lock(mutex_);
  catalog_ = catalog;
}

sync::ProbeResult AliasProber::ResultOf(const sync::CheckDefinition& alias) {
  const std::size_t slash = alias.target.find('/');
  const std::string node = DecodePart(alias.target.substr(0, slash));
  const std::string service = DecodePart(alias.target.substr(slash + 1));
  const std::lock_guard lock(mutex_);
  const bool is_own = node.empty() || EqualsInAnyCase(node, node_);
  const auto aliased = is_own ? OwnChecks(alias, service) : ChecksOf(node, service);
  if (!aliased.has_value())
    return {.output = "Failure checking aliased node or service: the catalog is not known"};
  if (!aliased->is_there) return NotFound(node, service);
  return WorstOf(aliased->checks);
}

// An alias does not stand for itself.
AliasProber::Aliased AliasProber::OwnChecks(const sync::CheckDefinition& alias,
                                            std::string_view service) {
  const TimePoint now = clock_.Now();
  if (list_.empty() || now - taken_ > kAge) {
    list_ = syncer_.List(sync::Registry::Which::kVisible);
    taken_ = now;
  }
  Aliased aliased{.is_there = service.empty()};
  std::vector<CheckRecord> of_service;
  for (const sync::Registry::Listed& listed : list_) {
    const bool is_of_node = listed.entry.kind == sync::EntryKind::kNode;
    const bool is_asked = !is_of_node && DecodePart(listed.entry.id) == service;
    if (!is_of_node && !is_asked) continue;
    aliased.is_there = aliased.is_there || is_asked;
    for (const sync::Check& check : listed.entry.checks) {
      if (check.definition == alias) continue;
      (is_of_node ? aliased.checks : of_service).push_back(RecordOf(check));
    }
  }
  std::ranges::move(of_service, std::back_inserter(aliased.checks));
  return aliased;
}

std::optional<AliasProber::Aliased> AliasProber::ChecksOf(const std::string& node,
                                                          const std::string& service) const {
  if (catalog_ == nullptr || !catalog_->is_listed()) return std::nullopt;
  Aliased aliased;
  const NodeView view = catalog_->Node(node);
  if (view.node == nullptr) return aliased;
  if (!view.node->is_external) aliased.checks.push_back(SerfHealth(view.is_alive));
  std::ranges::copy(view.node->checks, std::back_inserter(aliased.checks));
  const ServiceRef found = service.empty() ? nullptr : catalog_->Service(node, service);
  if (found != nullptr) std::ranges::copy(found->checks, std::back_inserter(aliased.checks));
  aliased.is_there = service.empty() || found != nullptr;
  return aliased;
}

}  // namespace kvorum::consul

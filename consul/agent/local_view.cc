#include "consul/agent/local_view.h"

#include <algorithm>
#include <utility>

#include "consul/model/ids.h"

namespace kvorum::consul {
namespace {

bool IsService(const sync::Registry::Listed& listed) {
  return !listed.deleted && listed.entry.kind == sync::EntryKind::kService;
}

}  // namespace

LocalView::LocalView(const sync::Syncer& syncer, std::string node)
    : node_(std::move(node)), listed_(syncer.List(sync::Registry::Which::kAll)) {}

std::vector<ServiceRecord> LocalView::Services() const {
  std::vector<ServiceRecord> services;
  for (const auto& listed : listed_) {
    if (IsService(listed)) services.push_back(RecordOf(node_, listed.entry));
  }
  return services;
}

std::optional<ServiceRecord> LocalView::Service(std::string_view id) const {
  const sync::Entry* const entry = Entry(id);
  if (entry == nullptr) return std::nullopt;
  return RecordOf(node_, *entry);
}

std::vector<CheckRecord> LocalView::NodeChecks() const {
  std::vector<CheckRecord> checks;
  for (const auto& listed : listed_) {
    if (listed.deleted || listed.entry.kind != sync::EntryKind::kNode) continue;
    for (const sync::Check& check : listed.entry.checks) checks.push_back(RecordOf(check));
  }
  return checks;
}

const sync::Entry* LocalView::Entry(std::string_view service_id) const {
  const auto found = std::ranges::find_if(listed_, [&](const sync::Registry::Listed& listed) {
    return IsService(listed) && DecodePart(listed.entry.id) == service_id;
  });
  return found == listed_.end() ? nullptr : &found->entry;
}

std::optional<LocalView::Found> LocalView::Check(std::string_view id) const {
  for (const auto& listed : listed_) {
    if (listed.deleted) continue;
    for (const sync::Check& check : listed.entry.checks) {
      if (DecodePart(check.definition.id) == id)
        return Found{.entry = &listed.entry, .check = &check};
    }
  }
  return std::nullopt;
}

std::size_t LocalView::size_bytes() const {
  constexpr std::size_t kEach = 1000;  // of an entry or a check, beside its texts
  std::size_t bytes = 0;
  for (const auto& listed : listed_) {
    bytes += kEach + listed.entry.value.size() + listed.entry.details.size();
    for (const sync::Check& check : listed.entry.checks) {
      const sync::CheckDefinition& definition = check.definition;
      bytes += kEach + definition.details.size() + definition.target.size() +
               definition.body.size() + check.output.size();
      for (const std::string& word : definition.command) bytes += word.size();
      for (const auto& [name, values] : definition.headers) {
        for (const std::string& value : values) bytes += name.size() + value.size();
      }
    }
  }
  return bytes;
}

LocalView::Written LocalView::WrittenOf(std::string_view encoded_id) const {
  const auto found = std::ranges::find_if(
      listed_, [&](const sync::Registry::Listed& listed) { return listed.entry.id == encoded_id; });
  if (found == listed_.end() || found->in_sync) return Written::kYes;
  return found->blocked ? Written::kDenied : Written::kNotYet;
}

}  // namespace kvorum::consul

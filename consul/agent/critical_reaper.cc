#include "consul/agent/critical_reaper.h"

#include <chrono>

namespace kvorum::consul {
namespace {

// The error allowed in the moment at which a check became critical.
constexpr Duration kInterval = std::chrono::seconds(5);

}  // namespace

CriticalReaper::CriticalReaper(const AgentParts& parts)
    : parts_(parts), loop_(parts.executor, [this](TimePoint now) { return Step(now); }) {
  loop_.Wake();
}

CriticalReaper::~CriticalReaper() { loop_.Stop(); }

TimePoint CriticalReaper::Step(TimePoint now) {
  if (now < next_) return next_;
  Look(now);
  next_ = now + kInterval;
  return next_;
}

void CriticalReaper::Look(TimePoint now) {
  std::map<Key, TimePoint> critical;
  bool has_reaped = false;
  for (const auto& listed : parts_.syncer.List(sync::Registry::Which::kVisible)) {
    if (listed.entry.kind != sync::EntryKind::kService) continue;
    bool is_due = false;
    for (const sync::Check& check : listed.entry.checks) {
      if (check.health != sync::Health::kCritical || check.definition.details.empty()) continue;
      const Duration after(RecordOf(check).deregister_after_ns);
      if (after <= Duration::zero()) continue;
      const Key key(listed.entry.id, check.definition.id);
      const auto known = critical_since_.find(key);
      const TimePoint since = known == critical_since_.end() ? now : known->second;
      critical.emplace(key, since);
      is_due = is_due || now - since >= after;
    }
    if (is_due && parts_.syncer.Deregister(listed.entry.id)) has_reaped = true;
  }
  critical_since_ = std::move(critical);
  if (has_reaped) parts_.checks.Refresh();
}

}  // namespace kvorum::consul

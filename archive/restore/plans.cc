#include "archive/restore/plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "archive/restore/listing.h"

namespace kvorum::archive {

raft::Index EndOf(const Plan& plan) {
  return plan.logs.empty() ? plan.base.index : plan.logs.back().last;
}

Result<Plan> Plans::Next() {
  if (!std::exchange(is_begun_, true)) KV_RETURN_IF_ERROR(CountWholeBases(store_, contents_));
  auto plan = MakePlan(contents_, history_, target_);
  if (!damage_) {
    if (plan.has_value()) first_ = *plan;
    return plan;
  }
  if (!plan.has_value())
    return Fail(Code::kDataLoss, damage_->message + "; without it " + plan.error().message);
  if (plan->history == first_->history && LeadsAsFar(*plan)) return plan;
  const LogName end = plan->logs.empty() ? LogName{} : plan->logs.back();
  return Fail(
      Code::kDataLoss,
      fmt::format("{}; without it history {} can be restored up to index {} only, which has "
                  "revision {}",
                  damage_->message, HistoryText(plan->history), EndOf(*plan).value(),
                  plan->logs.empty() ? plan->base.revision : end.revision));
}

// Without the damaged object MakePlan may take an earlier state for the latest.
bool Plans::LeadsAsFar(const Plan& plan) const {
  raft::Index first = EndOf(*first_);
  raft::Index now = EndOf(plan);
  if (plan.end) {
    first = std::min(first, *plan.end);
    now = std::min(now, *plan.end);
  }
  if (now >= first) return true;
  const auto* to = std::get_if<ToTime>(&target_);
  const bool is_past_time =
      to != nullptr && !plan.logs.empty() && plan.logs.back().time_ms > to->time_ms;
  const bool is_open = std::holds_alternative<ToLatest>(target_) || to != nullptr;
  return !is_open || is_past_time;
}

bool Plans::PassOver(const ObjectError& error) {
  const auto key = error.object.empty() ? std::nullopt : ParseKey(error.object);
  if (!key) return false;
  if (!damage_) damage_ = error.error;
  Forget(key->history, key->name);
  return true;
}

void Plans::Forget(HistoryId id, const ObjectName& name) {
  const auto history = contents_.histories.find(id);
  if (history == contents_.histories.end()) return;
  const auto forget_base = [&](const BaseName& base) {
    std::erase_if(history->second.bases, [&](const Base& each) { return each.name == base; });
  };
  if (const auto* log = std::get_if<LogName>(&name)) std::erase(history->second.logs, *log);
  if (const auto* part = std::get_if<PartName>(&name)) forget_base(part->base);
  if (const auto* manifest = std::get_if<ManifestName>(&name)) {
    // The parts tell what it would; the second time it is they that are to blame.
    if (!without_manifest_.insert(manifest->base).second) forget_base(manifest->base);
  }
}

BaseToRead Plans::BaseOf(const Plan& plan) const {
  return {.history = plan.history,
          .name = plan.base,
          .has_manifest = !without_manifest_.contains(plan.base)};
}

}  // namespace kvorum::archive

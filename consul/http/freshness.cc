#include "consul/http/freshness.h"

#include <algorithm>
#include <utility>

#include "base/key_range.h"

namespace kvorum::consul {
namespace {

constexpr std::chrono::seconds kLetInFor(10);
constexpr std::size_t kMaxLetIn = 256;

bool IsRefused(const Error& error) {
  return error.code == Code::kPermissionDenied || error.code == Code::kUnauthenticated;
}

}  // namespace

Freshness::Freshness(CatalogCopy& copy, StoreAccess& access, std::shared_ptr<Deadlines> deadlines,
                     std::string registry_prefix)
    : copy_(copy),
      access_(access),
      deadlines_(std::move(deadlines)),
      clock_(deadlines_->clock()),
      prefix_(std::move(registry_prefix)) {}

void Freshness::Stop() {
  gate_.Close();
  std::map<std::string, Group> dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(groups_);
}

void Freshness::Ask(const std::string& token, OnFresh on_fresh) {
  const sync::Gate::Visit visit(gate_);
  if (!visit.is_in()) return;
  {
    const std::lock_guard lock(mutex_);
    Group& group = groups_[token];
    group.next.push_back(std::move(on_fresh));
    if (std::exchange(group.is_asking, true)) return;
  }
  Send(token);
}

void Freshness::Refresh(const std::string& token) {
  const sync::Gate::Visit visit(gate_);
  if (!visit.is_in()) return;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(groups_[token].is_asking, true)) return;
  }
  Send(token);
}

void Freshness::Send(const std::string& token) {
  auto askers = std::make_shared<std::vector<OnFresh>>();
  {
    const std::lock_guard lock(mutex_);
    askers->swap(groups_[token].next);
  }
  const TimePoint asked = clock_.Now();
  // A restored store answers with less than what the copy had before the question.
  const std::int64_t had = copy_.revision();
  auto take = AnsweredInTime<std::int64_t>(
      deadlines_,
      [self = shared_from_this(), token, had, asked, askers](Result<std::int64_t> revision) {
        self->TakeAnswer(token, std::move(revision), had, asked, askers);
      });
  access_.StoreOf(token, [prefix = prefix_, take = std::move(take)](
                             Result<std::shared_ptr<sync::Store>> store) mutable {
    if (!store) return take(Fail(store.error()));
    sync::Store& asked_store = **store;
    asked_store.Range({.key = prefix, .end = PrefixEnd(prefix), .count_only = true},
                      [take = std::move(take),
                       held = *std::move(store)](Result<sync::RangeAnswer> answer) mutable {
                        if (!answer) return take(Fail(std::move(answer).error()));
                        take(answer->revision);
                      });
  });
}

void Freshness::TakeAnswer(const std::string& token, Result<std::int64_t> revision,
                           std::int64_t had, TimePoint asked, Askers askers) {
  const sync::Gate::Visit visit(gate_);
  if (!visit.is_in()) return;
  bool has_next = false;
  {
    const std::lock_guard lock(mutex_);
    const auto group = groups_.find(token);
    has_next = !group->second.next.empty();
    if (!has_next) groups_.erase(group);
  }
  if (has_next) Send(token);
  if (!revision) return Finish(token, Fail(std::move(revision).error()), asked, std::move(askers));
  if (*revision < had) copy_.StoreWentBack();
  copy_.WaitForRevision(*revision, clock_.Now() + kHoldTimeout,
                        [self = shared_from_this(), token, asked, askers](Result<void> reached) {
                          self->Finish(token, std::move(reached), asked, askers);
                        });
}

void Freshness::Finish(const std::string& token, Result<void> result, TimePoint asked,
                       Askers askers) {
  const sync::Gate::Visit visit(gate_);
  if (!visit.is_in()) return;
  const bool is_answered = result.has_value() || IsRefused(result.error());
  knows_leader_ = is_answered;
  if (result) {
    std::int64_t before = answered_ns_;
    while (before < asked.ns && !answered_ns_.compare_exchange_weak(before, asked.ns)) {
    }
  }
  Remember(token, result);
  for (OnFresh& on_fresh : *askers) on_fresh(result);
}

void Freshness::Remember(const std::string& token, const Result<void>& result) {
  if (token.empty()) return;
  const std::lock_guard lock(mutex_);
  const auto known = let_in_.find(token);
  if (result) {
    if (known == let_in_.end()) let_in_order_.push_back(token);
    let_in_[token] = clock_.Now();
    if (let_in_.size() <= kMaxLetIn) return;
    let_in_.erase(let_in_order_.front());
    let_in_order_.pop_front();
  } else if (known != let_in_.end() && IsRefused(result.error())) {
    let_in_.erase(known);
    let_in_order_.remove(token);
  }
}

bool Freshness::IsLetIn(const std::string& token) const {
  if (token.empty()) return true;
  const std::lock_guard lock(mutex_);
  const auto found = let_in_.find(token);
  return found != let_in_.end() && clock_.Now() - found->second < kLetInFor;
}

bool Freshness::WasLetIn(const std::string& token) const {
  if (token.empty()) return true;
  const std::lock_guard lock(mutex_);
  return let_in_.contains(token);
}

Duration Freshness::Age() const {
  const TimePoint last = std::max(copy_.last_news(), TimePoint{answered_ns_});
  return std::max(clock_.Now() - last, Duration::zero());
}

}  // namespace kvorum::consul

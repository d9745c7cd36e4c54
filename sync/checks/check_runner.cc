#include "sync/checks/check_runner.h"

#include <algorithm>

namespace kvorum::sync {

CheckRunner::CheckRunner(Executor& executor, Prober& prober, Syncer& syncer, std::uint64_t seed)
    : executor_(executor),
      prober_(prober),
      syncer_(syncer),
      rng_(seed == 0 ? EntropySeed() : seed),
      loop_(executor, [this](TimePoint now) { return Step(now); }),
      changed_([this] { loop_.Wake(); }) {}

CheckRunner::~CheckRunner() { Stop(); }

Result<void> CheckRunner::Report(const std::string& id, const std::string& check, Health health,
                                 std::string_view output) {
  if (IsProbed(id, check)) {
    return Fail(Code::kInvalidArgument,
                std::string("check ").append(check) + " of entry " + id + " is probed");
  }
  KV_RETURN_IF_ERROR(syncer_.ReportCheck(id, check, health, output));
  loop_.Post([this, key = Key(id, check), health, output = CleanOutput(output)] {
    const auto found = checks_.find(key);
    if (found != checks_.end())
      found->second.machine.Reported(health, executor_.clock().Now(), output);
  });
  return {};
}

bool CheckRunner::IsProbed(const std::string& id, const std::string& check) const {
  const auto list = syncer_.List(Registry::Which::kVisible);
  return std::ranges::any_of(list, [&](const Registry::Listed& listed) {
    return listed.entry.id == id && std::ranges::any_of(listed.entry.checks, [&](const Check& c) {
             return c.definition.id == check && c.definition.kind != CheckKind::kTtl;
           });
  });
}

TimePoint CheckRunner::Step(TimePoint now) {
  if (changed_.Take()) TakeEntries();
  TimePoint due = kNever;
  for (auto& [key, running] : checks_) {
    StepCheck(key, running, now);
    due = std::min(due, running.machine.due());
  }
  return due;
}

// A check whose definition is the same goes on as it was.
void CheckRunner::TakeEntries() {
  std::map<Key, Running> checks;
  for (const auto& listed : syncer_.List(Registry::Which::kVisible)) {
    for (const Check& check : listed.entry.checks) {
      const Key key(listed.entry.id, check.definition.id);
      const auto old = checks_.find(key);
      if (old != checks_.end() && old->second.machine.definition() == check.definition) {
        checks.emplace(key, std::move(old->second));
      } else {
        checks.emplace(key,
                       Running{CheckMachine(check, executor_.clock(), rng_), ++last_generation_});
      }
    }
  }
  checks_ = std::move(checks);
}

void CheckRunner::StepCheck(const Key& key, Running& running, TimePoint now) {
  if (const auto expired = running.machine.TakeExpired(now)) Tell(key, *expired);
  if (!running.machine.TakeProbe(now)) return;
  prober_.Begin(
      running.machine.definition(),
      [this, loop = loop_.handle(), key, generation = running.generation](ProbeResult result) {
        loop.Post([this, key, generation, result = std::move(result)]() mutable {
          const auto found = checks_.find(key);
          if (found == checks_.end() || found->second.generation != generation) return;
          Tell(key, found->second.machine.ProbeEnded(std::move(result), executor_.clock().Now()));
        });
      });
}

// The result of an entry that has gone meanwhile is dropped.
void CheckRunner::Tell(const Key& key, const ProbeResult& says) {
  (void)syncer_.UpdateCheck(key.first, key.second, says.health, says.output);
}

}  // namespace kvorum::sync

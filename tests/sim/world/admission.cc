#include "tests/sim/world/admission.h"

#include "server/peer/io/incarnation.h"

namespace kvorum::sim {
namespace {

using server::IncarnationGuard;
using std::chrono::milliseconds;

constexpr Duration kDialing = milliseconds(200);
constexpr Duration kAnswering = milliseconds(2);

}  // namespace

void Admission::Start() {
  if (!world_.has_replaced_disks) return;
  for (std::size_t reader = 0; reader < machines_.size(); ++reader) {
    for (std::size_t writer = 0; writer < machines_.size(); ++writer) {
      const bool reach = reaches_(reader, writer) && reaches_(writer, reader);
      if (reader != writer && reach && !Stands(writer, reader)) Dial(reader, writer);
    }
  }
  world_.scheduler.After(kDialing, [this] { Start(); });
}

bool Admission::Stands(std::size_t writer, std::size_t reader) const {
  const auto stream = streams_.find({writer, reader});
  const Lives now{.writer = machines_[writer]->life(), .reader = machines_[reader]->life()};
  return stream != streams_.end() && stream->second == now && machines_[writer]->up();
}

void Admission::Dial(std::size_t reader, std::size_t writer) {
  Machine& called = *machines_[writer];
  Machine& caller = *machines_[reader];
  if (!called.up() || !caller.up()) return;
  IncarnationGuard& judge = caller.local_member().incarnations();
  if (!AdmitsCaller(writer, reader, judge.Own())) return;
  if (!judge.Admits(called.member_id(), called.local_member().incarnations().Own(),
                    IncarnationGuard::Told::kByItsUrl))
    return world_.Note("{} does not read from {}", caller.name(), called.name());
  streams_[{writer, reader}] = {.writer = called.life(), .reader = caller.life()};
}

bool Admission::AdmitsCaller(std::size_t at, std::size_t caller, const std::string& incarnation) {
  using Told = IncarnationGuard::Told;
  IncarnationGuard& judge = machines_[at]->local_member().incarnations();
  const bool has_certificate = world_.options.seed % 2 == 0;
  if (judge.Admits(machines_[caller]->member_id(), incarnation,
                   has_certificate ? Told::kByItsUrl : Told::kByACaller))
    return true;
  world_.Note("{} does not hear {}", machines_[at]->name(), machines_[caller]->name());
  world_.scheduler.After(kAnswering, [this, at, caller, life = machines_[caller]->life(),
                                      by = machines_[at]->member_id(), own = judge.Own()] {
    const Machine& machine = *machines_[caller];
    if (!machine.up() || machine.life() != life || !reaches_(at, caller)) return;
    world_.faults.Add(Fault::kLossTold);
    machines_[caller]->local_member().incarnations().ToldOfLoss(by, own);
  });
  return false;
}

Admission::Way Admission::WayOf(std::size_t from, std::size_t to) const {
  if (!world_.has_replaced_disks || world_.has_posts || !Stands(from, to)) return PostOf(from, to);
  return {.from_life = machines_[from]->life(),
          .to_life = machines_[to]->life(),
          .is_stream = true,
          .incarnation = {}};
}

Admission::Way Admission::PostOf(std::size_t from, std::size_t to) const {
  if (!world_.has_replaced_disks) return {};
  return {.from_life = machines_[from]->life(),
          .to_life = machines_[to]->life(),
          .is_stream = false,
          .incarnation = machines_[from]->local_member().incarnations().Own()};
}

bool Admission::Hears(std::size_t from, std::size_t to, const Way& way) {
  if (!world_.has_replaced_disks) return true;
  if (machines_[to]->life() != way.to_life) return false;
  if (way.is_stream) return true;
  // Its process may have ended meanwhile, and another one be there.
  return machines_[from]->life() == way.from_life && AdmitsCaller(to, from, way.incarnation);
}

}  // namespace kvorum::sim

// A simulated program that holds a copy of a prefix: an informer with an index and a listener, and
// beside it a plain source of the same prefix. All that they hold and tell is compared with what
// the members have published.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sync/informer/informer.h"
#include "sync/informer/source.h"
#include "tests/sim/judges/event_history.h"
#include "tests/sim/judges/followed.h"
#include "tests/sim/judges/state_replay.h"
#include "tests/sim/judges/told.h"
#include "tests/sim/program.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Cache {
 public:
  Cache(World& world, std::vector<std::unique_ptr<Machine>>& machines, const EventHistory& events,
        ProgramUser& user, std::string name, std::string prefix);
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // Its copy, its index and one of its snapshots are what was published.
  void Check();
  // Asks for a key as it is now: what it gets must not be older than what is published.
  void AskConsistent();
  void PauseUntil(TimePoint until) { program_.PauseUntil(until); }

  // For the end: asks for progress until the copy is at this revision.
  void Reach(std::int64_t revision);
  // The copy is that of the newest revision, and the listener knows all of it.
  bool IsAtEnd();
  std::string Describe() const;

 private:
  using Informer = sync::Informer<sync::BytesCodec>;

  Informer::Options MakeInformerOptions();
  sync::SourceOptions MakeSourceOptions();
  void Listen();
  void CheckIndex();
  void CheckSnapshot();
  void OnGot(std::int64_t asked_at, const std::string& key, const Result<sync::ObjectRef>& got);

  World& world_;
  const EventHistory& events_;
  const std::string name_;
  const std::string prefix_;
  Program program_;
  Told told_;
  StateReplay replay_;  // up to the copy's revision
  Followed followed_;
  std::shared_ptr<bool> lives_ = std::make_shared<bool>(true);  // for answers that come too late
  Informer informer_;
  sync::Source source_;
};

}  // namespace kvorum::sim

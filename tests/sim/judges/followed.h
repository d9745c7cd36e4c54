// The sink of a source, and the judge of its input: lists that are the state at their
// revision, and then every revision of the prefix, whole, in order, once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sync/informer/source.h"
#include "tests/sim/judges/event_history.h"
#include "tests/sim/judges/state_replay.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Followed final : public sync::SourceSink {
 public:
  Followed(World& world, const EventHistory& events, std::string name, std::string prefix)
      : world_(world), events_(events), name_(std::move(name)), replay_(events, prefix) {}

  void OnListBegin(std::int64_t revision) override;
  void OnListPage(std::vector<sync::KeyValue> kvs) override;
  void OnListEnd() override;
  void OnRevision(std::int64_t revision, std::vector<sync::Event> events) override;
  void OnProgress(std::int64_t revision) override;
  void OnError(const Error& error) override;

 private:
  // True if the members have published the revision, and it is not before the last.
  bool Reaches(std::int64_t revision);
  void Same(const sync::Event& told, const PublishedEvent& owed);

  World& world_;
  const EventHistory& events_;
  const std::string name_;
  StateReplay replay_;  // up to where it has received changes
  std::uint64_t lists_ = 0;
  std::int64_t list_revision_ = 0;
  std::map<std::string, sync::KeyValue> listed_;
};

}  // namespace kvorum::sim

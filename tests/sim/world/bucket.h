// The bucket that the archives of all machines share, with what a network before it does: calls
// that never arrive, answers that are lost, outages, and writes that take effect long after their
// caller has given up, when it may no longer lead.
//
// Its choices come from a separate generator, so that runs without an archive stay the same.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "archive/store/object_store.h"
#include "base/clock.h"
#include "base/rng.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Bucket {
 public:
  explicit Bucket(World& world);
  Bucket(const Bucket&) = delete;
  Bucket& operator=(const Bucket&) = delete;

  // A process's way to it, which must not outlive it.
  std::unique_ptr<archive::ObjectStore> Open();
  // From then on no call fails; the writes that are under way still arrive.
  void EndFaults() { is_faulty_ = false; }
  bool has_late_writes() const { return late_writes_ > 0; }
  const std::map<std::string, std::string>& objects() const { return objects_; }
  // Removes an object, as nothing but a flaw would.
  void Lose(const std::string& key) { objects_.erase(key); }

 private:
  class Store;
  // The outcome of a call.
  enum class Fate : std::uint8_t { kAnswered, kNeverArrives, kAnswerLost, kArrivesLate };

  Fate Decide(bool is_write);
  archive::StoreResult<void> Write(const std::string& key, std::string_view bytes, bool if_absent);
  void WriteLater(std::string key, std::string bytes, bool if_absent);

  World& world_;
  Rng rng_;
  bool is_faulty_ = true;
  TimePoint out_until_{};
  std::uint64_t late_writes_ = 0;
  std::map<std::string, std::string> objects_;
};

}  // namespace kvorum::sim

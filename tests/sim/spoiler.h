// Spoils one record in the database of one member at a time, while its process is down, and sees to
// it that the member is found out, kept from serving and, once it was re-seeded, serves again. No
// other member may be kept from serving.
//
// Fault model: the record is of a separate key that is not read, since answers between the spoiling
// and its discovery may be wrong with any check. And runs with spoiled records have no faults that
// make leaders send their databases by themselves: one that is wrong and not found out yet would
// spread what is wrong to a majority. Processes are killed all the time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tests/disk/memory_backend.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

// Before all keys that others use.
inline constexpr std::string_view kSpoiledKey = "aside";

class Spoiler {
 public:
  // `ended` is called for each machine whose process was killed.
  Spoiler(World& world, std::vector<std::unique_ptr<Machine>>& machines,
          std::function<void(Machine&)> ended);

  // Does nothing in runs without spoiled records.
  void Start();
  // Spoils nothing more; what was spoiled is mended still.
  void Stop() { stopped_ = true; }
  bool IsQuiet() const { return !victim_.has_value(); }
  // After a task of a machine's check. In every run.
  void AfterCheck(Machine& machine);

  std::uint64_t found() const { return found_; }
  std::uint64_t mended() const { return mended_; }

 private:
  struct Victim {
    std::size_t machine = 0;
    TimePoint since{};
    bool is_found = false;
  };

  void PutRecord();
  void SpoilNow();
  void KillSomebody();
  void Tend();
  void FailUnfound(const Machine& victim);
  void Reseed(Machine& machine);
  bool HasRecord(Machine& machine);

  World& world_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  std::function<void(Machine&)> ended_;
  bool stopped_ = false;
  std::int64_t put_at_ = 0;  // the record's revision; 0: not there yet
  std::optional<Victim> victim_;
  std::uint64_t found_ = 0;
  std::uint64_t mended_ = 0;
};

}  // namespace kvorum::sim

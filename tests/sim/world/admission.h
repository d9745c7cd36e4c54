// Admission in runs that replace disks. Members dial each other and tell their incarnations, as
// server/peer does it (docs/decisions/0053-members-that-lost-data.md): a member that
// has lost data without knowing it is not heard, and learns why. In all other runs all are heard.
//
// A stream is opened by its reader, who is judged as a caller; the answer is that of the writer's
// own URL. Without a stream a message is a post, whose sender is a caller. In half of the runs
// callers show certificates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Admission {
 public:
  // A message's, from one process to another.
  struct Way {
    std::uint64_t from_life = 0;
    std::uint64_t to_life = 0;
    bool is_stream = false;
    std::string incarnation;  // of a post's sender
  };

  // `machines` grows until the run begins. `reaches` is true where no link is cut.
  Admission(World& world, const std::vector<Machine*>& machines,
            std::function<bool(std::size_t from, std::size_t to)> reaches)
      : world_(world), machines_(machines), reaches_(std::move(reaches)) {}

  // Members dial each other from now on, again and again.
  void Start();
  // When a message is sent: by the stream that stands, if there is one.
  Way WayOf(std::size_t from, std::size_t to) const;
  Way PostOf(std::size_t from, std::size_t to) const;
  // When it arrives. Nothing arrives at another process than that to which its connection led.
  bool Hears(std::size_t from, std::size_t to, const Way& way);

 private:
  struct Lives {
    std::uint64_t writer = 0;
    std::uint64_t reader = 0;
    friend bool operator==(const Lives&, const Lives&) = default;
  };

  bool Stands(std::size_t writer, std::size_t reader) const;
  void Dial(std::size_t reader, std::size_t writer);
  bool AdmitsCaller(std::size_t at, std::size_t caller, const std::string& incarnation);

  World& world_;
  const std::vector<Machine*>& machines_;
  const std::function<bool(std::size_t from, std::size_t to)> reaches_;
  std::map<std::pair<std::size_t, std::size_t>, Lives> streams_;  // by writer and reader
};

}  // namespace kvorum::sim

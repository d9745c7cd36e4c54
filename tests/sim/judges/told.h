// Remembers the notifications of an informer's handler and judges them: each key's values come in
// the order of their revisions, an add for a key that it did not have, the last delivered value as
// the previous one.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "sync/store/object_map.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Told {
 public:
  Told(World& world, std::string name) : world_(world), name_(std::move(name)) {}

  void OnAdd(const sync::Object& added);
  void OnUpdate(const sync::Object& before, const sync::Object& after);
  void OnDelete(const sync::Object& last);

  // It has received just these.
  bool Is(const sync::ObjectMap& objects) const;

 private:
  struct Key {
    std::int64_t mod = 0;
    bool is_there = false;
  };
  void Take(const sync::Object& object, bool is_there);

  World& world_;
  const std::string name_;
  std::map<std::string, Key, std::less<>> keys_;
};

}  // namespace kvorum::sim

#include "tests/sim/judges/told.h"

namespace kvorum::sim {

void Told::Take(const sync::Object& object, bool is_there) {
  Key& key = keys_[std::string(object.key())];
  if (object.mod_revision() < key.mod) {
    world_.Fail("{} is told of {} of revision {} after revision {}", name_, object.key(),
                object.mod_revision(), key.mod);
  }
  key = {.mod = object.mod_revision(), .is_there = is_there};
}

void Told::OnAdd(const sync::Object& added) {
  const auto known = keys_.find(added.key());
  if (known != keys_.end() && (known->second.is_there || known->second.mod == added.mod_revision()))
    return world_.Fail("{} is told of {} as new, and knows it", name_, added.key());
  Take(added, true);
}

void Told::OnUpdate(const sync::Object& before, const sync::Object& after) {
  const auto known = keys_.find(before.key());
  if (known == keys_.end() || !known->second.is_there ||
      known->second.mod != before.mod_revision()) {
    return world_.Fail("{} is told of a change of {} from revision {}, which it does not know",
                       name_, before.key(), before.mod_revision());
  }
  Take(after, true);
}

void Told::OnDelete(const sync::Object& last) {
  const auto known = keys_.find(last.key());
  if (known == keys_.end() || !known->second.is_there)
    return world_.Fail("{} is told of the end of {}, which it does not know", name_, last.key());
  Take(last, false);
}

bool Told::Is(const sync::ObjectMap& objects) const {
  std::size_t there = 0;
  for (const auto& [key, told] : keys_) {
    if (!told.is_there) continue;
    ++there;
    const sync::ObjectRef object = objects.Find(key);
    if (!object || object->mod_revision() != told.mod) return false;
  }
  return there == objects.size();
}

}  // namespace kvorum::sim

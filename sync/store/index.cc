#include "sync/store/index.h"

#include <utility>

namespace kvorum::sync {

IndexedChange IndexValuesOf(const IndexFunction& function, const Change& change) {
  IndexedChange values;
  if (change.before) values.before = function(*change.before);
  if (change.after) values.after = function(*change.after);
  return values;
}

std::vector<std::vector<IndexedChange>> IndexValuesOf(const IndexFunctions& functions,
                                                      std::span<const Change> changes) {
  std::vector<std::vector<IndexedChange>> values;
  for (const auto& [name, function] : functions) {
    auto& of_index = values.emplace_back();
    for (const Change& change : changes) of_index.push_back(IndexValuesOf(function, change));
  }
  return values;
}

void Index::Update(const Change& change, IndexedChange&& values) {
  for (const std::string& value : values.before) {
    const auto found = objects_.find(value);
    if (found == objects_.end()) continue;  // the function named the value twice
    found->second.erase(change.before);
    if (found->second.empty()) objects_.erase(found);
  }
  for (std::string& value : values.after) objects_[std::move(value)].insert(change.after);
}

std::vector<ObjectRef> Index::Find(std::string_view value) const {
  const auto found = objects_.find(value);
  if (found == objects_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

std::vector<std::string> Index::Values() const {
  std::vector<std::string> values;
  for (const auto& [value, objects] : objects_) values.push_back(value);
  return values;
}

}  // namespace kvorum::sync

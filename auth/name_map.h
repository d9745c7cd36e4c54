// An immutable map from names to values; a change makes a new map, which shares all values and all
// unchanged parts with the old one. T has a name().
//
// A change copies the pointers of one part of 64: with 100,000 names about 1,600 of them. Find: one
// hash, then a binary search of the part. Plain values: readers of a copy need no lock.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kvorum::auth {

template <class T>
class NameMap {
 public:
  using Value = std::shared_ptr<const T>;

  const T* Find(std::string_view name) const {
    const Value* value = FindShared(name);
    return value == nullptr ? nullptr : value->get();
  }
  // nullptr if there is none; valid as long as this map.
  const Value* FindShared(std::string_view name) const {
    const auto& part = parts_[PartOf(name)];
    if (part == nullptr) return nullptr;
    const auto it = Lower(*part, name);
    return it == part->end() || (*it)->name() != name ? nullptr : &*it;
  }
  std::size_t size() const { return size_; }

  // Adds the value, or replaces the one of its name.
  void Set(Value value) { Change(PartOf(value->name()), {&value, 1}); }
  // The same for several of different names: each part is copied once.
  void SetAll(std::vector<Value> values) {
    std::ranges::sort(values, {}, [](const Value& v) { return PartOf(v->name()); });
    for (std::size_t i = 0; i < values.size();) {
      const std::size_t part = PartOf(values[i]->name());
      std::size_t end = i + 1;
      while (end < values.size() && PartOf(values[end]->name()) == part) ++end;
      Change(part, {&values[i], end - i});
      i = end;
    }
  }
  // Removes a name that must exist.
  void Remove(std::string_view name) {
    auto& part = parts_[PartOf(name)];
    auto changed = std::make_shared<Part>(*part);
    changed->erase(Lower(*changed, name));
    part = std::move(changed);
    --size_;
  }

  // In no order.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& part : parts_)
      if (part != nullptr)
        for (const Value& value : *part) visit(*value);
  }
  std::vector<std::string> SortedNames() const {
    std::vector<std::string> names;
    names.reserve(size_);
    ForEach([&](const T& value) { names.push_back(value.name()); });
    std::ranges::sort(names);
    return names;
  }

 private:
  static constexpr std::size_t kParts = 64;
  using Part = std::vector<Value>;  // sorted by name

  static std::size_t PartOf(std::string_view name) {
    return std::hash<std::string_view>{}(name) % kParts;
  }
  static auto Lower(const Part& part, std::string_view name) {
    return std::ranges::lower_bound(part, name, {},
                                    [](const Value& v) -> std::string_view { return v->name(); });
  }
  void Change(std::size_t index, std::span<const Value> values) {
    auto& part = parts_[index];
    auto changed = part == nullptr ? std::make_shared<Part>() : std::make_shared<Part>(*part);
    for (const Value& value : values) {
      const auto it = changed->begin() + (Lower(*changed, value->name()) - changed->cbegin());
      if (it != changed->end() && (*it)->name() == value->name()) {
        *it = value;
      } else {
        changed->insert(it, value);
        ++size_;
      }
    }
    part = std::move(changed);
  }

  std::array<std::shared_ptr<const Part>, kParts> parts_;
  std::size_t size_ = 0;
};

}  // namespace kvorum::auth

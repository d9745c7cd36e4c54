// Values by prefix, found by a key that begins with them.
//
// Cost: a look-up is O(log n) for each prefix that it finds, and for each place where a key that
// was found instead parts from the one looked for, of which there are at most as many as the key
// has bytes. For one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace kvorum::consul {

template <class T>
class PrefixTable {
 public:
  using Map = std::map<std::string, T, std::less<>>;

  T& operator[](const std::string& prefix) { return map_.try_emplace(prefix).first->second; }
  void Erase(std::string_view prefix) {
    if (const auto found = map_.find(prefix); found != map_.end()) map_.erase(found);
  }
  T* Find(std::string_view prefix) {
    const auto found = map_.find(prefix);
    return found == map_.end() ? nullptr : &found->second;
  }
  bool empty() const { return map_.empty(); }

  // All entries whose prefix the key begins with, the longest first.
  template <class Visit>
  void VisitPrefixesOf(std::string_view key, Visit visit) {
    std::string_view rest = key;
    while (true) {
      // The greatest entry that is not behind the rest: its longest prefix, if it has one as long
      // as what the two have in common.
      auto at = map_.upper_bound(rest);
      if (at == map_.begin()) return;
      --at;
      const std::size_t common =
          static_cast<std::size_t>(std::ranges::mismatch(at->first, rest).in1 - at->first.begin());
      if (common < at->first.size()) {
        rest = rest.substr(0, common);
        continue;
      }
      visit(at->second);
      if (common == 0) return;
      rest = rest.substr(0, common - 1);
    }
  }

  template <class Visit>
  void VisitAll(Visit visit) {
    for (auto& [prefix, value] : map_) visit(value);
  }

 private:
  Map map_;
};

}  // namespace kvorum::consul

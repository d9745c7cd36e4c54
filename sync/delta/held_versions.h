// The versions that a subscriber is taken to hold of one type. While they are a snapshot's, as
// after each complete response, they cost a pointer; otherwise an entry for each name that differs
// from one.
//
// For one executor.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sync/informer/snapshot.h"

namespace kvorum::sync {

// The version of a resource that the subscriber has in no version that we could know.
inline constexpr ContentHash kUnknownVersion{};

class HeldVersions {
 public:
  using Changes = std::map<std::string, std::optional<ContentHash>>;  // none: it holds no such name

  // Returns nothing if it holds no such name.
  std::optional<ContentHash> Of(const std::string& name) const;
  void Set(const std::string& name, std::optional<ContentHash> version);
  void Set(const Changes& changes);
  // It holds exactly this.
  void Become(TypeSnapshotPtr snapshot);
  bool is(const TypeSnapshotPtr& snapshot) const { return base_ == snapshot && changes_.empty(); }
  // Calls `visit` with each name that it holds and the version.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    if (base_ != nullptr) {
      for (const auto& [name, item] : base_->items) {
        if (!changes_.contains(name)) visit(name, item.version);
      }
    }
    for (const auto& [name, version] : changes_) {
      if (version) visit(name, *version);
    }
  }

 private:
  TypeSnapshotPtr base_;
  Changes changes_;  // relative to the base
};

}  // namespace kvorum::sync

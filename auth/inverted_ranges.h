// Decides about requests for ranges that end before they begin. Such a range names no key, and yet
// a transaction with one is applied by members that admit it and refused by the others. All must
// answer alike, members of etcd too, whose answer depends on how their tree of permissions has
// grown. So this is that tree (a red-black tree of intervals, as in Cormen et al., chapters 13 and
// 14.3), grown the same way.
//
// Immutable once made; holds copies of the ranges. Making one costs O(n log n), a check O(n).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "auth/permission.h"

namespace kvorum::auth {

constexpr bool IsInverted(std::string_view key, std::string_view range_end) {
  return !range_end.empty() && !IsOpenEnd(range_end) && range_end < key;
}

class InvertedRanges {
 public:
  // `permissions` are in the order of the user's roles and of the permissions in each.
  explicit InvertedRanges(std::span<const Permission* const> permissions);

  // Only for ranges with IsInverted.
  bool MayRead(std::string_view key, std::string_view range_end) const {
    return read_.Reaches(key, range_end);
  }
  bool MayWrite(std::string_view key, std::string_view range_end) const {
    return write_.Reaches(key, range_end);
  }

 private:
  class Tree {
   public:
    void Insert(const Permission& permission);
    // True if the search for [key, range_end) meets a range that contains the key.
    bool Reaches(std::string_view key, std::string_view range_end) const;

   private:
    using Index = std::int32_t;
    static constexpr Index kNone = -1;

    struct Node {
      std::string begin;
      std::string end;    // exclusive; empty: no end
      Index highest = 0;  // the node of the subtree whose end is last
      Index parent = kNone;
      Index left = kNone;
      Index right = kNone;
      bool is_red = true;
    };

    Node& At(Index index) { return nodes_[static_cast<std::size_t>(index)]; }
    const Node& At(Index index) const { return nodes_[static_cast<std::size_t>(index)]; }
    bool IsRed(Index index) const { return index != kNone && At(index).is_red; }
    // The child on that side.
    Index& Child(Index index, bool on_left) { return on_left ? At(index).left : At(index).right; }
    std::string_view HighestEnd(Index index) const { return At(At(index).highest).end; }
    void RaiseHighest(Index from);
    void Replace(Index old_child, Index new_child);
    void Rotate(Index index, bool to_left);
    void Balance(Index inserted);
    bool ReachesBelow(Index index, std::string_view key, std::string_view range_end) const;

    std::vector<Node> nodes_;
    Index root_ = kNone;
  };

  Tree read_;
  Tree write_;
};

}  // namespace kvorum::auth

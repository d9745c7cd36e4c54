// Values under half-open intervals of keys, found by a key within them: a treap ordered by begin
// and end, each node of which knows the furthest end in its subtree (an interval tree).
//
// Not thread-safe. Pointers to values stay valid until they are erased. Insert and Erase cost O(log
// n) expected, Stab O(log n) per value found. The seed keeps an adversary from choosing intervals
// that make the tree high.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "base/key_range.h"
#include "base/rng.h"

namespace kvorum::watch {

// Value has a function `KeyRange range() const` that returns a range, not a single key, whose bytes
// live as long as the value.
template <class Value>
class IntervalMap {
 public:
  explicit IntervalMap(std::uint64_t seed) : rng_(seed) {}

  // Null if there is no value under exactly this interval.
  Value* Find(const KeyRange& range) const {
    const Node* node = root_.get();
    while (node != nullptr) {
      const auto order = Compare(range, node->value->range());
      if (order == 0) return node->value.get();
      node = order < 0 ? node->left.get() : node->right.get();
    }
    return nullptr;
  }
  // The interval must not be in the map yet.
  void Insert(std::unique_ptr<Value> value) {
    auto node = std::make_unique<Node>();
    node->value = std::move(value);
    node->priority = rng_();
    node->Update();
    InsertInto(root_, std::move(node));
    ++size_;
  }
  // The interval must be in the map.
  void Erase(const KeyRange& range) {
    EraseFrom(root_, range);
    --size_;
  }
  // Calls visit(Value&) for each interval that the key lies in. The map must not be changed there.
  template <class Visit>
  void Stab(std::string_view key, Visit&& visit) const {
    StabIn(root_.get(), key, visit);
  }
  template <class Visit>
  void ForEach(Visit&& visit) const {
    VisitAll(root_.get(), visit);
  }
  std::size_t size() const { return size_; }

  // Checks order, heap property and furthest ends. O(n), for tests.
  bool Holds() const { return HoldsIn(root_.get()); }

 private:
  struct Node {
    std::unique_ptr<Value> value;
    std::uint64_t priority = 0;
    std::unique_ptr<Node> left;
    std::unique_ptr<Node> right;
    const Node* furthest = nullptr;  // the node in this subtree whose interval ends last

    void Update() {
      furthest = this;
      for (const Node* child : {left.get(), right.get()}) {
        if (child != nullptr &&
            EndsBefore(furthest->value->range(), child->furthest->value->range()))
          furthest = child->furthest;
      }
    }
  };

  static bool EndsBefore(const KeyRange& a, const KeyRange& b) {
    if (a.open() || b.open()) return !a.open();
    return a.end() < b.end();
  }
  static std::strong_ordering Compare(const KeyRange& a, const KeyRange& b) {
    if (const auto order = a.begin() <=> b.begin(); order != 0) return order;
    if (a.open() || b.open()) return a.open() <=> b.open();
    return a.end() <=> b.end();
  }

  // Joins two trees; all keys of the first are smaller.
  static std::unique_ptr<Node> Join(std::unique_ptr<Node> left, std::unique_ptr<Node> right) {
    if (left == nullptr) return right;
    if (right == nullptr) return left;
    if (left->priority > right->priority) {
      left->right = Join(std::move(left->right), std::move(right));
      left->Update();
      return left;
    }
    right->left = Join(std::move(left), std::move(right->left));
    right->Update();
    return right;
  }

  // Splits a tree into the parts before and after the range.
  static void Split(std::unique_ptr<Node> node, const KeyRange& range,
                    std::unique_ptr<Node>& before, std::unique_ptr<Node>& after) {
    if (node == nullptr) {
      before = nullptr;
      after = nullptr;
    } else if (Compare(range, node->value->range()) < 0) {
      std::unique_ptr<Node> left = std::move(node->left);
      Split(std::move(left), range, before, node->left);
      node->Update();
      after = std::move(node);
    } else {
      std::unique_ptr<Node> right = std::move(node->right);
      Split(std::move(right), range, node->right, after);
      node->Update();
      before = std::move(node);
    }
  }

  static void InsertInto(std::unique_ptr<Node>& at, std::unique_ptr<Node> node) {
    if (at == nullptr || node->priority > at->priority) {
      std::unique_ptr<Node> tree = std::move(at);
      Split(std::move(tree), node->value->range(), node->left, node->right);
      node->Update();
      at = std::move(node);
      return;
    }
    const bool is_left = Compare(node->value->range(), at->value->range()) < 0;
    InsertInto(is_left ? at->left : at->right, std::move(node));
    at->Update();
  }

  static void EraseFrom(std::unique_ptr<Node>& at, const KeyRange& range) {
    const auto order = Compare(range, at->value->range());
    if (order == 0) {
      at = Join(std::move(at->left), std::move(at->right));
      return;
    }
    EraseFrom(order < 0 ? at->left : at->right, range);
    at->Update();
  }

  template <class Visit>
  static void StabIn(const Node* node, std::string_view key, Visit& visit) {
    while (node != nullptr && node->furthest->value->range().BeforeEnd(key)) {
      StabIn(node->left.get(), key, visit);
      const KeyRange range = node->value->range();
      if (key < range.begin()) return;
      if (range.BeforeEnd(key)) visit(*node->value);
      node = node->right.get();
    }
  }

  template <class Visit>
  static void VisitAll(const Node* node, Visit& visit) {
    for (; node != nullptr; node = node->right.get()) {
      VisitAll(node->left.get(), visit);
      visit(*node->value);
    }
  }

  static bool HoldsIn(const Node* node) {
    if (node == nullptr) return true;
    for (const Node* child : {node->left.get(), node->right.get()}) {
      if (child == nullptr) continue;
      if (child->priority > node->priority || !HoldsIn(child)) return false;
      if (EndsBefore(node->furthest->value->range(), child->furthest->value->range())) return false;
      const bool is_left = child == node->left.get();
      if ((Compare(child->value->range(), node->value->range()) < 0) != is_left) return false;
    }
    return !EndsBefore(node->furthest->value->range(), node->value->range());
  }

  Rng rng_;
  std::unique_ptr<Node> root_;
  std::size_t size_ = 0;
};

}  // namespace kvorum::watch

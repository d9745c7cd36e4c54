#include "sync/store/object_map.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace kvorum::sync {
namespace {

constexpr int kMost = 32;
// A node with fewer is joined with a neighbour if both fit into one.
constexpr int kFew = 8;

}  // namespace

// A leaf holds objects; an inner node holds nodes, and the smallest object below each, by which a
// search goes. That object is kept alive by its leaf.
class ObjectMap::Node {
 public:
  explicit Node(bool is_leaf) : is_leaf_(is_leaf) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node() = default;

  void AddRef() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  void Release() const {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  bool is_shared() const { return refs_.load(std::memory_order_acquire) != 1; }
  bool is_leaf() const { return is_leaf_; }
  int count() const { return count_; }

  class Leaf;
  class Inner;
  Leaf& leaf();
  Inner& inner();
  const Object* First();

  // Makes the node one that may be changed.
  static Node& Own(Ref<Node>& node);
  // The number of entries whose first key is not after this one.
  int Rank(std::string_view key);
  // Moves the entries from `from` on into a new right neighbour.
  Ref<Node> SplitAt(int from);
  // Takes over all entries of the right neighbour.
  void Join(Node& right);

  // The place for a new entry: the node is split first if it is full.
  struct Place {
    Ref<Node> right;  // the new neighbour
    Node& node;
    int index;
  };
  Place PlaceFor(int index);
  // Returns a new right neighbour if the node had to be split.
  Ref<Node> Put(ObjectRef& object);
  void Erase(std::string_view key, ObjectRef& erased);
  std::size_t Check(int depth, int& leaf_depth);

 private:
  void Tidy(int index);
  friend class ObjectMap;

  mutable std::atomic<std::uint32_t> refs_ = 1;
  const bool is_leaf_;
  int count_ = 0;
};

class ObjectMap::Node::Leaf final : public Node {
 public:
  Leaf() : Node(true) {}
  std::array<ObjectRef, kMost> objects;
};

class ObjectMap::Node::Inner final : public Node {
 public:
  Inner() : Node(false) {}
  std::array<Ref<Node>, kMost> children;
  std::array<const Object*, kMost> firsts{};
};

ObjectMap::Node::Leaf& ObjectMap::Node::leaf() { return static_cast<Leaf&>(*this); }
ObjectMap::Node::Inner& ObjectMap::Node::inner() { return static_cast<Inner&>(*this); }
const Object* ObjectMap::Node::First() {
  return is_leaf_ ? leaf().objects[0].get() : inner().firsts[0];
}

namespace {

std::size_t At(int index) { return static_cast<std::size_t>(index); }

// Opens a place at `index` in front of the entries behind it.
template <class Array>
void Open(Array& array, int index, int count) {
  std::move_backward(array.begin() + index, array.begin() + count, array.begin() + count + 1);
}
template <class Array>
void Close(Array& array, int index, int count) {
  std::move(array.begin() + index + 1, array.begin() + count, array.begin() + index);
  array[At(count - 1)] = nullptr;
}
template <class Array>
void MoveTail(Array& from, int first, int count, Array& to, int at) {
  for (int i = first; i < count; ++i) to[At(at + i - first)] = std::exchange(from[At(i)], nullptr);
}

}  // namespace

ObjectMap::Node& ObjectMap::Node::Own(Ref<Node>& node) {
  if (!node->is_shared()) return *node;
  Ref<Node> copy;
  if (node->is_leaf_) {
    auto* leaf = new Leaf;
    copy = Ref<Node>::Adopt(leaf);
    std::copy_n(node->leaf().objects.begin(), node->count_, leaf->objects.begin());
  } else {
    auto* inner = new Inner;
    copy = Ref<Node>::Adopt(inner);
    std::copy_n(node->inner().children.begin(), node->count_, inner->children.begin());
    inner->firsts = node->inner().firsts;
  }
  copy->count_ = node->count_;
  node = std::move(copy);
  return *node;
}

int ObjectMap::Node::Rank(std::string_view key) {
  const auto is_not_after = [&](const auto& entry) { return entry->key() <= key; };
  if (is_leaf_) {
    const auto begin = leaf().objects.begin();
    return static_cast<int>(std::partition_point(begin, begin + count_, is_not_after) - begin);
  }
  const auto begin = inner().firsts.begin();
  return static_cast<int>(std::partition_point(begin, begin + count_, is_not_after) - begin);
}

Ref<ObjectMap::Node> ObjectMap::Node::SplitAt(int from) {
  Ref<Node> right;
  if (is_leaf_) {
    auto* made = new Leaf;
    right = Ref<Node>::Adopt(made);
    MoveTail(leaf().objects, from, count_, made->objects, 0);
  } else {
    auto* made = new Inner;
    right = Ref<Node>::Adopt(made);
    MoveTail(inner().children, from, count_, made->children, 0);
    MoveTail(inner().firsts, from, count_, made->firsts, 0);
  }
  right->count_ = count_ - from;
  count_ = from;
  return right;
}

void ObjectMap::Node::Join(Node& right) {
  if (is_leaf_) {
    MoveTail(right.leaf().objects, 0, right.count_, leaf().objects, count_);
  } else {
    MoveTail(right.inner().children, 0, right.count_, inner().children, count_);
    MoveTail(right.inner().firsts, 0, right.count_, inner().firsts, count_);
  }
  count_ += std::exchange(right.count_, 0);
}

ObjectMap::Node::Place ObjectMap::Node::PlaceFor(int index) {
  if (count_ < kMost) return {nullptr, *this, index};
  // Behind all others: keys that come in order fill their nodes.
  Ref<Node> right = SplitAt(index == kMost ? kMost : kMost / 2);
  Node& node = *right;
  if (index == kMost || index > count_) return {std::move(right), node, index - count_};
  return {std::move(right), *this, index};
}

Ref<ObjectMap::Node> ObjectMap::Node::Put(ObjectRef& object) {
  const int rank = Rank(object->key());
  if (is_leaf_) {
    if (rank > 0 && leaf().objects[At(rank - 1)]->key() == object->key()) {
      std::swap(leaf().objects[At(rank - 1)], object);
      return nullptr;
    }
    auto [right, target, index] = PlaceFor(rank);
    Open(target.leaf().objects, index, target.count_);
    target.leaf().objects[At(index)] = std::exchange(object, nullptr);
    ++target.count_;
    return right;
  }
  const int index = std::max(rank - 1, 0);
  Ref<Node>& slot = inner().children[At(index)];
  Ref<Node> added = Own(slot).Put(object);
  inner().firsts[At(index)] = slot->First();
  if (!added) return nullptr;
  auto [right, target, at] = PlaceFor(index + 1);
  Open(target.inner().children, at, target.count_);
  Open(target.inner().firsts, at, target.count_);
  target.inner().firsts[At(at)] = added->First();
  target.inner().children[At(at)] = std::move(added);
  ++target.count_;
  return right;
}

void ObjectMap::Node::Erase(std::string_view key, ObjectRef& erased) {
  const int rank = Rank(key);
  if (is_leaf_) {
    erased = std::move(leaf().objects[At(rank - 1)]);
    Close(leaf().objects, rank - 1, count_--);
    return;
  }
  const int index = rank - 1;
  Ref<Node>& slot = inner().children[At(index)];
  Own(slot).Erase(key, erased);
  if (slot->count_ > 0) inner().firsts[At(index)] = slot->First();
  Tidy(index);
}

// Joins the child with a neighbour if it has become small, or drops it if it is empty.
void ObjectMap::Node::Tidy(int index) {
  auto& children = inner().children;
  if (children[At(index)]->count_ >= kFew) return;
  int gone = index;
  if (children[At(index)]->count_ > 0) {
    const int left = index > 0 ? index - 1 : index;
    if (left + 1 >= count_ || children[At(left)]->count_ + children[At(left + 1)]->count_ > kMost)
      return;
    Own(children[At(left)]).Join(Own(children[At(left + 1)]));
    gone = left + 1;
  }
  Close(children, gone, count_);
  Close(inner().firsts, gone, count_--);
}

std::size_t ObjectMap::Node::Check(int depth, int& leaf_depth) {
  const auto check = [](bool holds, const char* rule) {
    if (holds) return;
    std::fprintf(stderr, "object map: %s\n", rule);
    std::abort();
  };
  check(count_ > 0 && count_ <= kMost, "a node is empty or too full");
  if (is_leaf_) {
    if (leaf_depth == 0) leaf_depth = depth;
    check(leaf_depth == depth, "leaves at different depths");
    for (int i = 1; i < count_; ++i)
      check(leaf().objects[At(i - 1)]->key() < leaf().objects[At(i)]->key(), "keys out of order");
    return At(count_);
  }
  std::size_t size = 0;
  for (int i = 0; i < count_; ++i) {
    check(inner().firsts[At(i)] == inner().children[At(i)]->First(), "a wrong first object");
    if (i > 0)
      check(inner().firsts[At(i - 1)]->key() < inner().firsts[At(i)]->key(), "nodes out of order");
    size += inner().children[At(i)]->Check(depth + 1, leaf_depth);
  }
  return size;
}

ObjectMap::ObjectMap() = default;
ObjectMap::ObjectMap(const ObjectMap& other) = default;
ObjectMap::ObjectMap(ObjectMap&& other) noexcept
    : root_(std::move(other.root_)), size_(std::exchange(other.size_, 0)) {}
ObjectMap& ObjectMap::operator=(ObjectMap other) noexcept {
  std::swap(root_, other.root_);
  std::swap(size_, other.size_);
  return *this;
}
ObjectMap::~ObjectMap() = default;

ObjectMap::Cursor::Cursor() = default;
ObjectMap::Cursor::Cursor(const Cursor& other) = default;
ObjectMap::Cursor::Cursor(Cursor&& other) noexcept = default;
ObjectMap::Cursor& ObjectMap::Cursor::operator=(Cursor other) noexcept {
  std::swap(root_, other.root_);
  std::swap(path_, other.path_);
  return *this;
}
ObjectMap::Cursor::~Cursor() = default;

ObjectRef ObjectMap::Find(std::string_view key) const {
  Node* node = root_.get();
  if (node == nullptr) return nullptr;
  while (!node->is_leaf()) {
    const int rank = node->Rank(key);
    if (rank == 0) return nullptr;
    node = node->inner().children[At(rank - 1)].get();
  }
  const int rank = node->Rank(key);
  if (rank == 0 || node->leaf().objects[At(rank - 1)]->key() != key) return nullptr;
  return node->leaf().objects[At(rank - 1)];
}

ObjectRef ObjectMap::Put(ObjectRef object) {
  if (!root_) root_ = Ref<Node>::Adopt(new Node::Leaf);
  if (Ref<Node> right = Node::Own(root_).Put(object)) {
    auto* root = new Node::Inner;
    root->firsts[0] = root_->First();
    root->firsts[1] = right->First();
    root->children[0] = std::move(root_);
    root->children[1] = std::move(right);
    root->count_ = 2;
    root_ = Ref<Node>::Adopt(root);
  }
  if (!object) ++size_;
  return object;
}

ObjectRef ObjectMap::Erase(std::string_view key) {
  if (!Find(key)) return nullptr;
  ObjectRef erased;
  Node::Own(root_).Erase(key, erased);
  --size_;
  if (size_ == 0) {
    root_ = nullptr;
  } else {
    while (!root_->is_leaf() && root_->count() == 1) root_ = Ref<Node>(root_->inner().children[0]);
  }
  return erased;
}

ObjectMap::Cursor ObjectMap::Begin() const {
  Cursor cursor;
  cursor.root_ = root_;
  if (root_) cursor.Descend(root_.get());
  return cursor;
}

ObjectMap::Cursor ObjectMap::LowerBound(std::string_view key) const {
  Cursor cursor;
  cursor.root_ = root_;
  Node* node = root_.get();
  while (node != nullptr && !node->is_leaf()) {
    const int index = std::max(node->Rank(key) - 1, 0);
    cursor.path_.push_back({node, index});
    node = node->inner().children[At(index)].get();
  }
  if (node == nullptr) return cursor;
  const int rank = node->Rank(key);
  const bool is_there = rank > 0 && node->leaf().objects[At(rank - 1)]->key() == key;
  cursor.path_.push_back({node, rank - 1});
  if (!is_there) cursor.Next();
  return cursor;
}

void ObjectMap::Cursor::Descend(Node* node) {
  while (!node->is_leaf()) {
    path_.push_back({node, 0});
    node = node->inner().children[0].get();
  }
  path_.push_back({node, 0});
}

const Object* ObjectMap::Cursor::get() const {
  if (path_.empty()) return nullptr;
  return path_.back().node->leaf().objects[At(path_.back().index)].get();
}

void ObjectMap::Cursor::Next() {
  while (!path_.empty() && ++path_.back().index >= path_.back().node->count()) path_.pop_back();
  if (path_.empty() || path_.back().node->is_leaf()) return;
  Descend(path_.back().node->inner().children[At(path_.back().index)].get());
}

void ObjectMap::CheckInvariants() const {
  int leaf_depth = 0;
  const std::size_t size = root_ ? root_->Check(1, leaf_depth) : 0;
  if (size == size_) return;
  std::fprintf(stderr, "object map: %zu objects, not %zu\n", size, size_);
  std::abort();
}

Change MapDifference::Next() {
  const Object* before = before_.get();
  const Object* after = after_.get();
  if (before != nullptr && after != nullptr) {
    if (before->key() < after->key()) after = nullptr;
    if (after != nullptr && after->key() < before->key()) before = nullptr;
  }
  Change change{ObjectRef::Share(before), ObjectRef::Share(after)};
  if (before != nullptr) before_.Next();
  if (after != nullptr) after_.Next();
  return change;
}

}  // namespace kvorum::sync

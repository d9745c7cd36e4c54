// A doubly linked list through its items that also owns them: adding and removing are O(1) and
// allocate nothing.
//
// Used by one thread. An item is in one list at most, and leaves it before the list goes.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace kvorum::rpc {

template <class Item>
class OwningList {
 public:
  // A base of Item.
  class Hook {
   public:
    // The list's ownership; null outside of a list.
    const std::shared_ptr<Item>& owner() const { return owner_; }

   private:
    friend class OwningList;
    std::shared_ptr<Item> owner_;
    Item* previous_ = nullptr;
    Item* next_ = nullptr;
  };

  bool empty() const { return newest_ == nullptr; }
  std::size_t size() const { return size_; }
  Item* newest() const { return newest_; }

  Item& Add(std::shared_ptr<Item> item) {
    Item& added = *item;
    Link(added).next_ = newest_;
    if (newest_ != nullptr) Link(*newest_).previous_ = &added;
    newest_ = &added;
    ++size_;
    Link(added).owner_ = std::move(item);
    return added;
  }

  // Returns the list's ownership.
  std::shared_ptr<Item> Remove(Item& item) {
    Hook& link = Link(item);
    if (link.previous_ != nullptr) Link(*link.previous_).next_ = link.next_;
    if (link.next_ != nullptr) Link(*link.next_).previous_ = link.previous_;
    if (newest_ == &item) newest_ = link.next_;
    link.previous_ = nullptr;
    link.next_ = nullptr;
    --size_;
    return std::move(link.owner_);
  }

  // Visits the items, newest first. The visitor may remove the item that it is given.
  template <class Visitor>
  void ForEach(Visitor&& visit) const {
    for (Item* item = newest_; item != nullptr;) {
      Item* next = Link(*item).next_;
      visit(*item);
      item = next;
    }
  }

 private:
  static Hook& Link(Item& item) { return item; }

  Item* newest_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kvorum::rpc

// The queue of one listener: single changes, and walks, which deliver what differs between two
// snapshots of the store key by key when their turn has come. A late listener, a list made anew, a
// resync round and a full queue are all walks, so that none of them takes memory by the key.
//
// For one thread at a time. Bound: the capacity in changes and in bytes of their objects, before
// and after, and the changes of one revision beyond it for a listener that blocks. A walk is one
// item and keeps its two snapshots alive; kMaxWalks that wait are a full queue too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "sync/store/object_map.h"

namespace kvorum::sync {

// The fate of changes for which a listener's queue has no room.
enum class OverflowPolicy : std::uint8_t {
  kBlock,          // the informer delivers nothing to anybody until there is room
  kCoalesce,       // the latest change of each key is delivered, once there is room
  kDropAndResync,  // what is queued is dropped, and every object is delivered anew
};

struct Notification {
  enum class Kind : std::uint8_t { kAdd, kUpdate, kDelete };
  Kind kind = Kind::kAdd;
  ObjectRef before = {};  // null of an add
  ObjectRef after = {};   // null of a delete; the same as before if a resync delivers it
  bool is_initial = false;
};

struct ListenerCapacity {
  std::size_t changes = 1024;
  std::size_t bytes = std::size_t{64} << 20U;
};

class ListenerQueue {
 public:
  static constexpr std::size_t kMaxWalks = 8;
  using RoundId = std::uint64_t;
  // The object that the store has now.
  using FindCurrent = std::function<ObjectRef(std::string_view key)>;

  ListenerQueue(OverflowPolicy policy, ListenerCapacity capacity)
      : policy_(policy),
        capacity_({.changes = std::max<std::size_t>(capacity.changes, 1),
                   .bytes = std::max<std::size_t>(capacity.bytes, 1)}) {}

  // The changes of a revision, and the store before and after it. False if there was no room.
  bool Add(std::span<const Change> changes, const ObjectMap& before, const ObjectMap& after);
  // All objects, as adds of the initial set.
  void AddInitial(const ObjectMap& map);
  // The difference that a new list makes.
  void AddDifference(const ObjectMap& before, const ObjectMap& after);
  // Every object, unless a newer one is on its way.
  void AddRound(RoundId round, const ObjectMap& map);

  // The next item to deliver. The ends of its walks are separate items, after those of the walks.
  struct Synced {};
  struct RoundEnd {
    RoundId round = 0;
  };
  using Next = std::variant<Notification, Synced, RoundEnd>;
  std::optional<Next> Take(const FindCurrent& find_current);

  // In items.
  std::size_t size() const { return items_.size() + (walk_ ? 1 : 0); }
  std::size_t size_bytes() const { return bytes_; }
  bool is_full() const {
    return items_.size() >= capacity_.changes || bytes_ >= capacity_.bytes || walks_ >= kMaxWalks;
  }
  bool blocks() const { return policy_ == OverflowPolicy::kBlock && is_full(); }

 private:
  struct Walk {
    ObjectMap before = {};
    ObjectMap after = {};
    bool is_initial = false;
    bool tells_unchanged = false;
    bool is_open = false;  // later changes move its end
    std::optional<RoundId> round = std::nullopt;
  };
  struct ActiveWalk {
    explicit ActiveWalk(Walk walk) : what(std::move(walk)), steps(what.before, what.after) {}
    Walk what;
    MapDifference steps;
  };
  using Item = std::variant<Change, Walk>;

  bool HasRoomFor(std::span<const Change> changes) const;
  Walk* OpenWalk();
  void AddWalk(Walk walk);
  // Drops what is queued; the walk that stands for it begins with what the listener knows by then.
  Walk Replace(const ObjectMap& before);
  std::optional<Next> TakeOfWalk(const FindCurrent& find_current);
  std::optional<Next> EndWalk();

  const OverflowPolicy policy_;
  const ListenerCapacity capacity_;
  std::deque<Item> items_;
  std::size_t bytes_ = 0;  // of the changes' objects
  std::size_t walks_ = 0;  // among the items
  std::optional<ActiveWalk> walk_;
};

}  // namespace kvorum::sync

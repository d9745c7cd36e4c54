#include "consul/kv/kv_changes.h"

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/key_range.h"
#include "consul/kv/follower.h"
#include "consul/kv/prefix_table.h"
#include "consul/kv/tombstones.h"

namespace kvorum::consul {
namespace {

using Callback = std::move_only_function<void()>;

}  // namespace

// One interest; the state's lock guards it.
class KvChanges::Entry {
 public:
  Entry(std::shared_ptr<State> state, std::string key, bool is_prefix)
      : state(std::move(state)), key(std::move(key)), is_prefix(is_prefix) {}

  // True if the change calls the one who waits.
  bool Take(std::int64_t revision, bool is_put) {
    last_change = std::max(last_change, revision);
    has_put = has_put || is_put;
    return on_change != nullptr && last_change > after;
  }

  const std::shared_ptr<State> state;
  const std::string key;
  const bool is_prefix;
  std::int64_t last_change = 0;
  bool has_put = false;
  bool has_begun_anew = false;
  std::int64_t after = 0;
  Callback on_change;
  std::list<Entry*>::iterator place;
};

class KvChanges::State : public std::enable_shared_from_this<State> {
 public:
  using Entries = std::list<Entry*>;

  State(sync::Store& store, Executor& executor, KvChangesOptions options)
      : prefix_(options.prefix),
        tombstones_(options.max_tombstone_bytes),
        follower_(store, executor,
                  {.key = prefix_,
                   .end = PrefixEnd(prefix_),
                   .on_begin = [this](std::int64_t revision) { Begin(revision); },
                   .on_events =
                       [this](std::int64_t revision, const std::vector<sync::Event>& events) {
                         Take(revision, events);
                       },
                   .on_error = std::move(options.on_error),
                   .backoff = options.backoff,
                   .seed = options.seed}) {}

  Follower& follower() { return follower_; }

  std::int64_t revision() const {
    const std::lock_guard lock(mutex_);
    return revision_;
  }
  std::int64_t OfKey(std::string_view key) const {
    const std::lock_guard lock(mutex_);
    return tombstones_.OfKey(key);
  }
  std::int64_t OfPrefix(std::string_view prefix) const {
    const std::lock_guard lock(mutex_);
    return tombstones_.OfPrefix(prefix);
  }
  std::size_t interests() const {
    const std::lock_guard lock(mutex_);
    return interests_;
  }

  std::shared_ptr<Entry> Add(const std::string& key, bool is_prefix) {
    auto entry = std::make_shared<Entry>(shared_from_this(), key, is_prefix);
    const std::lock_guard lock(mutex_);
    Entries& entries = is_prefix ? by_prefix_[key] : by_key_[key];
    entry->place = entries.insert(entries.end(), entry.get());
    ++interests_;
    return entry;
  }

  void Remove(Entry& entry) {
    Callback dropped;  // its captures go away outside the lock
    const std::lock_guard lock(mutex_);
    dropped = std::exchange(entry.on_change, nullptr);
    --interests_;
    if (entry.is_prefix) {
      Entries* entries = by_prefix_.Find(entry.key);
      entries->erase(entry.place);
      if (entries->empty()) by_prefix_.Erase(entry.key);
    } else {
      const auto entries = by_key_.find(entry.key);
      entries->second.erase(entry.place);
      if (entries->second.empty()) by_key_.erase(entries);
    }
  }

  void Wait(Entry& entry, std::int64_t after, Callback on_change) {
    {
      const std::lock_guard lock(mutex_);
      if (!entry.has_begun_anew && entry.last_change <= after) {
        entry.after = after;
        std::swap(entry.on_change, on_change);
        return;
      }
    }
    on_change();
  }

  Callback Drop(Entry& entry) {
    const std::lock_guard lock(mutex_);
    return std::exchange(entry.on_change, nullptr);
  }

  template <class T>
  T Get(const Entry& entry, T Entry::* member) const {
    const std::lock_guard lock(mutex_);
    return entry.*member;
  }
  bool HasPut(const Entry& entry) const {
    const std::lock_guard lock(mutex_);
    return entry.has_put || entry.has_begun_anew;
  }

  // Everybody is called: what they wait for may have come unseen.
  void EndAll(std::int64_t revision) {
    std::vector<Callback> woken;
    {
      const std::lock_guard lock(mutex_);
      const auto end = [&](Entries& entries) {
        for (Entry* entry : entries) {
          entry->has_begun_anew = true;
          entry->last_change = std::max(entry->last_change, revision);
          if (entry->on_change) woken.push_back(std::exchange(entry->on_change, nullptr));
        }
      };
      for (auto& [key, entries] : by_key_) end(entries);
      by_prefix_.VisitAll(end);
    }
    for (Callback& on_change : woken) on_change();
  }

 private:
  void Begin(std::int64_t revision) {
    {
      const std::lock_guard lock(mutex_);
      revision_ = revision;
      tombstones_.Reset(revision);
    }
    EndAll(revision);
  }

  void Take(std::int64_t revision, const std::vector<sync::Event>& events) {
    std::vector<Callback> woken;
    {
      const std::lock_guard lock(mutex_);
      for (const sync::Event& event : events) TakeEvent(event, woken);
      revision_ = std::max(revision_, revision);
    }
    for (Callback& on_change : woken) on_change();
  }

  void TakeEvent(const sync::Event& event, std::vector<Callback>& woken) {
    const std::string key = event.kv.key.substr(prefix_.size());
    const std::int64_t revision = event.kv.mod_revision;
    if (event.is_delete) tombstones_.Add(key, revision);
    const auto tell = [&](Entries& entries) {
      for (Entry* entry : entries) {
        if (entry->Take(revision, !event.is_delete))
          woken.push_back(std::exchange(entry->on_change, nullptr));
      }
    };
    if (const auto found = by_key_.find(key); found != by_key_.end()) tell(found->second);
    by_prefix_.VisitPrefixesOf(key, tell);
  }

  const std::string prefix_;
  mutable std::mutex mutex_;  // guards what follows, but the follower
  std::int64_t revision_ = 0;
  Tombstones tombstones_;
  std::map<std::string, Entries, std::less<>> by_key_;
  PrefixTable<Entries> by_prefix_;
  std::size_t interests_ = 0;
  Follower follower_;
};

KvChanges::KvChanges(sync::Store& store, Executor& executor, KvChangesOptions options)
    : state_(std::make_shared<State>(store, executor, std::move(options))) {}
KvChanges::~KvChanges() { Stop(); }

void KvChanges::Start() { state_->follower().Start(); }
void KvChanges::Stop() {
  state_->follower().Stop();
  state_->EndAll(0);
}

std::int64_t KvChanges::revision() const { return state_->revision(); }

std::uint64_t KvChanges::DeletionOf(std::string_view key) const {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(state_->OfKey(key), 1));
}

std::uint64_t KvChanges::DeletionUnder(std::string_view prefix) const {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(state_->OfPrefix(prefix), 1));
}

void KvChanges::Saw(std::int64_t revision, std::int64_t revision_before) {
  if (revision < revision_before) state_->follower().Restart();
}

KvChanges::Interest::Interest(std::shared_ptr<Entry> entry) : entry_(std::move(entry)) {}
KvChanges::Interest::~Interest() { entry_->state->Remove(*entry_); }

std::int64_t KvChanges::Interest::last_change() const {
  return entry_->state->Get(*entry_, &Entry::last_change);
}
bool KvChanges::Interest::has_put() const { return entry_->state->HasPut(*entry_); }
void KvChanges::Interest::Wait(std::int64_t after, std::move_only_function<void()> on_change) {
  entry_->state->Wait(*entry_, after, std::move(on_change));
}
void KvChanges::Interest::Drop() { entry_->state->Drop(*entry_); }

std::shared_ptr<KvChanges::Interest> KvChanges::Follow(const std::string& key, bool is_prefix) {
  return std::make_shared<Interest>(state_->Add(key, is_prefix));
}
std::size_t KvChanges::interests() const { return state_->interests(); }

}  // namespace kvorum::consul

// An informer's copy of the store: its objects now, their indexes, and its recent revisions.
//
// Thread-safe: one thread changes it, any may read or add an index. Index functions are called
// without a lock, and may read. Errors: kOutOfRange for a revision that is not there. Memory: the
// revisions of the window keep the objects that were changed after them, which are bounded; a list,
// while it is taken over, what it changes and, if there are indexes, the values of that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "sync/store/index.h"
#include "sync/store/object_map.h"

namespace kvorum::sync {

class Copy {
 public:
  // The snapshots of so many revisions are kept, and fewer if that takes more bytes: those of the
  // objects (Object::size_bytes) that they alone keep. The newest revision is always there.
  struct Window {
    std::size_t revisions = 2048;
    std::size_t bytes = 64 * 1024 * 1024;
  };
  explicit Copy(Window window) : window_(window) {}

  // The changes of one revision; the objects before and after it.
  std::pair<ObjectMap, ObjectMap> Apply(std::int64_t revision, std::span<const Change> changes);
  // A list at the revision. What was between it and the last one is not known, so the window
  // begins anew. Returns the objects before.
  ObjectMap Replace(std::int64_t revision, ObjectMap after);
  void Reach(std::int64_t revision);

  // With all objects that there are. kAlreadyExists: the name is taken.
  Result<void> AddIndex(const std::string& name, const IndexFunction& function);
  std::int64_t revision() const;
  ObjectRef Find(std::string_view key) const;
  ObjectMap objects() const;
  Result<ObjectMap> Snapshot(std::int64_t revision) const;
  // In order of keys. kNotFound: there is no such index.
  Result<std::vector<ObjectRef>> ByIndex(std::string_view name, std::string_view value) const;
  // The values that objects have, in order. kNotFound: there is no such index.
  Result<std::vector<std::string>> IndexValues(std::string_view name) const;

  // Aborts if one does not hold: the map's; the newest revision of the window has the objects that
  // there are; revisions ascend, within the window, whose bytes are their sum; an index has no
  // object but these. Walks everything, with the lock held.
  void CheckInvariants() const;

 private:
  using Functions = std::shared_ptr<const IndexFunctions>;
  // Changes objects and indexes at once. Returns the objects before.
  ObjectMap Become(std::int64_t revision, ObjectMap after, std::span<const Change> changes,
                   bool is_list);
  Functions functions() const;
  Result<const Index*> Named(std::string_view name) const;
  void Remember(std::int64_t revision, std::span<const Change> changes);

  const Window window_;
  mutable std::mutex mutex_;  // guards what follows
  std::int64_t revision_ = 0;
  ObjectMap objects_;
  Functions functions_ = std::make_shared<IndexFunctions>();  // replaced as a whole
  std::map<std::string, Index, std::less<>> indexes_;         // of the same names
  // By the name of an index that is being made: the changes that it has missed.
  std::map<std::string, std::vector<Change>> missed_;
  struct Past {
    std::int64_t revision = 0;
    ObjectMap objects;
    std::size_t bytes = 0;  // of the objects that the revision after it no longer has
  };
  std::deque<Past> past_;  // the last one is the newest
  std::size_t past_bytes_ = 0;
};

}  // namespace kvorum::sync

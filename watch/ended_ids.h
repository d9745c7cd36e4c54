// The ids of a stream's watchers that a compaction ended and the client has not cancelled since.
// They stay taken, and a Cancel of one is answered.
//
// Bounded, for a client that creates and never cancels: the ids that the stream chooses follow one
// another and are kept as intervals, of which there are as many as the client has other ids
// between them. Beyond kMost intervals the lowest one is forgotten, and beyond kMost ids that the
// client chose ahead of the stream the oldest one.
//
// Used by its stream's executor only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <unordered_map>

namespace kvorum::watch {

class EndedIds {
 public:
  static constexpr std::size_t kMost = 65'536;

  // Ids below `next_id`, from 0 on, are those that the stream has passed.
  void Add(std::int64_t id, std::int64_t next_id);
  bool Contains(std::int64_t id) const;
  // False if it is not there.
  bool Remove(std::int64_t id);

  std::size_t intervals() const { return intervals_.size(); }
  std::size_t chosen() const { return chosen_.size(); }

 private:
  using Intervals =
      std::map<std::int64_t, std::int64_t>;  // the first id, and the one past the last
  void AddToIntervals(std::int64_t id);
  // The interval that begins at the id or before it; end() without one.
  Intervals::const_iterator Before(std::int64_t id) const;

  std::map<std::int64_t, std::int64_t> intervals_;
  // Those that a client chose and the stream had not passed: the oldest first.
  std::list<std::int64_t> order_;
  std::unordered_map<std::int64_t, std::list<std::int64_t>::iterator> chosen_;
};

}  // namespace kvorum::watch

// The information about single revisions in a history's answers: who wrote a key last, and how
// often it was written. It narrows down which of the operations with an unknown outcome made a
// revision that no client heard of, so that the search hardly ever takes a wrong turn.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/linearizability/history.h"
#include "tests/linearizability/kv_model.h"

namespace kvorum::linearizability {

class Observations {
 public:
  // Only of operations that were acknowledged with a revision.
  explicit Observations(const History& history);

  // Key to value as a client saw it written by this revision; null if no client saw any.
  const std::map<std::string, std::string>* WrittenBy(std::int64_t revision) const;

  // True if a client saw the key with the value.
  bool WasSeen(const std::string& key, const std::string& value) const;

  // The knowledge about the next write of `key`, if `revision` were to change it. `now` is the key
  // before it, null if absent.
  enum class Hint : std::uint8_t {
    kContradicted,  // a later answer shows it unchanged, or written as often as known without it
    kUnknown,
    kNeeded,  // a later answer has more writes than are known
  };
  Hint OfChange(const std::string& key, std::int64_t revision, const KeyValue* now) const;

 private:
  struct Sight {
    std::int64_t at;  // the state of this revision was seen
    std::int64_t mod_revision;
    std::int64_t create_revision;
    std::int64_t version;
  };
  struct OfKey {
    std::vector<Sight> sights;                    // ascending
    std::vector<std::int64_t> acknowledged_puts;  // their revisions, ascending
  };

  void See(const Operation& operation);

  std::unordered_map<std::string, OfKey> keys_;
  std::unordered_map<std::int64_t, std::map<std::string, std::string>> written_by_;
  std::set<std::pair<std::string, std::string>> seen_;
};

}  // namespace kvorum::linearizability

// The ideal store against which a history is measured. Applies one operation after another, gives
// an honest store's answers, and can go back to an earlier state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/linearizability/history.h"

namespace kvorum::linearizability {

class KvModel {
 public:
  struct Outcome {
    std::int64_t revision = 0;
    bool succeeded = true;
    bool wrote = false;
    std::vector<Answer> answers;
  };
  struct Change {
    std::string key;
    std::optional<KeyValue> before;
  };
  struct Mark {
    std::size_t changes = 0;
    std::int64_t revision = 0;
  };

  explicit KvModel(const History& history);

  Outcome Apply(const Operation& operation);
  Mark Here() const { return {changes_.size(), revision_}; }
  // Only to a mark taken since the last, older one was gone back to.
  void GoBack(Mark mark);

  std::int64_t revision() const { return revision_; }
  // Nothing if there is no such key.
  const KeyValue* Find(const std::string& key) const;
  // A key that changed twice is there twice. Valid until the next change.
  std::span<const Change> ChangesSince(Mark mark) const {
    return std::span(changes_).subspan(mark.changes);
  }
  // Equal states have equal fingerprints; different states differ except by chance.
  std::uint64_t fingerprint() const { return fingerprint_ ^ static_cast<std::uint64_t>(revision_); }

 private:
  bool Holds(const Compare& compare) const;
  Answer Run(const Request& request, std::int64_t revision, bool& wrote);
  void Set(const std::string& key, std::optional<KeyValue> kv);

  std::map<std::string, KeyValue> kvs_;
  std::int64_t revision_;
  std::uint64_t fingerprint_ = 0;
  std::vector<Change> changes_;
};

// The difference between an acknowledged answer and the model's; nothing if there is none. Parts
// that were not recorded are not compared.
struct Difference {
  std::string text;
  // The key-values that do not agree, where the difference is in one key.
  std::optional<KeyValue> seen = {};
  std::optional<KeyValue> expected = {};
};
std::optional<Difference> Compared(const Operation& operation, const KvModel::Outcome& model);

}  // namespace kvorum::linearizability

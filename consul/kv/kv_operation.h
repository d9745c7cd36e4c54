// The operations of KV, one or many at a time, evaluated on keys that were read at one revision:
// what each of them answers, and what is to be written. PUT, DELETE and /v1/txn all go this way, so
// that each rule stands once.
//
// Pure: no store, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "consul/kv/kv_form.h"

namespace kvorum::consul {

enum class KvVerb : std::uint8_t {
  kSet,
  kCas,
  kLock,
  kUnlock,
  kGet,
  kGetOrEmpty,
  kGetTree,
  kCheckIndex,
  kCheckSession,
  kCheckNotExists,
  kDelete,
  kDeleteTree,
  kDeleteCas,
  kUnknown,
};
// By the API's name.
KvVerb KvVerbOf(std::string_view name);
bool IsWrite(KvVerb verb);
// The key is a prefix.
bool IsTree(KvVerb verb);

struct KvOperation {
  KvVerb verb = KvVerb::kGet;
  std::string key = {};
  std::string value = {};  // of kUnknown: the verb
  std::uint64_t flags = 0;
  std::uint64_t index = 0;
  std::string session = {};
};

// Everything that the operations read, at one revision.
struct KvBase {
  struct Key {
    std::optional<KvPair> pair = {};
    bool has_meta = false;
    bool is_delayed = false;  // read for locks only
    // The lock of a session that is gone; read for locks only.
    std::optional<HeldLock> abandoned = {};
  };
  struct Tree {
    std::vector<KvPair> pairs = {};
  };
  std::int64_t revision = 0;
  std::map<std::string, Key> keys = {};
  std::map<std::string, Tree> trees = {};              // of get-tree, by prefix
  std::map<std::string, SessionRecord> sessions = {};  // of those that were asked for, the living
};

// The revision of what has not been written yet.
inline constexpr std::int64_t kThisRevision = -1;

struct KvResult {
  KvPair pair;
  bool has_value = false;  // the value is shown
};

struct KvError {
  std::size_t operation = 0;
  std::string what = {};
  // The request itself is wrong (a session that does not exist), where others found the key in
  // another state than they asked for: 500 where those answer `false`.
  bool is_fault = false;
};

struct KvOutcome {
  std::vector<KvResult> results = {};
  std::vector<KvError> errors = {};
  // A key that was touched, as it will be.
  struct Final {
    std::optional<KvPair> pair = {};
    bool is_changed = false;
    bool is_in_dead_tree = false;  // it was deleted with a tree, perhaps written again later
  };
  std::map<std::string, Final> keys = {};
  std::vector<std::string> dead_trees = {};  // prefixes, none of which begins with another
  std::vector<std::string> read_trees = {};
  std::set<std::string> needed_sessions = {};  // that must be alive when it is written
  std::set<std::string> undelayed_keys = {};   // that no lock-delay may be on
  bool writes() const;
};

// A result's session is empty if it has ended.
KvOutcome Evaluate(const std::vector<KvOperation>& operations, const KvBase& base);

}  // namespace kvorum::consul

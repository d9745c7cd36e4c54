// The form of KV in the store:
//
//   KVROOT/KEY                 the value, as any client of the store reads and writes it
//   ROOT/kvmeta/KEY            {"flags":F,"lock_index":N,"session":"ID"}; only if one of them is
//   set ROOT/kvlock/SESSION/KEY    {"behavior":B,"lock_delay_ns":N}: the session holds the key
//   ROOT/kvdelay/KEY           the key cannot be locked; on a lease of the lock-delay's length
//
// A change of the meta touches the value too, so that the value's mod revision is that of both, and
// one compare of it guards both. A meta that is older than its value's creation is what is left of
// an earlier life of the key, and counts for nothing.
//
// Values; the functions are pure and thread-safe. Keys are any bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "consul/model/records.h"
#include "sync/store/store.h"

namespace kvorum::consul {

struct KvMeta {
  std::uint64_t flags = 0;
  std::uint64_t lock_index = 0;
  std::string session = {};
  friend bool operator==(const KvMeta&, const KvMeta&) = default;
};

// The effect of a session's end on a key that it holds.
struct HeldLock {
  bool deletes = false;  // else it is released
  std::int64_t lock_delay_ns = 0;
  friend bool operator==(const HeldLock&, const HeldLock&) = default;
};
HeldLock HeldBy(const SessionRecord& session);

std::string EncodeMeta(const KvMeta& meta);
// Malformed bytes are an empty meta: the value stands by itself.
KvMeta DecodeMeta(std::string_view bytes);
std::string EncodeLock(const HeldLock& lock);
// Malformed bytes are a release without delay.
HeldLock DecodeLock(std::string_view bytes);

// A key with everything that the API shows of it. The session is the one in the store, which may
// have ended.
struct KvPair {
  std::string key;
  std::string value = {};
  std::uint64_t flags = 0;
  std::uint64_t lock_index = 0;
  std::string session = {};
  std::int64_t create_revision = 0;
  std::int64_t mod_revision = 0;
  friend bool operator==(const KvPair&, const KvPair&) = default;
};
// The meta may be null.
KvPair PairOf(std::string key, sync::KeyValue value, const sync::KeyValue* meta);

// Immutable.
class KvKeys {
 public:
  // The root without its slash at the end, KVROOT with it.
  KvKeys(std::string_view root, std::string kv_root);

  const std::string& values() const { return values_; }  // a prefix, like the next two
  const std::string& metas() const { return metas_; }
  const std::string& locks() const { return locks_; }
  const RegistryKeys& registry() const { return registry_; }
  std::string Value(std::string_view key) const { return values_ + std::string(key); }
  std::string Meta(std::string_view key) const { return metas_ + std::string(key); }
  std::string Delay(std::string_view key) const { return delays_ + std::string(key); }
  std::string LocksOf(std::string_view session) const;  // a prefix
  std::string Lock(std::string_view session, std::string_view key) const {
    return LocksOf(session).append(key);
  }
  // The session in a key below locks(); empty: none.
  std::string SessionOf(std::string_view lock_key) const;

 private:
  std::string values_;
  std::string metas_;
  std::string locks_;
  std::string delays_;
  RegistryKeys registry_;
};

// A session's id may stand in keys.
bool IsSessionId(std::string_view id);

}  // namespace kvorum::consul

#include "consul/kv/kv_form.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "consul/model/ids.h"

namespace kvorum::consul {
namespace {

using KvJson = nlohmann::ordered_json;
constexpr auto kReplace = KvJson::error_handler_t::replace;

std::uint64_t NumberIn(const KvJson& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::string TextIn(const KvJson& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Not an object: an empty one.
KvJson ObjectOf(std::string_view bytes) {
  KvJson value = KvJson::parse(bytes, nullptr, false);
  return value.is_object() ? value : KvJson::object();
}

}  // namespace

HeldLock HeldBy(const SessionRecord& session) {
  return {.deletes = session.behavior == "delete", .lock_delay_ns = session.lock_delay_ns};
}

std::string EncodeMeta(const KvMeta& meta) {
  return KvJson{{"flags", meta.flags}, {"lock_index", meta.lock_index}, {"session", meta.session}}
      .dump(-1, ' ', false, kReplace);
}

KvMeta DecodeMeta(std::string_view bytes) {
  const KvJson object = ObjectOf(bytes);
  return {.flags = NumberIn(object, "flags"),
          .lock_index = NumberIn(object, "lock_index"),
          .session = TextIn(object, "session")};
}

std::string EncodeLock(const HeldLock& lock) {
  return KvJson{{"behavior", lock.deletes ? "delete" : "release"},
                {"lock_delay_ns", lock.lock_delay_ns}}
      .dump();
}

HeldLock DecodeLock(std::string_view bytes) {
  constexpr std::uint64_t kMostDelay_ns = 60'000'000'000;
  const KvJson object = ObjectOf(bytes);
  return {.deletes = TextIn(object, "behavior") == "delete",
          .lock_delay_ns = static_cast<std::int64_t>(
              std::min(NumberIn(object, "lock_delay_ns"), kMostDelay_ns))};
}

KvPair PairOf(std::string key, sync::KeyValue value, const sync::KeyValue* meta) {
  KvPair pair{.key = std::move(key),
              .value = std::move(value.value),
              .create_revision = value.create_revision,
              .mod_revision = value.mod_revision};
  if (meta == nullptr || meta->mod_revision < value.create_revision) return pair;
  KvMeta decoded = DecodeMeta(meta->value);
  pair.flags = decoded.flags;
  pair.lock_index = decoded.lock_index;
  pair.session = std::move(decoded.session);
  return pair;
}

KvKeys::KvKeys(std::string_view root, std::string kv_root)
    : values_(std::move(kv_root)),
      metas_(std::string(root) + "/kvmeta/"),
      locks_(std::string(root) + "/kvlock/"),
      delays_(std::string(root) + "/kvdelay/"),
      registry_(root) {}

std::string KvKeys::LocksOf(std::string_view session) const {
  return locks_ + EncodeId(session).value_or(std::string()) + "/";
}

std::string KvKeys::SessionOf(std::string_view lock_key) const {
  if (!lock_key.starts_with(locks_)) return {};
  lock_key.remove_prefix(locks_.size());
  const std::size_t end = lock_key.find('/');
  return end == std::string_view::npos ? std::string() : DecodePart(lock_key.substr(0, end));
}

bool IsSessionId(std::string_view id) { return EncodeId(id).has_value(); }

}  // namespace kvorum::consul

#include "sync/delta/reconciler.h"

#include <exception>
#include <memory>
#include <utility>

#include "base/utf8.h"

namespace kvorum::sync {
namespace {

using Items = std::map<std::string, Item>;

ContentHash VersionOf(const Items& items) {
  std::string all;
  for (const auto& [name, item] : items) {
    // A name stands behind its length, so that no two sets are spelled alike.
    all.append(std::to_string(name.size())).append(":").append(name);
    all.append(item.version.bytes.begin(), item.version.bytes.end());
  }
  return HashOf(all);
}

// The same object as `before` if nothing differs.
TypeSnapshotPtr Freeze(Items items, const TypeSnapshotPtr& before) {
  const ContentHash version = VersionOf(items);
  if (before != nullptr && before->version == version) return before;
  return std::make_shared<const TypeSnapshot>(TypeSnapshot{version, std::move(items)});
}

const Item* Find(const TypeSnapshotPtr& snapshot, const std::string& name) {
  if (snapshot == nullptr) return nullptr;
  const auto place = snapshot->items.find(name);
  return place == snapshot->items.end() ? nullptr : &place->second;
}

TypeSnapshotPtr ContentOf(const Snapshot& snapshot, const std::string& type) {
  const auto place = snapshot.find(type);
  return place == snapshot.end() ? nullptr : place->second;
}

Items Seen(const View& view, const std::string& type, const TypeSnapshot& content,
           const TypeSnapshotPtr& before) {
  Items items;
  for (const auto& [name, item] : content.items) {
    Bytes bytes = view(type, name, item.bytes);
    if (bytes == nullptr) continue;
    if (bytes == item.bytes) {
      items.emplace_hint(items.end(), name, item);
      continue;
    }
    const ContentHash version = HashOf(*bytes);
    // A copy that is equal to the one before goes at once.
    if (const Item* kept = Find(before, name); kept != nullptr && kept->version == version)
      bytes = kept->bytes;
    items.emplace_hint(items.end(), name, Item{version, std::move(bytes)});
  }
  return items;
}

}  // namespace

std::vector<std::string> Reconciler::Update(const std::string& type, const Objects& objects) {
  TypeSnapshotPtr& content = contents_[type];
  std::vector<std::string> left_out;
  Items items;
  for (const auto& [name, bytes] : objects) {
    if (!IsValidUtf8(name)) {
      left_out.push_back(name);
      continue;
    }
    const Item* known = Find(content, name);
    const bool is_same = known != nullptr && known->bytes == bytes;
    items.emplace_hint(items.end(), name, Item{is_same ? known->version : HashOf(*bytes), bytes});
  }
  content = Freeze(std::move(items), content);
  return left_out;
}

Result<Snapshot> Reconciler::Build(const View& view, const std::set<std::string>& types,
                                   const Snapshot& before) const {
  Snapshot snapshot = before;
  for (const std::string& type : types) {
    const TypeSnapshotPtr content = ContentOf(contents_, type);
    if (content == nullptr) continue;
    if (view == nullptr) {
      snapshot[type] = content;
      continue;
    }
    const TypeSnapshotPtr kept = ContentOf(before, type);
    try {
      snapshot[type] = Freeze(Seen(view, type, *content, kept), kept);
    } catch (const std::exception& error) {
      return Fail(Code::kInternal, "the view of type " + type + " failed: " + error.what());
    }
  }
  return snapshot;
}

}  // namespace kvorum::sync

#include "tools/mirror/mirror_tree.h"

#include "tools/mirror/mirror_path.h"

namespace kvorum::ctl {

MirrorTree::Added MirrorTree::Put(const std::string& path, std::int64_t mod_revision) {
  const auto [place, is_new] = keys_.try_emplace(path);
  place->second = mod_revision;
  Added added{.is_file = !HasKeysBelow(path)};
  if (!is_new || !added.is_file) return added;
  const auto above = KeyAbove(path);
  // It was a file if this is all that is below it.
  if (!above) return added;
  keys_.erase(place);
  if (IsFile(*above)) added.hidden = above;
  keys_.emplace(path, mod_revision);
  return added;
}

MirrorTree::Removed MirrorTree::Erase(const std::string& path) {
  if (!keys_.contains(path)) return {};
  Removed removed{.was_file = IsFile(path)};
  keys_.erase(path);
  const auto above = KeyAbove(path);
  if (above && IsFile(*above)) removed.shown = above;
  return removed;
}

bool MirrorTree::IsFile(std::string_view path) const {
  return keys_.contains(path) && !HasKeysBelow(path);
}

std::int64_t MirrorTree::revision(std::string_view path) const {
  const auto found = keys_.find(path);
  return found == keys_.end() ? 0 : found->second;
}

bool MirrorTree::HasKeysBelow(std::string_view path) const {
  const std::string folder = std::string(path) + "/";
  const auto next = keys_.lower_bound(folder);
  return next != keys_.end() && next->first.starts_with(folder);
}

std::optional<std::string> MirrorTree::KeyAbove(std::string_view path) const {
  for (path = FolderOf(path); !path.empty(); path = FolderOf(path)) {
    if (keys_.contains(path)) return std::string(path);
  }
  return std::nullopt;
}

}  // namespace kvorum::ctl

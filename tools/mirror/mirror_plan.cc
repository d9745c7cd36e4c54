#include "tools/mirror/mirror_plan.h"

#include <utility>

#include "tools/mirror/mirror_path.h"
#include "tools/shell/reporter.h"

namespace kvorum::ctl {
namespace {

// Files wait no longer when this much does: they are then written though they may have to go.
constexpr std::size_t kMaxWaitingBytes = std::size_t{32} << 20U;

std::size_t BytesOf(const std::string& path, const std::optional<std::string>& content) {
  return path.size() + (content ? content->size() : 0);
}

}  // namespace

void MirrorPlan::BeginList() {
  is_listing_ = true;
  last_listed_.clear();
  tree_ = {};
  pending_.clear();
  pending_bytes_ = 0;
  wanted_.clear();
  skipped_before_ = std::exchange(skipped_, {});
}

void MirrorPlan::EndList(const std::set<std::string, std::less<>>& made) {
  is_listing_ = false;
  skipped_before_.clear();
  for (const std::string& path : made) {
    if (!tree_.IsFile(path)) SetPending(path, std::nullopt);
  }
}

void MirrorPlan::Put(sync::KeyValue kv) {
  const auto path = PathOf(kv.key);
  if (!path) return;
  if (is_listing_) last_listed_ = *path;
  const MirrorTree::Added added = tree_.Put(*path, kv.mod_revision);
  if (added.hidden) {
    SetPending(*added.hidden, std::nullopt);
    Skip(prefix_ + *added.hidden, "has keys below it");
  }
  if (!added.is_file) return Skip(kv.key, "has keys below it");
  skipped_.erase(kv.key);
  SetPending(*path, std::move(kv.value));
}

void MirrorPlan::PutFetched(sync::KeyValue kv) {
  const auto path = MirrorPath(std::string_view(kv.key).substr(prefix_.size()));
  if (!path || !tree_.IsFile(*path) || kv.mod_revision < tree_.revision(*path)) return;
  Put(std::move(kv));
}

void MirrorPlan::Erase(const std::string& key) {
  skipped_.erase(key);
  const auto path = MirrorPath(std::string_view(key).substr(prefix_.size()));
  if (!path) return;
  const MirrorTree::Removed removed = tree_.Erase(*path);
  if (removed.was_file) SetPending(*path, std::nullopt);
  if (!removed.shown) return;
  skipped_.erase(prefix_ + *removed.shown);
  wanted_.push_back(prefix_ + *removed.shown);
}

std::vector<FileChange> MirrorPlan::TakeReady(std::size_t max) {
  std::vector<FileChange> ready;
  for (auto next = pending_.begin(); next != pending_.end() && ready.size() < max;) {
    if (MustWait(next->first, next->second)) {
      ++next;
      continue;
    }
    pending_bytes_ -= BytesOf(next->first, next->second);
    auto taken = pending_.extract(next++);
    ready.push_back({.path = std::move(taken.key()), .content = std::move(taken.mapped())});
  }
  return ready;
}

void MirrorPlan::GiveBack(FileChange change) { SetPending(change.path, std::move(change.content)); }

bool MirrorPlan::MustWait(std::string_view path, const std::optional<std::string>& content) const {
  return is_listing_ && content && pending_bytes_ < kMaxWaitingBytes &&
         last_listed_.starts_with(path);
}

std::optional<std::string> MirrorPlan::PathOf(const std::string& key) {
  auto path = MirrorPath(std::string_view(key).substr(prefix_.size()));
  if (path) return *std::move(path);
  Skip(key, path.error().message);
  return std::nullopt;
}

void MirrorPlan::Skip(const std::string& key, std::string why) {
  const auto before = skipped_before_.find(key);
  const bool is_known = before != skipped_before_.end() && before->second == why;
  const auto [place, is_new] = skipped_.try_emplace(key, why);
  if (!is_new && place->second == why) return;
  place->second = why;
  if (!is_known) warnings_.push_back("key " + ShownName(key) + " has no file: it " + why);
}

void MirrorPlan::SetPending(const std::string& path, std::optional<std::string> content) {
  const auto [place, is_new] = pending_.try_emplace(path);
  if (!is_new) pending_bytes_ -= BytesOf(path, place->second);
  place->second = std::move(content);
  pending_bytes_ += BytesOf(path, place->second);
}

}  // namespace kvorum::ctl

// The changes of files that a mirror has still to make: what keys and values demand of the folder,
// without the folder. While a list comes, a file whose key may turn out to have keys below it waits
// until the list has passed the place where they would be.
//
// For one thread. Memory: the keys' paths, and the values that wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sync/store/store.h"
#include "tools/mirror/mirror_folder.h"
#include "tools/mirror/mirror_tree.h"

namespace kvorum::ctl {

class MirrorPlan {
 public:
  explicit MirrorPlan(std::string prefix) : prefix_(std::move(prefix)) {}

  // A list replaces everything. Its keys come by Put, in order.
  void BeginList();
  // Files that were made and have no key any more are to go.
  void EndList(const std::set<std::string, std::less<>>& made);
  bool is_listing() const { return is_listing_; }

  void Put(sync::KeyValue kv);
  void Erase(const std::string& key);

  // Changes that can be made now, of at most `max` files.
  std::vector<FileChange> TakeReady(std::size_t max);
  // A change that could not be made, before anything else has happened.
  void GiveBack(FileChange change);
  std::size_t pending() const { return pending_.size(); }
  std::size_t pending_bytes() const { return pending_bytes_; }

  // Keys whose values are needed again, since those below them have gone.
  std::vector<std::string> TakeWanted() { return std::exchange(wanted_, {}); }
  void WantAgain(std::string key) { wanted_.push_back(std::move(key)); }
  // Such a key as the store has it; of an older value than the one known, nothing is taken.
  void PutFetched(sync::KeyValue kv);

  // Keys that have no file, with the reason, each once until it changes.
  std::vector<std::string> TakeWarnings() { return std::exchange(warnings_, {}); }
  std::size_t skipped() const { return skipped_.size(); }

 private:
  // Nothing if the key can have no file.
  std::optional<std::string> PathOf(const std::string& key);
  void Skip(const std::string& key, std::string why);
  void SetPending(const std::string& path, std::optional<std::string> content);
  bool MustWait(std::string_view path, const std::optional<std::string>& content) const;

  const std::string prefix_;
  MirrorTree tree_;
  std::map<std::string, std::optional<std::string>> pending_;  // nothing: the file is to go
  std::size_t pending_bytes_ = 0;
  std::map<std::string, std::string> skipped_;
  std::map<std::string, std::string> skipped_before_;  // as of before the list
  std::vector<std::string> warnings_;
  std::vector<std::string> wanted_;
  bool is_listing_ = false;
  std::string last_listed_;  // the path that the list has come to
};

}  // namespace kvorum::ctl

#include "server/replica/drive/stored_entries.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/member_id.h"
#include "base/log/logging.h"

namespace kvorum::server {
namespace {

// Cursors of followers that have long caught up are dropped when there are more.
constexpr std::size_t kMaxCursors = 4;

}  // namespace

void StoredEntries::Fetch(raft::Fetch fetch) {
  executor_.Post([this, fetch = std::move(fetch)] { Read(fetch); });
}

void StoredEntries::Read(const raft::Fetch& fetch) {
  if (cursors_.size() >= kMaxCursors && !cursors_.contains(fetch.peer)) cursors_.clear();
  wal::EntryCursor& cursor = cursors_.try_emplace(fetch.peer, fs_, wal_dir_).first->second;
  const auto term_of = [&](raft::Index index) {
    const auto next = std::ranges::upper_bound(fetch.terms, index, {}, &raft::Log::TermRun::first);
    return next == fetch.terms.begin() ? raft::Term{} : std::prev(next)->term;
  };
  auto entries = cursor.Read(fetch.from, fetch.to, fetch.max_size_bytes, term_of);
  if (!entries.has_value()) {
    KV_WARN("could not read entries for a member from the log; it gets a snapshot",
            {"peer", IdText(fetch.peer)}, {"index", fetch.from},
            {"error", entries.error().message});
    cursors_.erase(fetch.peer);
    entries.emplace();
  }
  answer_(fetch.peer, fetch.from, *std::move(entries));
}

}  // namespace kvorum::server

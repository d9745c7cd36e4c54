// Random histories, watchers and delays compared with a list of events. Each watcher must get
// exactly the events of its range from its start on, in order, each revision in one message (except
// fragments), until it is cancelled or gets a compaction that removed the events it needs;
// progress never runs ahead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "tests/watch/watch_fixture.h"

namespace kvorum::watch {
namespace {

using mvcc::kOpenEnd;

struct Expectation {
  std::string key;
  std::string end;
  std::int64_t from = 0;  // the first revision it may see
  Wanted wanted;
  bool ended = false;
  std::optional<std::int64_t> compacted = {};
  std::vector<SeenEvent> seen = {};
  std::int64_t last_complete = 0;  // no further event of this revision may come
  std::int64_t fragment_of = 0;    // the revision that a fragment left open
};

class Fuzzer : public WatchHarness {
 public:
  explicit Fuzzer(std::uint64_t seed) : WatchHarness(Options(seed)), rng_(seed) {
    for (int i = 0; i < 4; ++i) AddClient();
  }

  void Step() {
    const std::uint64_t choice = rng_.Below(100);
    if (choice < 35) {
      Write();
    } else if (choice < 38) {
      MaybeCompact();
    } else if (choice < 48) {
      CreateOne();
    } else if (choice < 51) {
      CancelOne();
    } else if (choice < 56) {
      Pick().client->RequestProgress();
    } else if (choice < 66) {
      Take(Pick());
    } else if (choice == 66 && rng_.OneIn(3)) {
      ReplaceClient();
    } else {
      RunSome();
    }
  }

  void Finish() {
    for (int quiet = 0; quiet < 2;) {
      Settle();
      RunAll();
      bool got = false;
      for (auto& peer : peers_) got |= Take(*peer);
      quiet = got ? 0 : quiet + 1;
    }
    for (auto& peer : peers_) {
      for (auto& [id, watcher] : peer->watchers) CheckComplete(*peer, id, watcher);
      peer->client->RequestProgress();
      Take(*peer);
    }
    EXPECT_EQ(hub->LargestLag().unsynced, 0);
    EXPECT_EQ(hub->LargestLag().awaited, 0);
  }
  int compacted() const { return compacted_; }
  int progress() const { return progress_; }
  // Some watcher that was not synced was awaited, and some was not.
  bool was_awaited() const { return was_awaited_; }
  bool was_silent() const { return was_silent_; }

 private:
  struct Peer {
    std::unique_ptr<Client> client;
    std::map<std::int64_t, Expectation> watchers;
    std::deque<Expectation> asked;  // for which no answer was read
  };

  static HubOptions Options(std::uint64_t seed) {
    Rng rng(seed + 1'000);
    HubOptions options;
    options.seed = seed;
    options.bodies = {.full_bytes = 50 + rng.Below(400),
                      .revisions = static_cast<std::int64_t>(1 + rng.Below(20)),
                      .fragment_bytes = 150 + rng.Below(200)};
    options.catch_up = {.join_revisions = static_cast<std::int64_t>(rng.Below(30)),
                        .jobs = 1 + rng.Below(6),
                        .records = 1 + rng.Below(40),
                        .read_bytes = 1 + rng.Below(2'000),
                        .bytes = 1 + rng.Below(600),
                        .stream_bytes = 1 + rng.Below(300),
                        .untaken_bytes = 1 + rng.Below(1'000)};
    options.inbox_batches = 1 + rng.Below(10);
    options.recent_bytes = rng.Below(3'000);
    options.previous_bytes = 1 + rng.Below(600);
    options.progress_interval = std::chrono::seconds(1);
    options.silence = std::chrono::milliseconds(rng.Below(2'000));
    return options;
  }

  Peer& Pick() { return *peers_[rng_.Below(peers_.size())]; }
  std::string Key() { return std::string(1, static_cast<char>('a' + rng_.Below(6))); }

  void AddClient() {
    auto peer = std::make_unique<Peer>();
    peer->client = std::make_unique<Client>(hub->shard(rng_.Below(2)));
    peer->client->sink.room_bytes = rng_.OneIn(2) ? 1 + rng_.Below(400) : 1'000'000;
    peers_.push_back(std::move(peer));
  }
  void ReplaceClient() {
    peers_.erase(peers_.begin() + static_cast<std::ptrdiff_t>(rng_.Below(peers_.size())));
    AddClient();
  }

  // A few entries in one batch.
  void Write() {
    for (std::uint64_t entries = 1 + rng_.Below(3); entries > 0; --entries) WriteEntry();
    Publish();
  }
  void WriteEntry() {
    mvcc::WriteTxn txn = store->Begin();
    const std::int64_t revision = store->working_revision() + 1;
    const auto put = [&](const std::string& key) {
      const std::string value = std::to_string(revision) + std::string(rng_.Below(30), 'v');
      mvcc::Ok(txn.Put(mvcc::Put(key, value)));
      AddEvent({.is_delete = false, .key = key, .value = value, .mod_revision = revision});
    };
    switch (rng_.Below(4)) {
      case 0: {
        const std::string key = Key();
        const std::string end = rng_.OneIn(2) ? std::string() : Key();
        std::vector<std::string> gone;
        for (const auto& [live, value] : live_) {
          if (KeyRange(key, end).Contains(live)) gone.push_back(live);
        }
        mvcc::Ok(txn.DeleteRange(mvcc::Delete(key, end)));
        for (const auto& each : gone)
          AddEvent({.is_delete = true, .key = each, .mod_revision = revision});
        break;
      }
      case 1:
        for (char c = 'a'; c < 'a' + 4; ++c) put(std::string(1, c));
        break;
      default:
        put(Key());
    }
    txn.End();
  }
  void AddEvent(SeenEvent event) {
    if (const auto before = live_.find(event.key); before != live_.end()) {
      event.has_prev = true;
      event.prev_value = before->second;
    }
    if (event.is_delete) {
      live_.erase(event.key);
    } else {
      live_[event.key] = event.value;
    }
    history_.push_back(event);
  }

  void MaybeCompact() {
    const std::int64_t span = revision() - store->compact_revision();
    if (span < 3) return;
    Compact(std::max<std::int64_t>(store->compact_revision(), 0) + 1 +
            static_cast<std::int64_t>(rng_.Below(static_cast<std::uint64_t>(span) - 1)));
  }

  void CreateOne() {
    Peer& peer = Pick();
    if (peer.watchers.size() > 30) return;
    CreateRequest request;
    const std::string key = Key();
    std::string end;
    if (rng_.OneIn(3)) end = kOpenEnd;
    if (rng_.OneIn(3)) end = "g";
    request.key = key;
    request.range_end = end;
    request.wanted = {.no_put = rng_.OneIn(8),
                      .no_delete = rng_.OneIn(8),
                      .prev_kv = rng_.OneIn(3),
                      .fragment = rng_.OneIn(3)};
    request.progress_notify = rng_.OneIn(3);
    const std::int64_t compacted = std::max<std::int64_t>(store->compact_revision(), 0);
    if (!rng_.OneIn(3)) {
      const std::int64_t low = std::max<std::int64_t>(1, compacted - 2);
      request.start_revision =
          low +
          static_cast<std::int64_t>(rng_.Below(static_cast<std::uint64_t>(revision() - low) + 8));
    }
    peer.client->Create(request);
    // Known to the client, with its id, once it reads the answer.
    peer.asked.push_back(
        {.key = key, .end = end, .from = request.start_revision, .wanted = request.wanted});
  }
  void CancelOne() {
    Peer& peer = Pick();
    Take(peer);
    if (peer.watchers.empty()) return;
    const auto at = std::next(peer.watchers.begin(),
                              static_cast<std::ptrdiff_t>(rng_.Below(peer.watchers.size())));
    const bool live = !at->second.ended;
    peer.client->Cancel(at->first);
    Take(peer);
    EXPECT_TRUE(at->second.ended);
    if (live) CheckPrefix(at->first, at->second);
  }

  void RunSome() {
    for (std::uint64_t steps = 1 + rng_.Below(6); steps > 0; --steps) {
      switch (rng_.Below(5)) {
        case 0:
          executors->RunOneOf(rng_);
          break;
        case 1:
          watch.RunOne();
          break;
        case 2:
          executors->clock.Advance(std::chrono::milliseconds(rng_.Below(200)));
          break;
        default:
          rng_.OneIn(2) ? io.RunOne() : other_io.RunOne();
      }
    }
    hub->shard(0).CheckInvariants();
    hub->shard(1).CheckInvariants();
    CheckLag();
  }
  // No write waits for more than there is to wait for.
  void CheckLag() {
    const Hub::Lag lag = hub->LargestLag();
    EXPECT_LE(lag.synced, lag.awaited);
    EXPECT_LE(lag.awaited, std::max(lag.synced, lag.unsynced));
    was_awaited_ |= lag.awaited > lag.synced;
    was_silent_ |= lag.unsynced > lag.awaited;
  }

  // True if something came.
  bool Take(Peer& peer) {
    const auto messages = peer.client->Read();
    for (const auto& message : messages) Judge(peer, message);
    return !messages.empty();
  }
  void Judge(Peer& peer, const SeenMessage& message) {
    if (message.created) {
      ASSERT_FALSE(peer.asked.empty() || peer.watchers.contains(message.watch_id));
      Expectation& watcher = peer.watchers[message.watch_id] = peer.asked.front();
      peer.asked.pop_front();
      if (watcher.from == 0) watcher.from = message.revision + 1;
      return;
    }
    if (message.watch_id == kNoWatchId) {
      ++progress_;
      for (auto& [id, watcher] : peer.watchers) CheckProgress(id, watcher, message.revision);
      return;
    }
    ASSERT_TRUE(peer.watchers.contains(message.watch_id)) << message.Text();
    Expectation& watcher = peer.watchers[message.watch_id];
    if (message.canceled) {
      watcher.ended = true;
      if (message.compact_revision != 0) {
        ++compacted_;
        watcher.compacted = message.compact_revision;
        CheckPrefix(message.watch_id, watcher);
      }
      return;
    }
    ASSERT_FALSE(watcher.ended) << message.Text();
    if (message.events.empty()) {
      ++progress_;
      return CheckProgress(message.watch_id, watcher, message.revision);
    }
    for (const auto& event : message.events) {
      ASSERT_GT(event.mod_revision, watcher.last_complete) << message.Text();
      ASSERT_LE(event.mod_revision, message.revision) << "the header is behind its events";
      watcher.seen.push_back(event);
    }
    if (watcher.fragment_of != 0) {
      ASSERT_EQ(message.events.front().mod_revision, watcher.fragment_of);
    }
    const std::int64_t last = message.events.back().mod_revision;
    ASSERT_TRUE(!message.fragment || watcher.wanted.fragment);
    watcher.fragment_of = message.fragment ? last : 0;
    watcher.last_complete = message.fragment ? last - 1 : last;
  }

  std::vector<SeenEvent> Expected(const Expectation& watcher, std::int64_t up_to) {
    std::vector<SeenEvent> events;
    for (const SeenEvent& event : history_) {
      if (event.mod_revision < watcher.from || event.mod_revision > up_to) continue;
      if (!KeyRange(watcher.key, watcher.end).Contains(event.key)) continue;
      if (event.is_delete ? watcher.wanted.no_delete : watcher.wanted.no_put) continue;
      events.push_back(event);
    }
    return events;
  }
  // Previous values may be gone by compaction, never wrong.
  void ExpectSame(std::int64_t id, const Expectation& watcher, std::vector<SeenEvent> expected) {
    ASSERT_EQ(watcher.seen.size(), expected.size()) << "watcher " << id << " of " << watcher.key;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const SeenEvent& seen = watcher.seen[i];
      if (!watcher.wanted.prev_kv ||
          (!seen.has_prev && seen.mod_revision - 1 < store->compact_revision())) {
        ASSERT_FALSE(seen.has_prev);
        expected[i].has_prev = false;
        expected[i].prev_value.clear();
      }
      ASSERT_EQ(seen.Text(), expected[i].Text()) << "watcher " << id;
    }
  }
  void CheckProgress(std::int64_t id, const Expectation& watcher, std::int64_t revision) {
    if (watcher.ended) return;
    EXPECT_GE(revision + 1, watcher.from) << "progress before the start of watcher " << id;
    ExpectSame(id, watcher, Expected(watcher, revision));
  }
  void CheckPrefix(std::int64_t id, const Expectation& watcher) {
    auto expected = Expected(watcher, revision());
    ASSERT_LE(watcher.seen.size(), expected.size());
    expected.resize(watcher.seen.size());
    ExpectSame(id, watcher, expected);
    if (watcher.compacted) {
      EXPECT_LT(std::max(watcher.last_complete, watcher.from - 1), *watcher.compacted)
          << "nothing that it needs was compacted";
    }
  }
  void CheckComplete(const Peer& peer, std::int64_t id, const Expectation& watcher) {
    if (watcher.ended) return;
    ASSERT_EQ(peer.client->sink.unread_bytes, 0U);
    ExpectSame(id, watcher, Expected(watcher, revision()));
  }

  Rng rng_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::map<std::string, std::string> live_;
  std::vector<SeenEvent> history_;
  int compacted_ = 0;
  int progress_ = 0;
  bool was_awaited_ = false;
  bool was_silent_ = false;
};

class WatchPropertyTest : public testing::TestWithParam<int> {};

TEST_P(WatchPropertyTest, EveryWatcherGetsExactlyItsEvents) {
  int compacted = 0;
  int progress = 0;
  int awaited = 0;
  int silent = 0;
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << GetParam() * 25 + static_cast<int>(seed));
    Fuzzer fuzzer(static_cast<std::uint64_t>(GetParam()) * 25 + seed);
    for (int i = 0; i < 1'500 && !testing::Test::HasFailure(); ++i) fuzzer.Step();
    if (testing::Test::HasFailure()) return;
    fuzzer.Finish();
    compacted += fuzzer.compacted();
    progress += fuzzer.progress();
    awaited += fuzzer.was_awaited() ? 1 : 0;
    silent += fuzzer.was_silent() ? 1 : 0;
  }
  EXPECT_GT(compacted, 10) << "the compaction cancel was met";
  EXPECT_GT(progress, 100) << "progress was met";
  EXPECT_GT(awaited, 10) << "watchers were awaited";
  EXPECT_GT(silent, 10) << "watchers were not";
}

INSTANTIATE_TEST_SUITE_P(Seeds, WatchPropertyTest, testing::Range(0, 4));

}  // namespace
}  // namespace kvorum::watch

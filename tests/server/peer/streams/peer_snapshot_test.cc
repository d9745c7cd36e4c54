// Snapshots on their way between transports, to our members and to etcd's.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/entries/internal_request.h"
#include "mvcc/lmdb/backend.h"
#include "tests/eventually.h"
#include "tests/server/peer/peer_transport_fixture.h"
#include "tests/server/peer/scripted_server.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using raft::Message;
using raft::MessageType;

class BytesSource final : public mvcc::SnapshotSource {
 public:
  BytesSource(std::string bytes, std::size_t chunk_bytes)
      : bytes_(std::move(bytes)), chunk_bytes_(chunk_bytes) {}
  Result<SharedBytes> Next() override {
    const std::string_view chunk = std::string_view(bytes_).substr(position_, chunk_bytes_);
    position_ += chunk.size();
    return SharedBytes::Copy(chunk);
  }

 private:
  const std::string bytes_;
  const std::size_t chunk_bytes_;
  std::size_t position_ = 0;
};

// The same for a peer that may be etcd's.
class AnyFormat final : public mvcc::SnapshotSource {
 public:
  AnyFormat(std::string bytes, std::size_t chunk_bytes) : bytes_(std::move(bytes), chunk_bytes) {}
  Result<void> Use(mvcc::SnapshotFormat) override { return {}; }
  Result<SharedBytes> Next() override { return bytes_.Next(); }

 private:
  BytesSource bytes_;
};

class BrokenSource final : public mvcc::SnapshotSource {
 public:
  Result<SharedBytes> Next() override {
    if (calls_++ < 2) return SharedBytes::Static("good so far");
    return Fail(Code::kDataLoss, "a damaged record");
  }

 private:
  int calls_ = 0;
};

// A chunk, then nothing until it is asked to end.
class StuckSource final : public mvcc::SnapshotSource {
 public:
  explicit StuckSource(std::shared_future<void> go) : go_(std::move(go)) {}
  Result<SharedBytes> Next() override {
    if (std::exchange(given_, true)) {
      go_.wait();
      return SharedBytes();
    }
    return SharedBytes::Own(std::string(1 << 20, 's'));
  }

 private:
  std::shared_future<void> go_;
  bool given_ = false;
};

Message Snap(raft::MemberId from, raft::MemberId to) {
  auto snapshot = std::make_shared<raft::Snapshot>();
  snapshot->metadata = {.conf_state = {.voters = {1, 2}}, .index = 500, .term = 3};
  return {.type = MessageType::kSnap, .to = to, .from = from, .term = 3, .snapshot = snapshot};
}

class PeerSnapshotTest : public PeerTransportTest {
 protected:
  // The outcome reported by SnapshotSent.
  bool Sent(std::unique_ptr<mvcc::SnapshotSource> source) {
    a_.transport().SendSnapshot(Snap(1, 2), std::move(source));
    EXPECT_TRUE(a_.receiver().Until([&] { return !a_.receiver().snapshots_sent.empty(); }));
    return a_.receiver().snapshots_sent.at(0);
  }
  static std::string Content(std::size_t size_bytes) {
    std::string content(size_bytes, '\0');
    for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 >> 3);
    return content;
  }
};

INSTANTIATE_TEST_SUITE_P(Plain, PeerSnapshotTest, testing::Values("Plain"));
INSTANTIATE_TEST_SUITE_P(Tls, PeerSnapshotTest, testing::Values("Tls"));

TEST_P(PeerSnapshotTest, ItsContentArrivesWhole) {
  StartBoth();
  const std::string content = Content(3'000'017);
  EXPECT_TRUE(Sent(std::make_unique<BytesSource>(content, 100'000)));
  ASSERT_EQ(b_.receiver().snapshots.size(), 1);
  EXPECT_EQ(b_.receiver().snapshots[0], content);
  EXPECT_EQ(b_.receiver().snapshot_messages.at(0), Snap(1, 2));
  EXPECT_EQ(a_.transport().counters().sent_snapshots, 1);
}

// A disk with other work may take longer for a sync than a message may take to be acknowledged.
TEST_P(PeerSnapshotTest, APeerWhoseDiskStallsForTenSecondsGetsItAll) {
  b_.receiver().first_write_takes = std::chrono::seconds(10);
  StartBoth();
  std::string content;
  content.resize(32'000'000, 's');
  EXPECT_TRUE(Sent(std::make_unique<BytesSource>(content, 1'000'000)));
  ASSERT_EQ(b_.receiver().snapshots.size(), 1);
  EXPECT_EQ(b_.receiver().snapshots[0].size(), content.size());
}

TEST_P(PeerSnapshotTest, AnEmptyContentIsOneToo) {
  StartBoth();
  EXPECT_TRUE(Sent(std::make_unique<BytesSource>("", 1)));
  ASSERT_EQ(b_.receiver().snapshots.size(), 1);
  EXPECT_EQ(b_.receiver().snapshots[0], "");
}

TEST_P(PeerSnapshotTest, ASourceThatFailsLeavesNothingAtTheOtherEnd) {
  StartBoth();
  EXPECT_FALSE(Sent(std::make_unique<BrokenSource>()));
  ASSERT_TRUE(b_.receiver().Until([&] {
    return b_.receiver().dropped_sinks == static_cast<int>(b_.receiver().snapshot_messages.size());
  }));
  EXPECT_TRUE(b_.receiver().snapshots.empty());
}

TEST_P(PeerSnapshotTest, AnEndThatTakesNoneIsAFailure) {
  b_.receiver().sink_error = Error{Code::kUnavailable, "another snapshot is being received"};
  StartBoth();
  EXPECT_FALSE(Sent(std::make_unique<BytesSource>(Content(5'000'000), 100'000)));
}

TEST_P(PeerSnapshotTest, OnlyOneAtATimeGoesToAPeer) {
  StartBoth();
  std::promise<void> go;
  a_.transport().SendSnapshot(Snap(1, 2), std::make_unique<StuckSource>(go.get_future().share()));
  a_.transport().SendSnapshot(Snap(1, 2),
                              std::make_unique<BytesSource>(Content(1'000'000), 10'000));
  EXPECT_TRUE(a_.receiver().Until([&] { return !a_.receiver().snapshots_sent.empty(); }));
  go.set_value();
  ASSERT_TRUE(a_.receiver().Until([&] { return a_.receiver().snapshots_sent.size() == 2; }));
  EXPECT_EQ(a_.receiver().snapshots_sent, (std::vector<bool>{false, true}));
}

TEST_P(PeerSnapshotTest, ToAPeerThatIsGoneItIsAFailure) {
  a_.Start(ViewOf({&a_}));
  EXPECT_FALSE(Sent(std::make_unique<BytesSource>("x", 1)));
}

// A peer that answers like etcd's, which state no format.
class EtcdPeerTest : public testing::Test {
 protected:
  class Source final : public mvcc::SnapshotSource {
   public:
    Source(std::atomic<int>& used, const std::atomic<bool>& posted, std::atomic<bool>& was_early)
        : used_(used), posted_(posted), was_early_(was_early) {}
    Result<void> Use(mvcc::SnapshotFormat format) override {
      used_ = format == mvcc::SnapshotFormat::kEtcd ? 2 : 1;
      return {};
    }
    // It takes its time.
    Result<bool> Prepare() override {
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
      while (!posted_ && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      was_early_ = !posted_;
      return ++parts_ == 10;
    }
    Result<SharedBytes> Next() override {
      if (std::exchange(given_, true)) return SharedBytes();
      return SharedBytes::Static("the first page");
    }

   private:
    std::atomic<int>& used_;
    const std::atomic<bool>& posted_;
    std::atomic<bool>& was_early_;
    int parts_ = 0;
    bool given_ = false;
  };

  // Returns the head of the post; empty if there was none.
  std::string HeadOfPost(const std::string& headers_of_answers) {
    ScriptedServer etcd([&](const ScriptedServer::Request& request) -> ScriptedServer::Reply {
      if (request.head.starts_with("POST")) {
        if (request.head.starts_with("POST /raft/snapshot")) posted_ = true;
        return {.text = ScriptedServer::NoContent(), .then = ScriptedServer::Then::kEnd};
      }
      const bool is_probe = request.head.starts_with("GET /raft/probing");
      return {.text = (is_probe ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 404 Not Found\r\n") +
                      headers_of_answers + "Content-Length: 0\r\n\r\n"};
    });
    TestPeer us(1, TestPeer::FastOptions());
    MembershipView view = ViewOf({&us});
    view.members[2] = MemberAt(2, {etcd.url()});
    us.Start(view);
    us.transport().SendSnapshot(Snap(1, 2), std::make_unique<Source>(used_, posted_, was_early_));
    EXPECT_TRUE(us.receiver().Until([&] { return !us.receiver().snapshots_sent.empty(); }));
    us.Stop();
    for (const auto& request : etcd.requests()) {
      if (request.head.starts_with("POST /raft/snapshot")) return request.head;
    }
    return "";
  }

  std::atomic<int> used_ = 0;
  std::atomic<bool> posted_ = false;
  std::atomic<bool> was_early_ = false;
};

TEST_F(EtcdPeerTest, ItGetsEtcdsFileWithoutOurHeader) {
  const std::string head = HeadOfPost("");
  EXPECT_TRUE(head.starts_with("POST /raft/snapshot HTTP/1.1\r\n")) << head;
  EXPECT_FALSE(head.contains("Kvorum")) << head;
  EXPECT_EQ(used_, 2);
}

// Etcd closes a connection that brings nothing for five seconds, and the first page of its file
// comes after a walk over the whole database.
TEST_F(EtcdPeerTest, TheLongReadIsOverBeforeItIsPosted) {
  EXPECT_NE(HeadOfPost(""), "");
  EXPECT_TRUE(was_early_);
}

// A pause after all of a large record at once would outlast those five seconds.
TEST(PeerSnapshotPieces, ALargeChunkIsWrittenOneMebibyteAtATime) {
  ScriptedServer etcd([&](const ScriptedServer::Request& request) -> ScriptedServer::Reply {
    if (request.head.starts_with("POST /raft/snapshot"))
      return {.text = {}, .then = ScriptedServer::Then::kTake};
    if (request.head.starts_with("POST")) return {.text = ScriptedServer::NoContent()};
    return {.text = request.head.starts_with("GET /raft/probing")
                        ? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
                        : "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"};
  });
  TestPeer us(1, TestPeer::FastOptions());
  MembershipView view = ViewOf({&us});
  view.members[2] = MemberAt(2, {etcd.url()});
  us.Start(view);
  us.transport().SendSnapshot(Snap(1, 2),
                              std::make_unique<AnyFormat>(std::string(7'500'000, 'v'), 7'000'000));
  ASSERT_TRUE(us.receiver().Until([&] { return !us.receiver().snapshots_sent.empty(); }));
  EXPECT_TRUE(us.receiver().snapshots_sent[0]);
  us.Stop();
  std::vector<std::size_t> sizes = etcd.chunk_sizes();
  sizes.erase(sizes.begin());  // the message
  EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), 7'500'000U);
  EXPECT_LE(*std::ranges::max_element(sizes), std::size_t{1} << 20);
}

// Prepares for ever, one part after another.
class UnpreparedSource final : public mvcc::SnapshotSource {
 public:
  explicit UnpreparedSource(std::atomic<int>& parts) : parts_(parts) {}
  Result<void> Use(mvcc::SnapshotFormat) override { return {}; }
  Result<bool> Prepare() override {
    ++parts_;
    return false;
  }
  Result<SharedBytes> Next() override { return Fail(Code::kInternal, "it is not prepared"); }

 private:
  std::atomic<int>& parts_;
};

// One thread reads for all transfers.
TEST_P(PeerSnapshotTest, OneGoesOnWhileAnotherIsPrepared) {
  TestPeer c(3, Options());
  a_.Start(ViewOf({&a_, &b_, &c}));
  b_.Start(ViewOf({&a_, &b_, &c}));
  c.Start(ViewOf({&a_, &b_, &c}));
  std::atomic<int> parts = 0;
  a_.transport().SendSnapshot(Snap(1, 3), std::make_unique<UnpreparedSource>(parts));
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (parts < 3 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  const std::string content = Content(3'000'000);
  EXPECT_TRUE(Sent(std::make_unique<BytesSource>(content, 10'000)));
  EXPECT_EQ(b_.receiver().snapshots.at(0), content);
  const int parts_then = parts;
  while (parts == parts_then && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_GT(parts, parts_then) << "nor does it wait for the other";
  a_.Stop();  // it ends though the source never does
  c.Stop();
}

TEST_P(PeerSnapshotTest, OneGoesOnWhileAnotherIsFinished) {
  b_.receiver().finishes_for_ever = true;
  StartBoth();
  a_.transport().SendSnapshot(Snap(1, 2), std::make_unique<BytesSource>(Content(100), 10));
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (b_.receiver().finish_parts < 3 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  const std::string content = Content(3'000'000);
  b_.transport().SendSnapshot(Snap(2, 1), std::make_unique<BytesSource>(content, 10'000));
  EXPECT_TRUE(b_.receiver().Until([&] { return !b_.receiver().snapshots_sent.empty(); }));
  EXPECT_EQ(b_.receiver().snapshots_sent, std::vector<bool>{true});
  EXPECT_EQ(a_.receiver().snapshots.at(0), content);
  EXPECT_TRUE(b_.receiver().snapshots.empty());
  b_.Stop();  // it ends though the sink never does
  EXPECT_EQ(b_.receiver().dropped_sinks, 1);
}

// Its reader holds up the database that it reads, which cannot wait for a peer.
TEST_P(PeerSnapshotTest, ASourceWhoseReaderMustEndIsDroppedThoughThePeerIsWaitedFor) {
  class Source final : public mvcc::SnapshotSource {
   public:
    explicit Source(std::atomic<bool>& lives) : lives_(lives) { lives_ = true; }
    ~Source() override { lives_ = false; }
    Result<SharedBytes> Next() override {
      if (std::exchange(given_, true)) return SharedBytes();
      return SharedBytes::Static("the only chunk");
    }
    Result<void> Look() override {
      if (given_) return mvcc::kReaderMustEnd.Fail();
      return {};
    }

   private:
    std::atomic<bool>& lives_;
    bool given_ = false;
  };
  b_.receiver().finishes_for_ever = true;
  StartBoth();
  std::atomic<bool> lives = false;
  EXPECT_FALSE(Sent(std::make_unique<Source>(lives)));
  EXPECT_TRUE(Eventually([&] { return !lives; }));
  b_.Stop();
}

TEST_F(EtcdPeerTest, OneOfOursGetsOurs) {
  const std::string head = HeadOfPost("X-Kvorum-Snapshot-Format: 1\r\n");
  EXPECT_TRUE(head.contains("X-Kvorum-Snapshot-Format: 1\r\n")) << head;
  EXPECT_EQ(used_, 1);
}

TEST_F(EtcdPeerTest, OneOfAnotherFormatGetsNone) {
  EXPECT_EQ(HeadOfPost("X-Kvorum-Snapshot-Format: 9\r\n"), "");
  EXPECT_EQ(used_, 0);
}

TEST_P(PeerSnapshotTest, OneUnderWayFailsWhenThePeerIsDropped) {
  a_.Start(ViewOf({&a_, &b_}));  // b accepts, and never answers
  a_.transport().SendSnapshot(Snap(1, 2), std::make_unique<BytesSource>(Content(100), 10));
  a_.transport().SetMembers(std::make_shared<const MembershipView>(ViewOf({&a_})));
  ASSERT_TRUE(a_.receiver().Until([&] { return !a_.receiver().snapshots_sent.empty(); }));
  EXPECT_EQ(a_.receiver().snapshots_sent, std::vector<bool>{false});
}

TEST_P(PeerSnapshotTest, HeartbeatsPassOneThatStands) {
  StartBoth();
  AwaitStreams();
  std::promise<void> go;
  a_.transport().SendSnapshot(Snap(1, 2), std::make_unique<StuckSource>(go.get_future().share()));
  ASSERT_TRUE(b_.receiver().Until([&] { return !b_.receiver().snapshot_messages.empty(); }));
  AwaitDelivery(a_, b_);
  go.set_value();
  ASSERT_TRUE(a_.receiver().Until([&] { return !a_.receiver().snapshots_sent.empty(); }));
  EXPECT_TRUE(a_.receiver().snapshots_sent[0]);
}

}  // namespace
}  // namespace kvorum::server

// etcd's three checks of the members' hashes, beside scripted peers; and the answers of peers.
#include "server/integrity/hash_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/api_errors.h"
#include "base/log/logging.h"

namespace kvorum::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr raft::MemberId kSelf{1};
constexpr raft::MemberId kPeerTwo{2};
constexpr raft::MemberId kPeerThree{3};

PeerHash Hashed(std::uint32_t hash, std::int64_t revision = 10, std::int64_t compacted = -1) {
  return {.hash = {.hash = hash, .revision = revision, .compact_revision = compacted},
          .current_revision = revision};
}

class ScriptedSource final : public HashSource {
 public:
  raft::MemberId member_id() const override { return kSelf; }
  Duration timeout() const override { return std::chrono::seconds(7); }
  Result<PeerHash> OwnHash(std::int64_t) override {
    PeerHash hash = own.front();
    if (own.size() > 1) own.pop_front();
    return hash;
  }
  std::vector<mvcc::KvHash> CompactionHashes() override { return compactions; }
  std::vector<PeerHashAnswer> PeerHashes(std::int64_t revision) override {
    asked.push_back(revision);
    std::vector<PeerHashAnswer> answers;
    for (const auto& [id, hash] : peers) answers.push_back({.id = id, .urls = {}, .hash = hash});
    if (const auto at = peers_at.find(revision); at != peers_at.end()) {
      for (const auto& [id, hash] : at->second)
        answers.push_back({.id = id, .urls = {}, .hash = hash});
    }
    return answers;
  }
  Result<void> CatchUp() override { return caught_up; }
  void RaiseAlarm(raft::MemberId member) override { alarms.push_back(member); }

  std::deque<PeerHash> own = {Hashed(7)};
  std::map<raft::MemberId, Result<PeerHash>> peers;
  std::map<std::int64_t, std::map<raft::MemberId, Result<PeerHash>>> peers_at;
  std::vector<mvcc::KvHash> compactions;
  Result<void> caught_up;
  std::vector<std::int64_t> asked;
  std::vector<raft::MemberId> alarms;
};

class HashChecksTest : public testing::Test {
 protected:
  HashChecksTest() { SetLogLevel(LogLevel::kFatal); }

  ScriptedSource source_;
  HashChecks checks_{source_};
};

// ---- at the start ----

TEST_F(HashChecksTest, AMemberThatEqualsItsPeersMayStart) {
  source_.peers = {{kPeerTwo, Hashed(7)}, {kPeerThree, Hashed(7)}};
  EXPECT_TRUE(checks_.AtStart().has_value());
  EXPECT_THAT(source_.asked, ElementsAre(10)) << "at the revision of its own hash";
}

TEST_F(HashChecksTest, AMemberThatDiffersFromOnePeerMayNotStart) {
  source_.peers = {{kPeerTwo, Hashed(7)}, {kPeerThree, Hashed(8)}};
  const auto checked = checks_.AtStart();
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().message, "1 found data inconsistency with peers");
  EXPECT_THAT(source_.alarms, IsEmpty());
}

TEST_F(HashChecksTest, AHashOfAnotherCompactionOrNoneProvesNothing) {
  source_.peers = {{kPeerTwo, Hashed(8, 10, 5)}, {kPeerThree, kErrFutureRev.Fail()}};
  EXPECT_TRUE(checks_.AtStart().has_value());
}

// It has compacted at that revision, at which no key lives.
TEST_F(HashChecksTest, APeerAtTheOtherSideOfACompactionIsEqual) {
  PeerHash own = Hashed(7, 10, 5);
  own.hash.other_hash = 9;
  source_.own = {own};
  source_.compactions = {own.hash};
  source_.peers = {{kPeerTwo, Hashed(9, 10, 5)}, {kPeerThree, Hashed(7, 10, 5)}};
  EXPECT_TRUE(checks_.AtStart().has_value());
  EXPECT_TRUE(checks_.Periodic().has_value());
  checks_.OfCompactions();
  EXPECT_THAT(source_.alarms, IsEmpty());

  source_.own = {own, Hashed(9, 10, 5)};  // this member itself has compacted meanwhile
  EXPECT_TRUE(checks_.Periodic().has_value());
  EXPECT_THAT(source_.alarms, IsEmpty());

  source_.peers.at(kPeerTwo) = Hashed(8, 10, 5);
  source_.compactions.front().revision = 11;
  checks_.OfCompactions();
  EXPECT_THAT(source_.alarms, ElementsAre(kPeerTwo));
}

// ---- periodically ----

TEST_F(HashChecksTest, EqualMembersRaiseNoAlarm) {
  source_.peers = {{kPeerTwo, Hashed(7)}, {kPeerThree, Hashed(7)}};
  EXPECT_TRUE(checks_.Periodic().has_value());
  EXPECT_THAT(source_.alarms, IsEmpty());
}

TEST_F(HashChecksTest, AFollowerWithAnotherHashIsAlarmed) {
  source_.peers = {{kPeerTwo, Hashed(7)}, {kPeerThree, Hashed(8)}};
  EXPECT_TRUE(checks_.Periodic().has_value());
  EXPECT_THAT(source_.alarms, ElementsAre(kPeerThree));
}

TEST_F(HashChecksTest, OneAlarmARoundIsEnough) {
  source_.peers = {{kPeerTwo, Hashed(9)}, {kPeerThree, Hashed(8)}};
  EXPECT_TRUE(checks_.Periodic().has_value());
  EXPECT_THAT(source_.alarms, ElementsAre(kPeerTwo));
}

TEST_F(HashChecksTest, AFollowerAheadOfTheLeaderIsAlarmed) {
  PeerHash ahead = Hashed(7);
  ahead.current_revision = 11;
  source_.peers = {{kPeerTwo, ahead}};
  EXPECT_TRUE(checks_.Periodic().has_value());
  EXPECT_THAT(source_.alarms, ElementsAre(kPeerTwo));
}

TEST_F(HashChecksTest, AFollowerThatHasCompactedWhatTheLeaderHasNotIsAlarmed) {
  source_.peers = {{kPeerTwo, Hashed(7, 10, 6)}};
  source_.own = {Hashed(7, 10, 5)};
  EXPECT_TRUE(checks_.Periodic().has_value());
  EXPECT_THAT(source_.alarms, ElementsAre(kPeerTwo));
}

TEST_F(HashChecksTest, AFollowerThatHasCompactedSinceProvesNothing) {
  source_.own = {Hashed(7, 10, 5), Hashed(9, 12, 6)};
  source_.peers = {{kPeerTwo, Hashed(8, 10, 6)}};
  EXPECT_TRUE(checks_.Periodic().has_value());
  EXPECT_THAT(source_.alarms, IsEmpty());
}

TEST_F(HashChecksTest, ALeaderWhoseOwnHashChangesIsAlarmed) {
  source_.own = {Hashed(7), Hashed(8)};
  source_.peers = {{kPeerTwo, Hashed(7)}};
  EXPECT_TRUE(checks_.Periodic().has_value());
  EXPECT_THAT(source_.alarms, ElementsAre(kSelf));
}

TEST_F(HashChecksTest, WithoutAReadThatCatchesUpThereIsNoVerdict) {
  source_.peers = {{kPeerTwo, Hashed(8)}};
  source_.caught_up = kErrTimeout.Fail();
  EXPECT_FALSE(checks_.Periodic().has_value());
  EXPECT_THAT(source_.alarms, IsEmpty());
}

// ---- of compactions ----

TEST_F(HashChecksTest, TheMinorityOfACompactionIsAlarmed) {
  source_.compactions = {Hashed(7, 5).hash};
  source_.peers = {{kPeerTwo, Hashed(7, 5)}, {kPeerThree, Hashed(8, 5)}};
  checks_.OfCompactions();
  EXPECT_THAT(source_.alarms, ElementsAre(kPeerThree));
}

TEST_F(HashChecksTest, ALeaderInTheMinorityIsAlarmed) {
  source_.compactions = {Hashed(8, 5).hash};
  source_.peers = {{kPeerTwo, Hashed(7, 5)}, {kPeerThree, Hashed(7, 5)}};
  checks_.OfCompactions();
  EXPECT_THAT(source_.alarms, ElementsAre(kSelf));
}

TEST_F(HashChecksTest, WithoutAMajorityTheAlarmIsNobodys) {
  source_.compactions = {Hashed(7, 5).hash};
  source_.peers = {{kPeerTwo, Hashed(8, 5)}};
  checks_.OfCompactions();
  EXPECT_THAT(source_.alarms, ElementsAre(raft::kNone));
}

TEST_F(HashChecksTest, TheNewestCompactionThatAllHaveIsComparedOnce) {
  source_.compactions = {Hashed(3, 3).hash, Hashed(5, 5).hash, Hashed(9, 9).hash};
  source_.peers_at[9] = {{kPeerTwo, Hashed(9, 9)}, {kPeerThree, kErrFutureRev.Fail()}};
  source_.peers_at[5] = {{kPeerTwo, Hashed(5, 5)}, {kPeerThree, Hashed(5, 5)}};
  checks_.OfCompactions();
  EXPECT_THAT(source_.asked, ElementsAre(9, 5));
  checks_.OfCompactions();
  EXPECT_THAT(source_.asked, ElementsAre(9, 5, 9)) << "5 and older are known to be equal";
  EXPECT_THAT(source_.alarms, IsEmpty());
}

TEST_F(HashChecksTest, ACompactionOnTopOfAnotherOneProvesNothing) {
  source_.compactions = {Hashed(7, 5, 3).hash};
  source_.peers = {{kPeerTwo, Hashed(8, 5, 2)}, {kPeerThree, Hashed(7, 5, 3)}};
  checks_.OfCompactions();
  EXPECT_THAT(source_.alarms, IsEmpty());
}

// ---- what peers answer ----

// The answers have the words of etcd 3.7.1.
TEST(PeerHashTest, IsReadFromAnAnswer) {
  const auto hash = ReadHashAnswer(
      {.status = 200,
       .cluster_id = {},
       .body = R"({"header":{"revision":12},"hash":4294967295,"compact_revision":-1,)"
               R"("hash_revision":9})"});
  ASSERT_TRUE(hash.has_value());
  EXPECT_EQ(hash->current_revision, 12);
  EXPECT_EQ(hash->hash.hash, 4294967295U);
  EXPECT_EQ(hash->hash.compact_revision, -1);
  EXPECT_EQ(hash->hash.revision, 9);
}

TEST(PeerHashTest, RefusalsAreRecognised) {
  const auto error_of = [](unsigned status, std::string body) {
    return ReadHashAnswer({.status = status, .cluster_id = {}, .body = std::move(body)}).error();
  };
  EXPECT_EQ(error_of(400, "mvcc: required revision has been compacted\n"), kErrCompacted);
  EXPECT_EQ(error_of(400, "etcdserver: mvcc: required revision is a future revision\n"),
            kErrFutureRev);
  EXPECT_EQ(error_of(412, "cluster ID mismatch\n"), kClusterIdMismatch);
  EXPECT_EQ(error_of(404, "404 page not found\n").message, "unknown error: 404 page not found\n");
  EXPECT_EQ(error_of(412, "else").message, "unknown error: else");
}

TEST(PeerHashTest, AnythingElseIsAnErrorAndNoHash) {
  for (const char* body : {"", "[]", "7", "{\"hash\":", "\"hash\""}) {
    EXPECT_FALSE(ReadHashAnswer({.status = 200, .cluster_id = {}, .body = body}).has_value())
        << body;
  }
  const auto odd =
      ReadHashAnswer({.status = 200, .cluster_id = {}, .body = R"({"header":[],"hash":"x"})"});
  ASSERT_TRUE(odd.has_value());
  EXPECT_EQ(odd->hash.hash, 0u);
}

// Keeps the requests, and answers by URL.
class RecordingPeers final : public PeerRequester {
 public:
  void AskAll(std::string_view, const std::vector<std::string>&, std::string_view, Duration,
              const Take&) override {}
  Result<PeerAnswer> Ask(const PeerQuestion& question, const std::string& url, Duration) override {
    asked.push_back(url + " " + question.body + " " + question.headers);
    if (!answers.contains(url)) return kvorum::Fail(Code::kUnavailable, url + ": refused");
    return PeerAnswer{.status = 200, .cluster_id = {}, .body = answers[url]};
  }
  std::string Resolve(const std::string& url) override { return url; }

  std::map<std::string, std::string> answers;
  std::vector<std::string> asked;
};

TEST(PeerHashTest, EachOtherMemberIsAskedUrlByUrl) {
  SetLogLevel(LogLevel::kFatal);
  const auto member = [](raft::MemberId id, std::vector<std::string> urls) {
    Member made;
    made.id = id;
    made.peer_urls = std::move(urls);
    return made;
  };
  MembershipView members;
  members.members[kSelf] = member(kSelf, {"http://self"});
  members.members[kPeerTwo] = member(kPeerTwo, {"http://dead", "http://two"});
  members.members[kPeerThree] = member(kPeerThree, {});
  RecordingPeers peers;
  peers.answers["http://two"] = R"({"hash":5})";
  const auto answers = AskPeerHashes(
      peers, members, {.cluster_id = 0xc1, .self = kSelf, .timeout = std::chrono::seconds(1)}, 44);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].id, kPeerTwo);
  EXPECT_EQ(answers[0].hash->hash.hash, 5u);
  const std::string rest =
      " {\"revision\":44} Content-Type: application/json\r\nX-Etcd-Cluster-ID: c1\r\n";
  EXPECT_THAT(peers.asked, ElementsAre("http://dead" + rest, "http://two" + rest));
}

}  // namespace
}  // namespace kvorum::server

// A member's keys beside those of the cluster's members of etcd, which a test plays: at the
// revisions of compactions, and as a whole where there are none.
#include "server/integrity/etcd_hashes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/member_id.h"
#include "api/version.h"
#include "base/api_errors.h"
#include "server/state/membership.h"
#include "tests/server/replica/log_file.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

PeerHashAnswer HashedAnswer(raft::MemberId id, std::uint32_t hash, std::int64_t compact_revision) {
  return {.id = id,
          .urls = {},
          .hash = PeerHash{.hash = {.hash = hash,
                                    .revision = 10,
                                    .compact_revision = compact_revision,
                                    .other_hash = {}},
                           .current_revision = 10}};
}

TEST(EtcdComparisonTest, AnswersOfTheSameCompactionAreCompared) {
  const mvcc::KvHash own{.hash = 7, .revision = 10, .compact_revision = 5, .other_hash = 8};
  std::vector<PeerHashAnswer> answers = {HashedAnswer(1, 7, 5), HashedAnswer(2, 8, 5),
                                         HashedAnswer(3, 9, 4)};
  answers.push_back({.id = 4, .urls = {}, .hash = kErrFutureRev.Fail()});
  EtcdComparison comparison = CompareWithEtcd(own, answers);
  EXPECT_EQ(comparison.equal, 2U);
  EXPECT_THAT(comparison.different, IsEmpty());
  answers.push_back(HashedAnswer(5, 9, 5));
  comparison = CompareWithEtcd(own, answers);
  EXPECT_THAT(comparison.different, ElementsAre(&answers.back()));
}

// Members by their URLs. One of etcd has this store's keys, or others: then its hashes are others.
class EtcdMembers final : public PeerRequester {
 public:
  explicit EtcdMembers(ServedMember& served) : served_(served) {}

  struct Told {
    bool is_etcd = true;
    bool answers = true;
    bool is_behind = false;
    bool differs = false;
  };
  std::map<std::string, Told> members;
  std::vector<std::int64_t> asked;  // for a hash, at these revisions

  void AskAll(std::string_view, const std::vector<std::string>& urls, std::string_view, Duration,
              const Take& take) override {
    for (const std::string& url : urls) {
      const Told& told = members.at(url);
      Result<PeerAnswer> answer = Fail(Code::kUnavailable, "refused");
      if (told.answers) {
        nlohmann::json versions = {{"etcdserver", "3.7.3"}, {"etcdcluster", "3.7.0"}};
        if (!told.is_etcd) versions[kIsKvorum] = true;
        answer = PeerAnswer{.status = 200, .cluster_id = {}, .body = versions.dump()};
      }
      if (take(url, std::move(answer))) return;
    }
  }
  using PeerRequester::Ask;
  Result<PeerAnswer> Ask(const PeerQuestion& question, const std::string& url, Duration) override {
    const Told& told = members.at(url);
    EXPECT_TRUE(told.is_etcd) << "ours compare another hash";
    EXPECT_EQ(std::string(question.method) + " " + std::string(question.path),
              "GET /members/hashkv");
    EXPECT_THAT(
        question.headers,
        HasSubstr("X-Etcd-Cluster-ID: " + IdText(served_.parts().cluster.cluster_id) + "\r\n"));
    const std::int64_t revision = nlohmann::json::parse(question.body).value("revision", 0);
    asked.push_back(revision);
    if (told.is_behind) {
      return PeerAnswer{.status = 400,
                        .cluster_id = {},
                        .body = "mvcc: required revision is a future revision\n"};
    }
    const auto hash = served_.store().HashKv(revision);
    EXPECT_TRUE(hash.has_value()) << hash.error().message;
    const nlohmann::json body = {
        {"header", {{"revision", served_.store().revision()}}},
        {"hash", told.differs ? hash->hash + 1 : hash->hash},
        {"compact_revision", hash->compact_revision},
        {"hash_revision", hash->revision},
    };
    return PeerAnswer{.status = 200, .cluster_id = {}, .body = body.dump()};
  }
  std::string Resolve(const std::string& url) override { return url; }

 private:
  ServedMember& served_;
};

class EtcdHashesTest : public testing::Test {
 protected:
  static constexpr const char* kLine = "an etcd member holds different keys";

  void SetUp() override {
    ASSERT_TRUE(served_.Start().has_value());
    MembershipView view = *served_.parts().cluster.membership.View();
    for (const raft::MemberId id : {kOurs, kEtcd, kOtherEtcd}) {
      Member& member = view.members[id];
      member.id = id;
      member.peer_urls = {UrlOf(id)};
      peers_.members[UrlOf(id)] = {.is_etcd = id != kOurs};
    }
    membership_ = std::make_unique<Membership>(std::move(view));
    const ClusterFacts& own = served_.parts().cluster;
    cluster_ = std::make_unique<ClusterFacts>(ClusterFacts{.cluster_id = own.cluster_id,
                                                           .member_id = own.member_id,
                                                           .replica = own.replica,
                                                           .membership = *membership_,
                                                           .alarms = own.alarms,
                                                           .transport = own.transport,
                                                           .patches = own.patches});
    const Reads& reads = served_.parts().reads;
    reads_ = std::make_unique<Reads>(Reads{.cluster = *cluster_,
                                           .limits = reads.limits,
                                           .store = reads.store,
                                           .batcher = reads.batcher,
                                           .access = reads.access,
                                           .executors = reads.executors,
                                           .answers = reads.answers});
    hashes_ = std::make_unique<EtcdHashes>(served_.lanes().io(), *reads_, peers_, minutes(1));
    hashes_->Start();
  }
  static std::string UrlOf(raft::MemberId id) { return "http://" + IdText(id); }
  EtcdMembers::Told& Told(raft::MemberId id) { return peers_.members.at(UrlOf(id)); }
  void Put(const std::string& value) {
    ASSERT_TRUE(served_.Call("/etcdserverpb.KV/Put", PutBody("k", value)).has_value());
  }
  void Compact() {
    ASSERT_TRUE(served_
                    .Call("/etcdserverpb.KV/Compact",
                          CompactBody(served_.store().revision(), /*physical=*/true))
                    .has_value());
  }
  void RunFor(Duration time) { served_.lanes().RunFor(time); }
  bool agrees() const { return hashes_->counters().agree; }
  std::int64_t equal_at() const { return hashes_->counters().revision; }

  static constexpr raft::MemberId kOurs{0xa1};
  static constexpr raft::MemberId kEtcd{0xe1};
  static constexpr raft::MemberId kOtherEtcd{0xe2};
  const LogFile log_;
  ServedMember served_;
  EtcdMembers peers_{served_};
  std::unique_ptr<Membership> membership_;
  std::unique_ptr<ClusterFacts> cluster_;
  std::unique_ptr<Reads> reads_;
  std::unique_ptr<EtcdHashes> hashes_;
};

TEST_F(EtcdHashesTest, EqualMembersAgreeOnceAllWasComparedAndThenAtEachCompaction) {
  Put("1");
  RunFor(minutes(2));
  EXPECT_TRUE(agrees());
  EXPECT_EQ(equal_at(), served_.store().revision());
  EXPECT_THAT(peers_.asked, SizeIs(2)) << "both, once";
  Put("2");
  RunFor(minutes(10));
  EXPECT_LT(equal_at(), served_.store().revision()) << "everything is read once an hour";
  ASSERT_NO_FATAL_FAILURE(Compact());
  RunFor(minutes(2));
  EXPECT_EQ(equal_at(), served_.store().revision());
  EXPECT_THAT(log_.LinesWith(kLine), IsEmpty());
}

TEST_F(EtcdHashesTest, OneThatDiffersIsSaidAtTheFirstLookAndOnceAnHour) {
  Put("1");
  Told(kEtcd).differs = true;
  RunFor(minutes(10));
  EXPECT_FALSE(agrees()) << "though the other one is equal";
  EXPECT_EQ(equal_at(), 0);
  EXPECT_THAT(
      log_.LinesWith(kLine),
      ElementsAre(AllOf(HasSubstr(R"("level":"error")"), HasSubstr(R"("remote-peer-id":"e1")"),
                        HasSubstr(R"("revision":)"), HasSubstr(R"("remote-peer-hash":)"))));
  RunFor(hours(1));
  EXPECT_THAT(log_.LinesWith(kLine), SizeIs(2));
}

TEST_F(EtcdHashesTest, OneThatDiffersIsFoundByTheNextCompaction) {
  RunFor(minutes(2));
  ASSERT_TRUE(agrees());
  Put("1");
  Told(kOtherEtcd).differs = true;
  RunFor(minutes(10));
  EXPECT_TRUE(agrees()) << "nothing was compared";
  ASSERT_NO_FATAL_FAILURE(Compact());
  RunFor(minutes(2));
  EXPECT_FALSE(agrees());
  EXPECT_THAT(log_.LinesWith(kLine), ElementsAre(HasSubstr(R"("remote-peer-id":"e2")")));
  RunFor(minutes(30));
  EXPECT_THAT(log_.LinesWith(kLine), SizeIs(1)) << "a compaction is compared once";
  // It was filled anew.
  Told(kOtherEtcd).differs = false;
  Put("2");
  ASSERT_NO_FATAL_FAILURE(Compact());
  RunFor(minutes(2));
  EXPECT_TRUE(agrees());
  EXPECT_EQ(equal_at(), served_.store().revision());
}

TEST_F(EtcdHashesTest, OneThatCannotAnswerYetIsAskedAgain) {
  Told(kOtherEtcd).answers = false;
  Told(kEtcd).is_behind = true;
  Told(kEtcd).differs = true;
  Put("1");
  RunFor(minutes(5));
  EXPECT_TRUE(agrees());
  EXPECT_EQ(equal_at(), 0);
  EXPECT_GE(peers_.asked.size(), 4U);
  Told(kEtcd).is_behind = false;
  RunFor(minutes(2));
  EXPECT_FALSE(agrees());
  // Without members of etcd no member differs.
  MembershipView view = *membership_->View();
  view.members.erase(kEtcd);
  view.members.erase(kOtherEtcd);
  membership_->Set(std::move(view));
  RunFor(minutes(2));
  EXPECT_TRUE(agrees());
}

}  // namespace
}  // namespace kvorum::server

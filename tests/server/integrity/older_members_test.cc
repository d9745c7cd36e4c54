// Members of etcd that decide otherwise: which ones, and what a member does about them.
#include "server/integrity/older_members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "api/entries/etcd_patches.h"
#include "api/maintenance_encode.h"
#include "base/api_errors.h"
#include "tests/server/apply/applier_fixture.h"

namespace kvorum::server {
namespace {

using testing::HasSubstr;

Version V(std::string_view text) { return Version::Parse(text).value(); }

TEST(EtcdPatchesTest, TheLowestPatchesOfEachMinorVersion) {
  for (const char* old : {"3.6.10", "3.6.0", "3.5.29", "3.4.43", "3.3.27", "3.0.0", "2.3.8"}) {
    EXPECT_FALSE(DecidesTxnsAlike(V(old))) << old;
    EXPECT_FALSE(KeepsLearners(V(old))) << old;
  }
  for (const char* enough : {"3.6.11", "3.5.30", "3.4.44", "3.4.45"}) {
    EXPECT_TRUE(DecidesTxnsAlike(V(enough))) << enough;
    EXPECT_FALSE(KeepsLearners(V(enough))) << enough;
  }
  for (const char* all : {"3.6.12", "3.5.31", "3.7.0", "3.7.3", "3.8.0", "4.0.0"}) {
    EXPECT_TRUE(DecidesTxnsAlike(V(all))) << all;
    EXPECT_TRUE(KeepsLearners(V(all))) << all;
  }
  EXPECT_FALSE(ReadsEntriesAlike(V("3.0.0")));
  EXPECT_FALSE(ReadsEntriesAlike(V("3.6.0")));
  EXPECT_TRUE(ReadsEntriesAlike(V("3.7.0")));
  EXPECT_TRUE(ReadsEntriesAlike(V("3.8.0")));
  EXPECT_EQ(LowestThatDecidesTxnsAlike(V("3.6.5")), "3.6.11");
  EXPECT_EQ(LowestThatDecidesTxnsAlike(V("3.5.1")), "3.5.30");
  EXPECT_EQ(LowestThatDecidesTxnsAlike(V("3.3.1")), "3.7.0");
}

// Members that tell their versions, by their URLs; the others do not answer.
class VersionPeers final : public PeerRequester {
 public:
  void AskAll(std::string_view, const std::vector<std::string>& urls, std::string_view, Duration,
              const Take& take) override {
    for (const std::string& url : urls) {
      const auto found = versions.find(url);
      if (found == versions.end()) {
        if (take(url, Fail(Code::kUnavailable, "refused"))) return;
      } else if (take(url, PeerAnswer{.status = 200,
                                      .cluster_id = {},
                                      .body = R"({"etcdserver":")" + found->second + "\"}"})) {
        return;
      }
    }
  }
  std::string Resolve(const std::string& url) override { return url; }

  std::map<std::string, std::string> versions;
};

Member MemberAt(raft::MemberId id, std::string name, std::string url) {
  Member member;
  member.id = id;
  member.name = std::move(name);
  member.peer_urls = {std::move(url)};
  return member;
}

TEST(OlderMembersTest, AreFoundByTheirVersions) {
  VersionPeers peers;
  peers.versions = {{"http://a", "3.6.5"}, {"http://b", "3.7.1"}, {"http://c", "no version"}};
  const std::vector<OlderMember> older =
      FindOlderMembers(peers, {MemberAt(1, "m1", "http://a"), MemberAt(2, "m2", "http://b"),
                               MemberAt(3, "m3", "http://c"), MemberAt(4, "m4", "http://down")});
  ASSERT_EQ(older.size(), 1U);
  EXPECT_EQ(older[0].id, 1);
  const std::string text = OlderMembersRefusal(older);
  EXPECT_THAT(text, HasSubstr("m1 runs 3.6.5, which needs 3.6.11"));
  EXPECT_THAT(text, HasSubstr("--older-etcd-members=warn"));
}

// ---- a member that joins beside one ----

constexpr raft::MemberId kJoiner{7};

class JoiningBesideOlderTest : public ApplierTest {
 protected:
  JoiningBesideOlderTest() {
    ApplyAll({ConfEntry(raft::ConfChangeType::kAddNode, MemberAt(kJoiner, "", "http://s"))});
    applier_->RefuseAuthWhileJoining(kJoiner, "not beside m1");
  }
  void EnableAuth() {
    std::string user;
    wire::AppendBytes(user, 1, "root");
    wire::AppendBytesAlways(user, 3, std::string_view("\x08\x01", 2));  // without a password
    std::string grant;
    wire::AppendBytes(grant, 1, "root");
    wire::AppendBytes(grant, 2, "root");
    ASSERT_EQ(Outcome(RequestKind::kUserAdd, user), "ok");
    ASSERT_EQ(Outcome(RequestKind::kUserGrantRole, grant), "ok");
    ASSERT_EQ(Outcome(RequestKind::kAuthEnable, ""), "ok");
  }
  std::string Txn() { return TxnBody({OpBody(kRequestPut, PutBody("k", "v"))}); }
  std::string Published(raft::MemberId member) {
    return EncodeMemberAttributes({.member = member, .name = "m", .client_urls = {"http://c"}});
  }
  std::string FatalMessage() { return fatal_.has_value() ? fatal_->message : "none"; }
};

TEST_F(JoiningBesideOlderTest, WithoutAuthItJoinsAndGoesOn) {
  EXPECT_EQ(Outcome(RequestKind::kTxn, Txn()), "ok");
  EXPECT_EQ(Outcome(RequestKind::kMemberAttributesSet, Published(kJoiner)), "ok");
  EnableAuth();
  EXPECT_EQ(Outcome(RequestKind::kTxn, Txn()), kErrUserEmpty.message) << "it has joined";
  EXPECT_EQ(FatalMessage(), "none");
}

TEST_F(JoiningBesideOlderTest, WithAuthItAppliesNoTxn) {
  EnableAuth();
  EXPECT_EQ(Outcome(RequestKind::kPut, PutBody("k", "v")), kErrUserEmpty.message);
  EXPECT_EQ(FatalMessage(), "none") << "a put is decided alike";
  const std::int64_t before = store->revision();
  ApplyAll({Entry(RequestKind::kTxn, Txn())});
  EXPECT_THAT(FatalMessage(), HasSubstr("not beside m1"));
  EXPECT_EQ(store->revision(), before);
}

TEST_F(JoiningBesideOlderTest, WithAuthItDoesNotBecomeAStartedMember) {
  EnableAuth();
  EXPECT_EQ(Outcome(RequestKind::kMemberAttributesSet, Published(raft::MemberId{8})), "ok");
  EXPECT_EQ(FatalMessage(), "none") << "another member's";
  ApplyAll({Entry(RequestKind::kMemberAttributesSet, Published(kJoiner))});
  EXPECT_THAT(FatalMessage(), HasSubstr("not beside m1"));
}

}  // namespace
}  // namespace kvorum::server

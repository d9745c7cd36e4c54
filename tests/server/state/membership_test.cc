#include "server/state/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/damage.h"

namespace kvorum::server {
namespace {

using testing::ElementsAre;

Member Full() {
  return {.id = raft::MemberId{0x8e9e05c52164694d},
          .peer_urls = {"http://a:1", "http://b:2"},
          .is_learner = true,
          .name = "n\"1\"",
          .client_urls = {"http://c:3"}};
}

TEST(MemberJsonTest, HasTheFieldsThatTheLogHasInTheirOrder) {
  EXPECT_EQ(EncodeMemberJson({.id = raft::MemberId{10276657743932975437U},
                              .peer_urls = {"http://localhost:2380"},
                              .is_learner = false,
                              .name = {},
                              .client_urls = {}}),
            R"({"id":10276657743932975437,"peerURLs":["http://localhost:2380"]})");
  EXPECT_EQ(EncodeMemberJson(Full()),
            R"({"id":10276657743932975437,"peerURLs":["http://a:1","http://b:2"],"isLearner":true,)"
            R"("name":"n\"1\"","clientURLs":["http://c:3"]})");
}

TEST(MemberJsonTest, ComesBackAsItWas) {
  EXPECT_EQ(DecodeMemberJson(EncodeMemberJson(Full())), Full());
  const Member bare{.id = 1, .peer_urls = {}, .is_learner = false, .name = {}, .client_urls = {}};
  EXPECT_EQ(DecodeMemberJson(EncodeMemberJson(bare)), bare);
}

TEST(MemberJsonTest, TakesOtherFieldsAndNulls) {
  const auto member = DecodeMemberJson(
      R"({"id":7,"peerURLs":null,"clientURLs":null,"isPromote":true,"more":{"x":[1]}})");
  ASSERT_TRUE(member.has_value());
  EXPECT_EQ(member->id, 7);
  EXPECT_TRUE(member->peer_urls.empty());
}

TEST(MemberJsonTest, RefusesWhatIsNoMember) {
  for (const char* text :
       {"", "{", "null", "[]", "7", "{}", R"({"id":"7"})", R"({"id":-7})", R"({"id":1.5})",
        R"({"id":7,"peerURLs":"x"})", R"({"id":7,"peerURLs":[1]})", R"({"id":7,"clientURLs":{}})",
        R"({"id":7,"isLearner":1})", R"({"id":7,"name":1})", "{\"id\":7,\"name\":\"\xff\"}"}) {
    const auto member = DecodeMemberJson(text);
    ASSERT_FALSE(member.has_value()) << text;
    EXPECT_EQ(member.error(),
              (Error{Code::kDataLoss, "membership: a member's record is malformed"}));
  }
}

TEST(MemberJsonTest, EachLengthCutIsRefused) {
  const std::string json = EncodeMemberJson(Full());
  ForEachCut(json, [](std::string_view cut) { EXPECT_FALSE(DecodeMemberJson(cut).has_value()); });
}

TEST(InitialClusterTest, MembersHaveIdsOfUrlsAndToken) {
  const auto members = ParseInitialCluster("default=http://localhost:2380", "etcd-cluster");
  ASSERT_TRUE(members.has_value());
  EXPECT_THAT(*members, ElementsAre(Member{.id = raft::MemberId{0x8e9e05c52164694d},
                                           .peer_urls = {"http://localhost:2380"},
                                           .is_learner = false,
                                           .name = "default",
                                           .client_urls = {}}));
}

TEST(InitialClusterTest, OneMemberMayHaveSeveralUrls) {
  const auto members =
      ParseInitialCluster("n=http://b:2,m=http://c:3,n=http://a:1", "etcd-cluster");
  ASSERT_TRUE(members.has_value());
  ASSERT_EQ(members->size(), 2);
  EXPECT_LT((*members)[0].id, (*members)[1].id) << "sorted by id";
  const Member& n = (*members)[0].name == "n" ? (*members)[0] : (*members)[1];
  EXPECT_EQ(n.id, 0xc55bfd70e5c677de);
  EXPECT_THAT(n.peer_urls, ElementsAre("http://a:1", "http://b:2"));
}

TEST(InitialClusterTest, UrlsAreKeptAsEtcdKeepsThem) {
  const auto members = ParseInitialCluster(
      ",n= HTTP://A:1 ,n=http://b:,=unix:///s,n=http://c:1?x=y#z,,n=http://\xc3\xa4:1,", "t");
  ASSERT_TRUE(members.has_value()) << members.error().message;
  ASSERT_EQ(members->size(), 2);
  for (const Member& member : *members) {
    if (member.name.empty()) {
      EXPECT_THAT(member.peer_urls, ElementsAre("unix:///s"));
    } else {
      EXPECT_THAT(member.peer_urls,
                  ElementsAre("http://%C3%A4:1", "http://A:1", "http://b:", "http://c:1?x=y#z"));
    }
  }
  EXPECT_TRUE(ParseInitialCluster("", "t")->empty());
}

TEST(InitialClusterTest, RefusalsSayWhatIsWrong) {
  const auto error = [](std::string_view text) {
    const auto members = ParseInitialCluster(text, "t");
    return members.has_value() ? "accepted" : members.error().message;
  };
  const std::string prefix = "error setting up initial cluster: ";
  for (const char* text : {"http://a:1", "n", "n=", "n=http://a:1,m"}) {
    EXPECT_EQ(error(text), prefix + "URL scheme must be http, https, unix, or unixs: ") << text;
  }
  EXPECT_EQ(error("n=a:1"), prefix + "URL scheme must be http, https, unix, or unixs: a:1");
  EXPECT_EQ(error("n=http://a:1/"), prefix + "URL must not contain a path: http://a:1/");
  EXPECT_EQ(error("n=http://a b:1"),
            prefix + "parse \"http://a b:1\": invalid character \" \" in host name");
  EXPECT_EQ(error("n=http://b:1,m=http://a:1,n=http://a:1"),
            "initial cluster m=http://a:1,n=http://a:1,n=http://b:1 has duplicate url");
}

TEST(MembershipTest, AViewStaysWhatItWas) {
  Membership membership({});
  const auto before = membership.View();
  membership.Set({.members = {{Full().id, Full()}}, .removed = {}, .cluster_version = {}});
  const auto added = membership.View();
  EXPECT_TRUE(before->members.empty());
  EXPECT_EQ(added->members.at(Full().id), Full());
  membership.Set({.members = {}, .removed = {Full().id}, .cluster_version = {}});
  EXPECT_TRUE(membership.View()->members.empty());
  EXPECT_THAT(membership.View()->removed, ElementsAre(Full().id));
  EXPECT_EQ(added->members.size(), 1);
  EXPECT_TRUE(added->removed.empty());
}

TEST(MembershipTest, KnowsWhetherThisMemberIsALearner) {
  Member self = Full();
  Membership membership({.members = {{self.id, self}}, .removed = {}, .cluster_version = {}},
                        self.id);
  EXPECT_TRUE(membership.is_learner());
  self.is_learner = false;
  membership.Set({.members = {{self.id, self}}, .removed = {}, .cluster_version = {}});
  EXPECT_FALSE(membership.is_learner());
  EXPECT_FALSE(Membership({.members = {{Full().id, Full()}}, .removed = {}, .cluster_version = {}},
                          Full().id + 1)
                   .is_learner());
}

TEST(MembershipTest, AttributesAreOfMembersOnly) {
  Membership membership({});
  EXPECT_FALSE(membership.SetAttributes(1, "n", {"http://c:3"}));
  EXPECT_TRUE(membership.View()->members.empty());
  Member member{
      .id = 1, .peer_urls = {"http://a:1"}, .is_learner = false, .name = {}, .client_urls = {}};
  membership.Set({.members = {{raft::MemberId{1}, member}}, .removed = {}, .cluster_version = {}});
  EXPECT_FALSE(membership.View()->members.at(1).started());
  EXPECT_TRUE(membership.SetAttributes(1, "n", {"http://c:3"}));
  member.name = "n";
  member.client_urls = {"http://c:3"};
  EXPECT_EQ(membership.View()->members.at(1), member);
  EXPECT_TRUE(membership.View()->members.at(1).started());
  membership.SetClusterVersion("3.7.0");
  EXPECT_EQ(membership.View()->cluster_version, "3.7.0");
}

}  // namespace
}  // namespace kvorum::server

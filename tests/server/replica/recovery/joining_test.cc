// The information that a member without data gets from the others, and its refusals.
#include "server/replica/recovery/joining.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "datadir/first_members.h"
#include "server/services/cluster/promote_forwarder.h"

namespace kvorum::server {
namespace {

using testing::HasSubstr;

// Answers as the test says; any other URL is unreachable.
class FakePeers final : public PeerRequester {
 public:
  void AskAll(std::string_view, const std::vector<std::string>& urls, std::string_view path,
              Duration, const Take& take) override {
    for (const std::string& url : urls) {
      asked.push_back(url);
      const auto found = answers.find({url, std::string(path)});
      if (take(url, found == answers.end() ? Result<PeerAnswer>(Fail(Code::kUnavailable, "refused"))
                                           : Result<PeerAnswer>(found->second)))
        return;
    }
  }
  std::string Resolve(const std::string& url) override {
    const auto found = addresses.find(url);
    return found == addresses.end() ? url : found->second;
  }

  // A member at the URL that answers with these members.
  void Add(const std::string& url, std::string members, std::string cluster_id = "abc",
           std::string version = "3.7.0") {
    answers[{url, "/members"}] = {
        .status = 200, .cluster_id = std::move(cluster_id), .body = std::move(members)};
    answers[{url, "/version"}] = {
        .status = 200,
        .cluster_id = {},
        .body = R"({"etcdserver":"3.7.1","etcdcluster":")" + version + R"("})"};
  }

  std::map<std::pair<std::string, std::string>, PeerAnswer> answers;
  std::map<std::string, std::string> addresses;
  std::vector<std::string> asked;
};

constexpr const char* kTwoMembers =
    R"([{"id":11,"peerURLs":["http://a:1"],"name":"a","clientURLs":["http://a:2"]},)"
    R"({"id":22,"peerURLs":["http://b:1"],"isLearner":true}])"
    "\n";

std::vector<Member> Local() {
  return ParseInitialCluster("a=http://a:1,b=http://b:1", "token").value();
}

std::string JoinError(FakePeers& peers, const std::vector<Member>& local = Local()) {
  const auto joined = JoinCluster(peers, local, "b", std::chrono::seconds(7));
  return joined.has_value() ? "joined" : joined.error().message;
}

TEST(JoiningTest, TheClusterSaysWhoWeAre) {
  FakePeers peers;
  peers.Add("http://a:1", kTwoMembers);
  const auto joined = JoinCluster(peers, Local(), "b", std::chrono::seconds(7));
  ASSERT_TRUE(joined.has_value()) << joined.error().message;
  EXPECT_EQ(joined->cluster_id, 0xabc);
  EXPECT_EQ(joined->self, 22);
  ASSERT_EQ(joined->members.size(), 2);
  EXPECT_EQ(joined->members[0].id, 11);
  EXPECT_THAT(peers.asked, testing::Not(testing::Contains("http://b:1"))) << "not ourselves";
}

TEST(JoiningTest, WithoutAnAnswerThereIsNothingToJoin) {
  FakePeers peers;
  constexpr const char* kNone =
      "cannot fetch cluster info from peer urls: could not retrieve cluster information from the "
      "given URLs";
  EXPECT_EQ(JoinError(peers), kNone);
  peers.Add("http://a:1", "nonsense");
  EXPECT_EQ(JoinError(peers), kNone);
  peers.Add("http://a:1", kTwoMembers, "no id");
  EXPECT_EQ(JoinError(peers), kNone);
  peers.Add("http://a:1", R"([{"id":"11"}])");
  EXPECT_EQ(JoinError(peers), kNone);
  peers.Add("http://a:1", "[]");
  EXPECT_EQ(JoinError(peers),
            "cannot fetch cluster info from peer urls: failed to get raft cluster member(s) from "
            "the given URLs");
}

TEST(JoiningTest, TheMembersMustBeThoseOfTheFlags) {
  FakePeers peers;
  peers.Add("http://a:1", kTwoMembers);
  EXPECT_THAT(
      JoinError(peers, ParseInitialCluster("a=http://a:1,b=http://b:1,c=http://c:1", "").value()),
      HasSubstr("error validating peerURLs"));
  EXPECT_THAT(
      JoinError(peers, ParseInitialCluster("a=http://a:1,b=http://b:1,c=http://c:1", "").value()),
      HasSubstr("member count is unequal"));
  EXPECT_THAT(JoinError(peers, ParseInitialCluster("a=http://a:1,b=http://x:1", "").value()),
              HasSubstr("PeerURLs: no match found for existing member (16, [http://b:1])"));
}

TEST(JoiningTest, TwoNamesOfOneAddressAreTheSame) {
  FakePeers peers;
  peers.Add("http://a:1", kTwoMembers);
  peers.addresses = {{"http://b:1", "http://10.0.0.2:1"}, {"http://bee:1", "http://10.0.0.2:1"}};
  EXPECT_EQ(JoinError(peers, ParseInitialCluster("a=http://a:1,b=http://bee:1", "").value()),
            "joined");
}

TEST(JoiningTest, AClusterOfAnotherVersionIsNotJoined) {
  FakePeers peers;
  constexpr const char* kIncompatible = "incompatible with current running cluster";
  peers.Add("http://a:1", kTwoMembers, "abc", "3.8.0");
  EXPECT_EQ(JoinError(peers), kIncompatible);
  peers.Add("http://a:1", kTwoMembers, "abc", "2.3.0");
  EXPECT_EQ(JoinError(peers), kIncompatible);
  peers.Add("http://a:1", kTwoMembers, "abc", "not_decided");
  EXPECT_EQ(JoinError(peers), kIncompatible);
  peers.Add("http://a:1", kTwoMembers, "abc", "3.0.0");
  EXPECT_EQ(JoinError(peers), "joined");
}

TEST(JoiningTest, AMemberThatHasRunDoesNotJoinAnew) {
  FakePeers peers;
  peers.Add("http://a:1",
            R"([{"id":11,"peerURLs":["http://a:1"],"name":"a","clientURLs":["http://a:2"]},)"
            R"({"id":22,"peerURLs":["http://b:1"],"name":"b","clientURLs":["http://b:2"]}])");
  EXPECT_EQ(JoinError(peers),
            "member 16 has already been started, and this data directory is empty: what it "
            "acknowledged is lost, and with its vote the cluster could lose it, too. Remove the "
            "member and add it anew: kvorumctl member remove 16; kvorumctl member add b "
            "--peer-urls=http://b:1; then start with the --initial-cluster that this prints");
}

TEST(JoiningTest, AMemberThatHasRunDoesNotBeginAnew) {
  const std::vector<Member> local = Local();
  const auto self = std::ranges::find(local, "b", &Member::name);
  const auto check = [&](FakePeers& peers) {
    const auto result = CheckNotBootstrapped(peers, local, "b", std::chrono::seconds(2));
    return result.has_value() ? "ok" : result.error().message;
  };
  FakePeers peers;
  EXPECT_EQ(check(peers), "ok") << "nobody is there yet";
  MembershipView view;
  for (const Member& member : local) view.members.emplace(member.id, member);
  peers.Add("http://a:1", EncodeMembersJson(view));
  EXPECT_EQ(check(peers), "ok") << "it has not published itself";
  view.members.at(self->id).client_urls = {"http://b:2"};
  peers.Add("http://a:1", EncodeMembersJson(view));
  EXPECT_THAT(check(peers), HasSubstr(" has already been bootstrapped"));
}

TEST(MembersJsonTest, ComesBackAsItWas) {
  const auto members = DecodeMembersJson(kTwoMembers);
  ASSERT_TRUE(members.has_value());
  MembershipView view;
  for (const Member& member : *members) view.members.emplace(member.id, member);
  EXPECT_EQ(EncodeMembersJson(view), kTwoMembers);
  EXPECT_EQ(EncodeMembersJson({}), "[]\n");
}

TEST(PromoteAnswerTest, ARefusalIsTheSameOnBothEnds) {
  for (const ApiError& error :
       {kErrMemberNotFound, kErrLearnerNotReady, kErrMemberNotLearner, kErrNotEnoughStarted}) {
    EXPECT_EQ(
        PromoteErrorOf(PromoteStatusOf(error.ToError()), PromoteTextOf(error.ToError()) + "\n"),
        error.ToError());
  }
  EXPECT_EQ(PromoteStatusOf(kErrMemberNotFound.ToError()), 404);
  EXPECT_EQ(PromoteStatusOf(kErrLearnerNotReady.ToError()), 412);
  EXPECT_EQ(PromoteErrorOf(PromoteStatusOf(kErrTimeout.ToError()), "etcdserver: request timed out"),
            std::nullopt)
      << "worth another attempt";
  EXPECT_EQ(PromoteErrorOf(412, "something else"), std::nullopt);
  EXPECT_EQ(PromoteErrorOf(503, "membership: ID not found"), std::nullopt);
}

std::string AdvertisedError(FakePeers* peers, const std::string& initial_cluster,
                            const std::vector<std::string>& advertised) {
  const Member self = ParseInitialCluster(initial_cluster, "token").value().at(0);
  const UrlResolver resolve = [&](const std::string& url) { return peers->Resolve(url); };
  const auto checked =
      datadir::CheckAdvertisedUrls(peers == nullptr ? UrlResolver() : resolve, self, advertised);
  return checked.has_value() ? "fine" : checked.error().message;
}

// The texts are etcd's.
TEST(JoiningTest, AMemberOfANewClusterAdvertisesWhatTheInitialClusterSays) {
  FakePeers peers;
  peers.addresses["http://localhost:1"] = "http://127.0.0.1:1";
  EXPECT_EQ(AdvertisedError(&peers, "a=http://x:1,a=http://x:2", {"http://x:2", "http://x:1"}),
            "fine");
  EXPECT_EQ(AdvertisedError(&peers, "a=http://127.0.0.1:1", {"http://localhost:1"}), "fine");
  EXPECT_EQ(AdvertisedError(&peers, "a=http://127.0.0.1:1", {"http://127.0.0.1:3"}),
            "--initial-cluster has a=http://127.0.0.1:1 but missing from "
            "--initial-advertise-peer-urls=http://127.0.0.1:3 (resolved urls: "
            "\"http://127.0.0.1:3\" != \"http://127.0.0.1:1\")");
  EXPECT_EQ(
      AdvertisedError(&peers, "a=http://127.0.0.1:1,a=http://127.0.0.1:7", {"http://127.0.0.1:1"}),
      "--initial-cluster has a=http://127.0.0.1:7 but missing from "
      "--initial-advertise-peer-urls=http://127.0.0.1:1 (len([\"http://127.0.0.1:1\"]) != "
      "len([\"http://127.0.0.1:1\" \"http://127.0.0.1:7\"]))");
  EXPECT_EQ(
      AdvertisedError(&peers, "a=http://127.0.0.1:1", {"http://127.0.0.1:1", "http://127.0.0.1:5"}),
      "--initial-advertise-peer-urls has http://127.0.0.1:5 but missing from "
      "--initial-cluster=a=http://127.0.0.1:1,a=http://127.0.0.1:5");
}

TEST(JoiningTest, WithoutAResolverTheTextsCount) {
  EXPECT_EQ(AdvertisedError(nullptr, "a=http://x:1", {"http://x:1"}), "fine");
  EXPECT_NE(AdvertisedError(nullptr, "a=http://127.0.0.1:1", {"http://localhost:1"}), "fine");
}

}  // namespace
}  // namespace kvorum::server

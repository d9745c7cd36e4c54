// The members in the store of etcd's v2 API, as its own code wrote them for the same cluster
// (apart from the history of that store's events, which restoring it does not need).
#include "api/entries/v2_membership.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kvorum::server {
namespace {

constexpr std::string_view kEtcds = R"({"Root":{"Path":"/","CreatedIndex":0,"ModifiedIndex":0,
"ExpireTime":"0001-01-01T00:00:00Z","Value":"","Children":{"0":{"Path":"/0","CreatedIndex":0,
"ModifiedIndex":0,"ExpireTime":"0001-01-01T00:00:00Z","Value":"","Children":{"members":{
"Path":"/0/members","CreatedIndex":1,"ModifiedIndex":1,"ExpireTime":"0001-01-01T00:00:00Z",
"Value":"","Children":{"ab12":{"Path":"/0/members/ab12","CreatedIndex":1,"ModifiedIndex":1,
"ExpireTime":"0001-01-01T00:00:00Z","Value":"","Children":{"attributes":{
"Path":"/0/members/ab12/attributes","CreatedIndex":2,"ModifiedIndex":2,
"ExpireTime":"0001-01-01T00:00:00Z","Value":"{\"name\":\"n\",\"clientURLs\":[\"http://a:2\"]}",
"Children":null},"raftAttributes":{"Path":"/0/members/ab12/raftAttributes","CreatedIndex":1,
"ModifiedIndex":1,"ExpireTime":"0001-01-01T00:00:00Z","Value":"{\"peerURLs\":[\"http://a:1\"]}",
"Children":null}}}}},"removed_members":{"Path":"/0/removed_members","CreatedIndex":3,
"ModifiedIndex":3,"ExpireTime":"0001-01-01T00:00:00Z","Value":"","Children":{"77":{
"Path":"/0/removed_members/77","CreatedIndex":3,"ModifiedIndex":3,
"ExpireTime":"0001-01-01T00:00:00Z","Value":"","Children":null}}},"version":{"Path":"/0/version",
"CreatedIndex":4,"ModifiedIndex":4,"ExpireTime":"0001-01-01T00:00:00Z","Value":"3.7.0",
"Children":null}}},"1":{"Path":"/1","CreatedIndex":0,"ModifiedIndex":0,
"ExpireTime":"0001-01-01T00:00:00Z","Value":"","Children":{}}}},"CurrentIndex":4,
"CurrentVersion":2})";

TEST(V2Membership, IsAsEtcdWritesIt) {
  MembershipView view;
  view.members[0xab12] = {
      .id = 0xab12, .peer_urls = {"http://a:1"}, .name = "n", .client_urls = {"http://a:2"}};
  view.removed = {0x77};
  view.cluster_version = "3.7.0";
  EXPECT_EQ(nlohmann::json::parse(EncodeV2Membership(view)), nlohmann::json::parse(kEtcds));
}

TEST(V2Membership, AMemberThatHasNotToldOfItselfHasNoAttributes) {
  MembershipView view;
  view.members[1] = {
      .id = 1, .peer_urls = {"http://a:1"}, .is_learner = true, .name = {}, .client_urls = {}};
  const auto json = nlohmann::json::parse(EncodeV2Membership(view));
  const auto& member = json["Root"]["Children"]["0"]["Children"]["members"]["Children"]["1"];
  EXPECT_EQ(member["Children"].size(), 1U);
  EXPECT_EQ(member["Children"]["raftAttributes"]["Value"],
            R"({"peerURLs":["http://a:1"],"isLearner":true})");
}

TEST(V2Membership, OfNobodyItIsAStoreToo) {
  const auto json = nlohmann::json::parse(EncodeV2Membership({}));
  EXPECT_EQ(json["Root"]["Children"]["0"]["Children"].size(), 0U);
}

}  // namespace
}  // namespace kvorum::server

// The members of a new cluster, from the keys of another: who is in, who is not, and who waits.
#include "server/process/bootstrap/cluster_discovery.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace kvorum::server {
namespace {

constexpr std::string_view kPrefix = "/_etcd/registry/t/members/";
constexpr std::string_view kSizeKey = "/_etcd/registry/t/_config/size";

// A store of keys in memory. Faults are given out one a call.
class Registry final : public DiscoveryService {
 public:
  void Set(std::string_view key, std::string_view value) {
    auto& row = rows_[std::string(key)];
    ++revision_;
    if (row.create_revision == 0) row.create_revision = revision_;
    row.key = key;
    row.value = value;
    changes_.push_back({revision_, row});
  }
  void Add(const std::string& name) {
    Set(std::string(kPrefix) + name, name + "=http://" + name + ":2380");
  }
  void Fail(std::string text) { faults_.push_back(std::move(text)); }
  void BreakWatches(int count) { broken_watches_ = count; }
  // Called while a member watches and nothing has changed.
  std::function<void()> on_idle = [] { FAIL() << "waits for ever"; };
  int watches() const { return watches_; }

  Result<Listing> Get(std::string_view key, std::string_view range_end) override {
    if (auto fault = NextFault()) return std::unexpected(*fault);
    Listing listing{.rows = {}, .revision = revision_};
    for (const auto& [name, row] : rows_) {
      if (range_end.empty() ? name == key : name >= key && name < range_end)
        listing.rows.push_back(row);
    }
    return listing;
  }
  Result<void> Put(std::string_view key, std::string_view value) override {
    if (auto fault = NextFault()) return std::unexpected(*fault);
    Set(key, value);
    return {};
  }
  Result<void> Watch(std::string_view key, std::string_view range_end, std::int64_t revision,
                     const Take& take) override {
    ++watches_;
    if (broken_watches_ > 0) {
      --broken_watches_;
      return kvorum::Fail(Code::kUnavailable, "broken");
    }
    for (std::size_t i = 0;; ++i) {
      if (i == changes_.size()) on_idle();
      if (i == changes_.size()) return {};
      const auto& [at, row] = changes_[i];
      if (at < revision || row.key < key || row.key >= range_end) continue;
      if (!take(row)) return {};
    }
  }

 private:
  std::optional<Error> NextFault() {
    if (faults_.empty()) return std::nullopt;
    Error fault{Code::kUnavailable, faults_.front()};
    faults_.pop_front();
    return fault;
  }

  std::map<std::string, RegisteredKey, std::less<>> rows_;
  std::deque<std::pair<std::int64_t, RegisteredKey>> changes_;
  std::int64_t revision_ = 1;
  std::deque<std::string> faults_;
  int broken_watches_ = 0;
  int watches_ = 0;
};

class ClusterDiscoveryTest : public testing::Test {
 protected:
  std::string Join(const std::string& name) {
    const auto joined = JoinByDiscovery(
        registry_,
        {.token = token_,
         .endpoints = "e",
         .id = name,
         .peer_urls = name + "=http://" + name + ":2380"},
        [this](Duration pause) { pauses_s_.push_back(pause / std::chrono::seconds(1)); });
    return joined.has_value() ? *joined : joined.error().message;
  }

  Registry registry_;
  std::string token_ = "t";
  std::vector<std::int64_t> pauses_s_;
};

TEST_F(ClusterDiscoveryTest, WithoutASizeNobodyRegisters) {
  EXPECT_EQ(Join("a"), "discovery: size key not found");
  for (const char* size : {"", "0", "-1", "x", "1001", "99999999999999999999"}) {
    registry_.Set(kSizeKey, size);
    EXPECT_EQ(Join("a"), "discovery: size key is bad") << size;
  }
  EXPECT_TRUE(registry_.Get(kPrefix, "/_etcd/registry/t/memberz")->rows.empty());
  EXPECT_TRUE(pauses_s_.empty());
}

TEST_F(ClusterDiscoveryTest, TheFirstToRegisterAreTheClusterInTheirOrder) {
  registry_.Set(kSizeKey, "3");
  registry_.Add("c");
  registry_.Add("a");
  EXPECT_EQ(Join("b"), "c=http://c:2380,a=http://a:2380,b=http://b:2380");
  EXPECT_EQ(registry_.watches(), 0);
  // Once more, after a start that has failed later on.
  EXPECT_EQ(Join("b"), "c=http://c:2380,a=http://a:2380,b=http://b:2380");
  EXPECT_EQ(Join("d"), "discovery: cluster is full");
}

TEST_F(ClusterDiscoveryTest, AMemberWaitsUntilThereAreEnough) {
  registry_.Set(kSizeKey, "3");
  int idle = 0;
  registry_.on_idle = [&] {
    if (++idle == 1) registry_.Add("x");
    if (idle == 2) registry_.Set(std::string(kPrefix) + "y", "not a member");
    if (idle == 3) registry_.Add("x");  // again
    if (idle == 4) registry_.Add("z");
  };
  EXPECT_EQ(Join("b"), "b=http://b:2380,x=http://x:2380,z=http://z:2380");
  EXPECT_EQ(idle, 4);
}

TEST_F(ClusterDiscoveryTest, OneThatRegistersWhileOthersTakeTheLastPlacesIsRefused) {
  registry_.Set(kSizeKey, "1");
  class Late final : public DiscoveryService {
   public:
    explicit Late(Registry& registry) : registry_(registry) {}
    Result<Listing> Get(std::string_view key, std::string_view end) override {
      return registry_.Get(key, end);
    }
    Result<void> Put(std::string_view key, std::string_view value) override {
      registry_.Add("other");
      return registry_.Put(key, value);
    }
    Result<void> Watch(std::string_view, std::string_view, std::int64_t, const Take&) override {
      return {};
    }

   private:
    Registry& registry_;
  } late(registry_);
  const auto joined =
      JoinByDiscovery(late, {.token = "t", .endpoints = "", .id = "b", .peer_urls = "b=http://b:1"},
                      [](Duration) {});
  ASSERT_FALSE(joined.has_value());
  EXPECT_EQ(joined.error().message, "discovery: cluster is full");
}

TEST_F(ClusterDiscoveryTest, FailedRequestsAreRepeatedAfterLongerAndLongerPauses) {
  registry_.Set(kSizeKey, "1");
  for (int i = 0; i < 10; ++i) registry_.Fail("no leader");
  EXPECT_EQ(Join("a"), "a=http://a:2380");
  EXPECT_EQ(pauses_s_, (std::vector<std::int64_t>{2, 4, 8, 16, 32, 64, 128, 256, 256, 256}));
}

TEST_F(ClusterDiscoveryTest, AfterABrokenWatchTheMembersAreReadAgain) {
  registry_.Set(kSizeKey, "2");
  registry_.BreakWatches(2);
  registry_.on_idle = [&] { registry_.Add("z"); };
  EXPECT_EQ(Join("a"), "a=http://a:2380,z=http://z:2380");
  EXPECT_EQ(registry_.watches(), 3);
  EXPECT_EQ(pauses_s_, (std::vector<std::int64_t>{2, 2}));
}

TEST_F(ClusterDiscoveryTest, AMemberWhoseUrlsCannotBeReadSpoilsTheCluster) {
  registry_.Set(kSizeKey, "2");
  registry_.Set(std::string(kPrefix) + "x", "x=no url");
  EXPECT_EQ(Join("a"), "discovery: invalid peer URL");
}

TEST_F(ClusterDiscoveryTest, ATokenIsCleanedAsAPath) {
  token_ = "x/..//t/";
  registry_.Set(kSizeKey, "1");
  EXPECT_EQ(Join("a"), "a=http://a:2380");
  EXPECT_EQ(registry_.Get(std::string(kPrefix) + "a", "")->rows.size(), 1u);
}

}  // namespace
}  // namespace kvorum::server

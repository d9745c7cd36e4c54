// The parts of a server process: each made from the flags, or driven by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "api/maintenance_encode.h"
#include "base/log/logging.h"
#include "server/process/process/authentication.h"
#include "server/process/process/publication.h"
#include "server/process/process/removal.h"
#include "server/process/settings/part_options.h"
#include "server/state/membership.h"
#include "tests/manual_clock.h"
#include "tests/mvcc/manual_executor.h"
#include "tests/server/served_member.h"
#include "tests/server/settings/command_line.h"

namespace kvorum::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Options OptionsOf(Words arguments) {
  SetLogLevel(LogLevel::kError);
  return Parsed(arguments);
}

// ---- the flags of the parts ----

TEST(PartOptionsTest, TheNearAddressIsTheFirstAdvertisedOneOfAnInterface) {
  const auto near = [](const char* gates, const char* urls) {
    Options options = OptionsOf({gates});
    options.initial_advertise_peer_urls = urls;
    return NearAddress(options);
  };
  const char* on = "--feature-gates=SetMemberLocalAddr=true";
  EXPECT_EQ(near("--feature-gates=", "http://10.0.0.1:2380"), "");
  EXPECT_EQ(near(on, "http://10.0.0.1:2380"), "10.0.0.1");
  EXPECT_EQ(near(on, "http://127.0.0.1:1,http://a.example:1,http://0.0.0.0:1,http://10.0.0.2:1"),
            "10.0.0.2");
  EXPECT_EQ(near(on, "http://[::1]:1,http://[::]:1,http://[2001:db8::1]:1"), "2001:db8::1");
  EXPECT_EQ(near(on, "http://localhost:2380"), "");
}

TEST(PartOptionsTest, RevocationsHavePriorityByTheFeatureGate) {
  EXPECT_FALSE(LimitsOf(OptionsOf({})).revokes_have_priority);
  EXPECT_TRUE(LimitsOf(OptionsOf({"--feature-gates=PriorityRequest=true"})).revokes_have_priority);
}

TEST(PartOptionsTest, AnElectionTakesAsManyTicksAsItsTimeoutHasHeartbeats) {
  const LocalMemberOptions options = MakeLocalMemberOptions(
      OptionsOf({"--heartbeat-interval=50", "--election-timeout=800", "--pre-vote=false"}), {});
  EXPECT_EQ(options.replica.tick, milliseconds(50));
  EXPECT_EQ(options.replica.election_timeout, milliseconds(800));
  EXPECT_EQ(options.raft.election_ticks, 16);
  EXPECT_EQ(options.raft.heartbeat_ticks, 1);
  EXPECT_FALSE(options.raft.pre_vote);
}

TEST(PartOptionsTest, FlagsOfZeroLeaveTheBackendsOwnDefaults) {
  const mvcc::StoreOptions own;
  const LocalMemberOptions unset = MakeLocalMemberOptions(
      OptionsOf({"--backend-batch-limit=0", "--backend-batch-interval=0s"}), {});
  EXPECT_EQ(unset.store.commit.batch_operations, own.commit.batch_operations);
  EXPECT_EQ(unset.store.commit.batch_interval, own.commit.batch_interval);
  const LocalMemberOptions set = MakeLocalMemberOptions(
      OptionsOf({"--backend-batch-limit=7", "--backend-batch-interval=9ms"}), {});
  EXPECT_EQ(set.store.commit.batch_operations, 7U);
  EXPECT_EQ(set.store.commit.batch_interval, milliseconds(9));
}

TEST(PartOptionsTest, TheFrontTakesMessagesBeyondTheLargestEntry) {
  AnswerMemory answers(1 << 20);
  const Options options = OptionsOf({"--max-request-bytes=1000000"});
  EXPECT_EQ(ClientServerOptions(options, answers).max_receive_message_bytes, 1'000'000U + 524'288U);
  EXPECT_EQ(LimitsOf(options).max_request_bytes, 1'000'000U);
}

// ---- a member that was removed ----

class RemovalTest : public ::testing::Test {
 protected:
  RemovalTest() {
    SetLogLevel(LogLevel::kFatal);
    clock_.Advance(seconds(100));
    removal_.Watch([this] { return is_leading_; }, [this] { ++ended_; });
  }
  void Wait(Duration time) {
    for (Duration passed{}; passed < time; passed += milliseconds(100)) {
      clock_.Advance(milliseconds(100));
      while (control_.RunOne()) {
      }
    }
  }

  ManualClock clock_;
  ManualExecutor control_{clock_};
  bool is_leading_ = false;
  int ended_ = 0;
  Removal removal_{control_};
};

TEST_F(RemovalTest, EndsTheProcessOnceALittleLater) {
  removal_.Begin();
  removal_.Begin();
  Wait(milliseconds(900));
  EXPECT_EQ(ended_, 0) << "others may still have to hear that it is committed";
  Wait(milliseconds(100));
  EXPECT_EQ(ended_, 1);
  removal_.Begin();
  Wait(seconds(10));
  EXPECT_EQ(ended_, 1);
}

TEST_F(RemovalTest, WaitsForAnotherLeader) {
  is_leading_ = true;
  removal_.Begin();
  Wait(seconds(3));
  EXPECT_EQ(ended_, 0);
  is_leading_ = false;
  Wait(milliseconds(100));
  EXPECT_EQ(ended_, 1);
}

TEST_F(RemovalTest, DoesNotWaitForAnotherLeaderForEver) {
  is_leading_ = true;
  removal_.Begin();
  Wait(milliseconds(5900));
  EXPECT_EQ(ended_, 0);
  Wait(milliseconds(100));
  EXPECT_EQ(ended_, 1);
}

// ---- a member that publishes itself ----

TEST(PublicationTest, IsDoneWhenNameAndVersionAreInTheLog) {
  const Options options =
      OptionsOf({"--name=default", "--advertise-client-urls=http://10.0.0.1:2379",
                 "--listen-client-urls=http://10.0.0.1:2379"});
  ServedMember served;
  ASSERT_TRUE(served.Start().has_value());
  int done = 0;
  Publication publication(options, served.parts().proposer, served.lanes().io(), [&] { ++done; });
  publication.Start();
  const auto view = [&] { return served.parts().cluster.membership.View(); };
  ASSERT_TRUE(served.lanes().RunUntil(
      [&] { return !view()->members.begin()->second.client_urls.empty(); }));
  EXPECT_THAT(view()->members.begin()->second.client_urls, ElementsAre("http://10.0.0.1:2379"));
  served.lanes().RunFor(seconds(1));
  EXPECT_EQ(done, 0) << "the leader has decided no version yet";
  served.member().Propose(RequestKind::kClusterVersionSet, EncodeClusterVersion("3.7.0"),
                          [](const auto& set) { EXPECT_TRUE(set.has_value()); });
  ASSERT_TRUE(served.lanes().RunUntil([&] { return done > 0; }));
  served.lanes().RunFor(seconds(5));
  EXPECT_EQ(done, 1);
}

// ---- authentication of clients ----

class AuthenticationTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Authentication>> Make(const char* token) {
    options_.auth_token = token;
    return Authentication::Make(options_, control_);
  }

  ManualClock clock_;
  ManualExecutor control_{clock_};
  Options options_;
};

TEST_F(AuthenticationTest, SimpleTokensAreKeptAndSwept) {
  const auto made = Make("simple");
  ASSERT_TRUE(made.has_value());
  EXPECT_NE((*made)->simple_tokens(), nullptr);
  (*made)->Start();
  EXPECT_TRUE(control_.RunOne());
  EXPECT_TRUE(control_.HasTimed()) << "again and again";
}

TEST_F(AuthenticationTest, WithoutSimpleTokensNoneAreSwept) {
  const auto made = Make("");
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ((*made)->simple_tokens(), nullptr);
  (*made)->Start();
  EXPECT_FALSE(control_.RunOne());
}

TEST_F(AuthenticationTest, TokensThatCannotBeMadeAreRefused) {
  const auto unknown = Make("nonsense");
  EXPECT_FALSE(unknown.has_value());
  const auto without_key = Make("jwt,sign-method=RS256,pub-key=/nowhere");
  EXPECT_FALSE(without_key.has_value());
}

}  // namespace
}  // namespace kvorum::server

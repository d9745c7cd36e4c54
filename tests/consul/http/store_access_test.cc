// Clients by tokens, with stores in memory instead of clients.
#include "consul/http/store_access.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "tests/manual_clock.h"
#include "tests/sync/fake_store.h"

namespace kvorum::consul {
namespace {

using namespace std::chrono_literals;

std::atomic<int> open_stores = 0;

// A store in memory that is counted until it goes.
std::shared_ptr<sync::Store> CountedStore() {
  ++open_stores;
  auto store = std::make_shared<sync::FakeStore>();
  sync::Store* const counted = store.get();
  return {counted, [store = std::move(store)](sync::Store*) { --open_stores; }};
}

class TokenStoresTest : public testing::Test {
 protected:
  TokenStoresTest() { Make({}); }
  void Make(TokenStores::Options options) {
    stores_ = std::make_unique<TokenStores>(
        own_,
        [this](const std::string& token) -> Result<std::shared_ptr<sync::Store>> {
          ++connects_;
          if (connect_waits_for_.valid()) connect_waits_for_.wait();
          if (token.starts_with("bad"))
            return Fail(Code::kInvalidArgument, "etcdserver: authentication failed");
          if (token.starts_with("off")) return Fail(Code::kUnavailable, "no connection");
          return CountedStore();
        },
        clock_, options);
  }
  Result<std::shared_ptr<sync::Store>> Ask(const std::string& token) {
    std::promise<Result<std::shared_ptr<sync::Store>>> answer;
    stores_->StoreOf(token, [&](auto store) { answer.set_value(std::move(store)); });
    return answer.get_future().get();
  }
  // Stores are closed on a thread of their own.
  static bool WaitForOpen(int count) {
    for (int i = 0; i < 5000 && open_stores != count; ++i) std::this_thread::sleep_for(1ms);
    return open_stores == count;
  }

  ManualClock clock_;
  sync::FakeStore own_;
  std::atomic<int> connects_ = 0;
  std::shared_future<void> connect_waits_for_;
  std::unique_ptr<TokenStores> stores_;
};

TEST_F(TokenStoresTest, NoTokenIsTheAgentsOwn) {
  EXPECT_EQ(Ask("")->get(), &own_);
  EXPECT_EQ(connects_, 0);
}

TEST_F(TokenStoresTest, ATokenKeepsItsStore) {
  const auto a = Ask("a");
  EXPECT_EQ(*Ask("a"), *a);
  EXPECT_NE(*Ask("b"), *a);
  EXPECT_EQ(connects_, 2);
}

TEST_F(TokenStoresTest, ARefusedTokenIsNotAskedAgainWithinASecond) {
  EXPECT_EQ(Ask("bad").error().code, Code::kUnauthenticated);
  EXPECT_EQ(Ask("bad").error().code, Code::kUnauthenticated);
  EXPECT_EQ(connects_, 1);
  clock_.Advance(1s);
  EXPECT_EQ(Ask("bad").error().code, Code::kUnauthenticated);
  EXPECT_EQ(connects_, 2);
  EXPECT_EQ(stores_->clients(), 0U);
}

TEST_F(TokenStoresTest, AStoreThatDoesNotAnswerIsNoRefusal) {
  EXPECT_EQ(Ask("off").error().code, Code::kUnavailable);
  EXPECT_EQ(Ask("off").error().code, Code::kUnavailable);
  EXPECT_EQ(connects_, 2);
}

TEST_F(TokenStoresTest, TheLeastRecentlyUsedIsClosedOnceNobodyUsesIt) {
  Make({.max_clients = 2});
  auto a = Ask("a");
  static_cast<void>(Ask("b"));
  static_cast<void>(Ask("a"));
  static_cast<void>(Ask("c"));
  EXPECT_EQ(stores_->clients(), 2U);
  EXPECT_TRUE(WaitForOpen(2)) << "b is closed";
  static_cast<void>(Ask("d"));
  EXPECT_TRUE(WaitForOpen(3)) << "a is in use";
  a = std::shared_ptr<sync::Store>();
  EXPECT_TRUE(WaitForOpen(2));
}

TEST_F(TokenStoresTest, AnIdleOneIsClosed) {
  static_cast<void>(Ask("a"));
  clock_.Advance(3min);
  static_cast<void>(Ask("b"));
  clock_.Advance(3min);
  stores_->CloseIdle();
  EXPECT_EQ(stores_->clients(), 1U);
  EXPECT_TRUE(WaitForOpen(1));
}

TEST_F(TokenStoresTest, TokensThatWaitAreBoundedAndShareTheirConnection) {
  std::promise<void> go;
  connect_waits_for_ = go.get_future().share();
  Make({.max_waiting_tokens = 2});
  std::vector<std::future<Code>> codes;
  const auto ask = [&](const std::string& token) {
    auto code = std::make_shared<std::promise<Code>>();
    codes.push_back(code->get_future());
    stores_->StoreOf(
        token, [code](auto store) { code->set_value(store ? Code::kOk : store.error().code); });
  };
  ask("a");
  ask("a");
  ask("b");
  ask("c");
  EXPECT_EQ(codes[3].get(), Code::kResourceExhausted);
  go.set_value();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(codes[i].get(), Code::kOk);
  EXPECT_EQ(connects_, 2);
}

TEST_F(TokenStoresTest, TheEndClosesAllAlsoThoseInUse) {
  const auto a = Ask("a");
  static_cast<void>(Ask("b"));
  stores_ = nullptr;
  EXPECT_EQ(open_stores, 0);
}

TEST_F(TokenStoresTest, ATokenOfTwoPartsNeedsBoth) {
  const TokenStores::Connect connect = ConnectWith({.endpoints = {"127.0.0.1:1"}});
  EXPECT_EQ(connect(":secret").error().code, Code::kUnauthenticated);
  EXPECT_EQ(connect("root:").error().code, Code::kUnauthenticated);
  EXPECT_EQ(connect("line\nbreak").error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace kvorum::consul

#include "consul/http/token_guard.h"

#include <gtest/gtest.h>

#include "consul/model/records.h"
#include "tests/consul/http_world.h"

namespace kvorum::consul {
namespace {

class TokenGuardTest : public testing::Test {
 protected:
  std::shared_ptr<FakeAnswer> Call(const std::string& token) {
    const auto routes =
        GuardedByToken({{.path = "/v1/agent/leave",
                         .methods = "PUT",
                         .handle =
                             [this](Exchange exchange) {
                               ++handled_;
                               exchange.Ok();
                             }}},
                       world_.access, RegistryKeys("/kvorum").prefix(), world_.executor);
    auto [exchange, answer] = world_.Make("/v1/agent/leave", token);
    routes.at(0).handle(std::move(exchange));
    world_.executor.Settle();
    return answer;
  }

  HttpWorld world_;
  int handled_ = 0;
};

TEST_F(TokenGuardTest, WithoutATokenNothingIsAsked) {
  EXPECT_EQ(Call("")->line(), "200 ");
  EXPECT_EQ(handled_, 1);
  EXPECT_TRUE(world_.access.asked.empty());
}

TEST_F(TokenGuardTest, ATokenThatMayReadTheRegistryPasses) {
  EXPECT_EQ(Call("good")->line(), "200 ");
  EXPECT_EQ(handled_, 1);
  EXPECT_EQ(world_.access.asked["good"], 1);
}

TEST_F(TokenGuardTest, ARefusedTokenChangesNothing) {
  for (const char* token : {"forbidden", "unknown"}) {
    const auto answer = Call(token);
    EXPECT_EQ(answer->status, 403U) << token;
    EXPECT_EQ(answer->answers, 1) << token;
  }
  EXPECT_EQ(handled_, 0);
}

TEST_F(TokenGuardTest, AStoreThatIsAwayLetsNoTokenIn) {
  world_.access.failure = Error{Code::kUnavailable, "no endpoint"};
  EXPECT_EQ(Call("good")->status, 500U);
  EXPECT_EQ(handled_, 0);
}

TEST_F(TokenGuardTest, AStoreThatIsSilentIsTakenForNone) {
  world_.store.HoldRanges();
  const auto answer = Call("good");
  world_.executor.Advance(std::chrono::seconds(7));
  EXPECT_EQ(answer->line(), "500 No cluster leader");
  world_.store.LetGo();
  world_.executor.Settle();
  EXPECT_EQ(handled_, 0);
  EXPECT_EQ(answer->answers, 1);
}

}  // namespace
}  // namespace kvorum::consul

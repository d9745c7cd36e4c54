// A write that the store refuses changes nothing of the agent's list: the question before each
// write of /v1/agent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "consul/agent/write_questions.h"
#include "sync/agent/agent_state.h"
#include "tests/consul/agent/agent_world.h"
#include "tests/sync/forwarding_store.h"

namespace kvorum::consul {
namespace {

using namespace std::chrono_literals;
using sync::TxnRequest;
using testing::StartsWith;

constexpr const char* kDenied =
    "403 Permission denied: the token may not write this entry to the catalog";
constexpr std::string_view kMark = "a token's";
constexpr const char* kRegisterService = "/v1/agent/service/register";
constexpr const char* kRegisterCheck = "/v1/agent/check/register";

bool Touches(const TxnRequest& request, const std::string& part) {
  return std::ranges::any_of(request.then,
                             [&](const sync::Operation& op) { return op.key.contains(part); });
}

class ConsulAgentPermission : public AgentWorld {
 protected:
  ConsulAgentPermission() {
    store_of_ = [this](const std::string& token, sync::CatalogPassOptions::OnStore on_store) {
      if (token == "unknown") return on_store(Fail(Code::kUnauthenticated, "invalid auth token"));
      on_store(std::make_shared<StoreOfToken>(*this, token));
    };
    store_.refuse = [this](const TxnRequest& request) -> std::optional<Error> {
      const bool is_the_agents = std::ranges::none_of(
          request.compares, [](const sync::Compare& each) { return each.key == kMark; });
      return is_the_agents ? Refusal("", request) : std::nullopt;
    };
  }

  // The world's store with a token's rights.
  class StoreOfToken final : public sync::ForwardingStore {
   public:
    StoreOfToken(ConsulAgentPermission& world, std::string token)
        : ForwardingStore(world.store_), world_(world), token_(std::move(token)) {}
    void Txn(TxnRequest request, OnAnswer<sync::TxnAnswer> on_answer) override {
      if (const auto error = world_.Refusal(token_, request)) return on_answer(Fail(*error));
      // Holds, and tells the store below that it is not the agent who asks.
      request.compares.push_back(
          {.key = std::string(kMark), .target = sync::Compare::Target::kCreateRevision});
      ForwardingStore::Txn(std::move(request), std::move(on_answer));
    }

   private:
    ConsulAgentPermission& world_;
    const std::string token_;
  };

  // Both branches are checked before anything is compared.
  std::optional<Error> Refusal(const std::string& token, const TxnRequest& request) const {
    const auto denied = denied_.find(token);
    if (denied == denied_.end() || !Touches(request, denied->second)) return std::nullopt;
    return Error{Code::kPermissionDenied, "etcdserver: permission denied"};
  }

  std::string PutAs(const std::string& token, const std::string& target, std::string body = {}) {
    const auto answer =
        Ask("PUT", target, std::move(body), {{.name = "x-consul-token", .value = token}});
    executor_.Advance(100ms);
    return answer->line();
  }
  // Everything that a refused request must leave as it is.
  std::string All() {
    std::string all = Get("/v1/agent/services") + Get("/v1/agent/checks");
    for (const auto& [key, kv] : store_.keys()) all += key + "=" + kv.value + "\n";
    for (const auto& listed : syncer_->List(sync::Registry::Which::kAll))
      all += sync::EncodeEntry(listed.entry) + (listed.in_sync ? " in sync\n" : " dirty\n");
    return all;
  }

  std::map<std::string, std::string> denied_;  // by token, parts of keys
};

TEST_F(ConsulAgentPermission, ARefusedRegistrationChangesNothing) {
  denied_ = {{"reader", "/"}, {"", "/secret"}};
  const std::string before = All();
  EXPECT_EQ(PutAs("reader", kRegisterService, R"({"Name":"web"})"), kDenied);
  EXPECT_EQ(Put(kRegisterService, R"({"Name":"web","Token":"reader"})"), kDenied);
  EXPECT_EQ(Put(kRegisterService, R"({"Name":"web","Token":"unknown"})"), kDenied);
  EXPECT_EQ(Put(kRegisterService, R"({"Name":"secret"})"), kDenied);
  EXPECT_EQ(PutAs("reader", kRegisterCheck, R"({"Name":"disk","TTL":"9s"})"), kDenied);
  EXPECT_EQ(Put(kRegisterCheck, R"({"Name":"disk","TTL":"9s","Token":"reader"})"), kDenied);
  EXPECT_EQ(All(), before);
  EXPECT_EQ(syncer_->status().times_blocked, 0U);
  // Another token may.
  EXPECT_EQ(PutAs("writer", kRegisterService, R"({"Name":"secret"})"), "200 ");
  EXPECT_EQ(PutAs("writer", kRegisterCheck, R"({"Name":"disk","TTL":"9s"})"), "200 ");
  EXPECT_TRUE(Kept("secret").has_value());
}

TEST_F(ConsulAgentPermission, ARefusedChangeOfWhatIsThereChangesNothing) {
  Put(kRegisterService, R"({"Name":"web","Check":{"CheckID":"up","TTL":"1h"}})");
  Put(kRegisterService, R"({"Name":"db","Check":{"CheckID":"up2","TTL":"1h"}})");
  Put(kRegisterCheck, R"({"Name":"disk","TTL":"1h"})");
  executor_.Advance(1s);
  const std::string before = All();
  denied_ = {{"reader", "/"}, {"web's", "db"}};
  const auto refuse = [&](const std::string& token, const std::string& target,
                          const std::string& body = {}) {
    EXPECT_EQ(PutAs(token, target, body), kDenied) << target;
    EXPECT_EQ(All(), before) << target;
  };
  refuse("reader", kRegisterService, R"({"Name":"web","Port":7})");
  refuse("reader", "/v1/agent/service/deregister/web");
  refuse("reader", "/v1/agent/service/maintenance/web?enable=true");
  refuse("reader", "/v1/agent/maintenance?enable=true");
  refuse("reader", kRegisterCheck, R"({"Name":"new","TTL":"1h","ServiceID":"web"})");
  refuse("reader", "/v1/agent/check/deregister/up");
  refuse("reader", "/v1/agent/check/deregister/disk");
  refuse("reader", "/v1/agent/check/pass/up?note=x");
  refuse("reader", "/v1/agent/check/warn/disk");
  refuse("reader", "/v1/agent/check/update/up", R"({"Status":"passing"})");
  refuse("reader", "/v1/agent/leave");
  refuse("reader", "/v1/agent/reload");
  // A token of one service neither takes another's place nor its check.
  refuse("web's", kRegisterService, R"({"ID":"web","Name":"db"})");
  refuse("web's", kRegisterService, R"({"ID":"db","Name":"web"})");
  refuse("web's", kRegisterService, R"({"Name":"web","Check":{"CheckID":"up2","TTL":"1h"}})");
  refuse("web's", kRegisterCheck, R"({"Name":"up2","TTL":"1h","ServiceID":"web"})");
  refuse("web's", "/v1/agent/check/fail/up2");
  EXPECT_EQ(PutAs("web's", "/v1/agent/check/pass/up"), "200 ");
  EXPECT_EQ(StatusOf("up"), "passing");
  // An id that is not there is answered as ever.
  EXPECT_THAT(PutAs("reader", "/v1/agent/service/deregister/x"), StartsWith("404 "));
  EXPECT_THAT(PutAs("reader", "/v1/agent/check/pass/x"), StartsWith("404 "));
}

TEST_F(ConsulAgentPermission, WhoeverWritesTheServiceMustBeAllowedToo) {
  Put(kRegisterService, R"({"Name":"web","Token":"t"})");
  executor_.Advance(1s);
  denied_ = {{"t", "web"}};
  const std::string before = All();
  EXPECT_EQ(PutAs("root", kRegisterCheck, R"({"Name":"up","TTL":"1h","ServiceID":"web"})"),
            kDenied);
  EXPECT_EQ(Put("/v1/agent/service/maintenance/web?enable=true"), kDenied);
  EXPECT_EQ(Put("/v1/agent/service/deregister/web"), kDenied);
  EXPECT_EQ(All(), before);
  // A token that may removes it nevertheless.
  EXPECT_EQ(PutAs("root", "/v1/agent/service/deregister/web"), "200 ");
  EXPECT_FALSE(Kept("web").has_value());
}

// The rights were given after a definition file's service had been refused.
TEST_F(ConsulAgentPermission, AnEntryThatWasBlockedIsWrittenWhenTheStoreAllowsIt) {
  denied_ = {{"t", "web"}};
  sync::Entry entry{.id = "web", .name = "web", .value = ""};
  entry.token = "t";
  ASSERT_TRUE(syncer_->Register(entry));
  executor_.Advance(100ms);
  EXPECT_EQ(syncer_->status().blocked, 1U) << "as for files: until the next full sync";
  EXPECT_EQ(Put(kRegisterService, R"({"Name":"web","Token":"t"})"), kDenied);
  denied_.clear();
  EXPECT_EQ(Put(kRegisterService, R"({"Name":"web","Token":"t"})"), "200 ");
  EXPECT_TRUE(Kept("web").has_value());
}

TEST_F(ConsulAgentPermission, AStoreThatDoesNotAnswerHoldsNoRegistrationUp) {
  store_.down = Error{Code::kUnavailable, "no endpoint"};
  const auto refused = Ask("PUT", kRegisterService, R"({"Name":"a"})");
  executor_.Advance(4s);
  EXPECT_EQ(refused->line(), "200 ");
  EXPECT_EQ(GetJson("/v1/agent/services").size(), 1U);
  store_.latency = 1h;
  const auto late = Ask("PUT", kRegisterService, R"({"Name":"b"})");
  executor_.Advance(1900ms);
  EXPECT_EQ(GetJson("/v1/agent/services").size(), 1U);
  executor_.Advance(200ms);
  EXPECT_EQ(GetJson("/v1/agent/services").size(), 2U);
  executor_.Advance(4s);
  EXPECT_EQ(late->line(), "200 ");
}

TEST_F(ConsulAgentPermission, AReportWithoutATokenIsNotAskedAbout) {
  Put(kRegisterService, R"({"Name":"web","Check":{"CheckID":"up","TTL":"1h"}})");
  store_.down = Error{Code::kUnavailable, "no endpoint"};
  const auto answer = Ask("PUT", "/v1/agent/check/pass/up");
  EXPECT_EQ(answer->line(), "200 ") << "at once";
  EXPECT_EQ(StatusOf("up"), "passing");
}

TEST_F(ConsulAgentPermission, TheQuestionWritesNothing) {
  store_.on_txn = [&](const TxnRequest& request) {
    if (!Touches(request, "web")) return;
    store_.on_txn = nullptr;
    ASSERT_EQ(request.compares.size(), 1U);
    EXPECT_EQ(request.compares[0].key, "/r/nodes/n1");
    EXPECT_EQ(request.then.size(), 3U);
    EXPECT_TRUE(request.otherwise.empty());
  };
  Ask("PUT", kRegisterService, R"({"Name":"web"})");
  syncer_->pause().Acquire();
  executor_.Advance(10ms);
  EXPECT_EQ(GetJson("/v1/agent/services").size(), 1U);
  for (const auto& [key, kv] : store_.keys()) EXPECT_FALSE(key.contains("web")) << key;
  syncer_->pause().Release();
  executor_.Advance(1s);
  EXPECT_TRUE(Kept("web").has_value());
}

TEST_F(ConsulAgentPermission, RequestsThatWaitAreBoundedAndEndWithTheAgent) {
  store_.latency = 1h;
  std::vector<std::shared_ptr<FakeAnswer>> answers;
  for (std::size_t i = 0; i <= WriteQuestions::kMost; ++i) {
    answers.push_back(Ask("PUT", "/v1/agent/maintenance?enable=true"));
  }
  executor_.Advance(1s);
  EXPECT_EQ(answers.back()->line(), "500 too many changes wait for the store");
  answers.pop_back();
  for (const auto& answer : answers) EXPECT_FALSE(answer->is_answered());
  End();
  for (const auto& answer : answers) EXPECT_EQ(answer->status, 500U);
  executor_.Advance(2h);
}

}  // namespace
}  // namespace kvorum::consul

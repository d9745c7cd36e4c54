// The agent's answers to its control socket, without a socket: time and the store are the test's
// own.
#include "tools/sync/agent_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/sync/catalog_store.h"
#include "tests/sync/manual_executor.h"

namespace kvorum::ctl {
namespace {

using namespace std::chrono_literals;
using sync::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The lines of one answer.
class Answer final : public ControlSink {
 public:
  bool Write(std::string line) override {
    lines.push_back(Json::parse(line));
    return true;
  }
  void Stream(ControlItems items) override {
    while (const auto item = items()) lines.push_back({{"item", *item}});
    lines.push_back({{"ok", Json::object()}});
    has_ended = true;
  }
  void End() override { has_ended = true; }

  std::string error() const {
    return has_ended && lines.back().contains("error") ? lines.back()["error"].get<std::string>()
                                                       : "";
  }
  std::vector<Json> lines;
  bool has_ended = false;
};

class NoProber final : public sync::Prober {
 public:
  void Begin(const sync::CheckDefinition&, OnEnd) override {}
};

class AgentControlTest : public testing::Test {
 protected:
  AgentControlTest() {
    EXPECT_TRUE(syncer_.Start());
    Pass(100ms);
  }
  sync::SyncerOptions Options() {
    return {.node = "n1",
            .seed = 3,
            .on_full_sync = [this] { control_.Synced(); },
            .on_error = [this](const Error& error) { control_.Failed(error); }};
  }
  std::shared_ptr<Answer> Ask(const std::string& command, Json request = Json::object()) {
    auto answer = std::make_shared<Answer>();
    request["command"] = command;
    handlers_.at(command)(request, ControlReply(answer));
    return answer;
  }
  void Pass(Duration d) { executor_.Advance(d); }

  sync::ManualExecutor executor_;
  sync::CatalogStore store_{executor_};
  NoProber prober_;
  bool has_left_ = false;
  sync::Syncer syncer_{store_, executor_, Options()};
  sync::CheckRunner checks_{executor_, prober_, syncer_, 5};
  AgentControl control_{{.node = "n1",
                         .syncer = syncer_,
                         .checks = checks_,
                         .clock = executor_.clock(),
                         .reload = {},
                         .on_left = [this] { has_left_ = true; }}};
  ControlHandlers handlers_ = control_.Handlers();
};

TEST_F(AgentControlTest, ASyncIsAnsweredByAFullPassThatBeganAfterIt) {
  store_.latency = 1s;
  const auto first = Ask("sync");
  Pass(10ms);  // its pass is under way
  const auto second = Ask("sync");
  while (!first->has_ended) Pass(10ms);
  EXPECT_FALSE(second->has_ended);
  Pass(30s);
  ASSERT_TRUE(second->has_ended);
  EXPECT_EQ(first->lines.back()["ok"]["full_syncs"], 2);
  EXPECT_EQ(second->lines.back()["ok"]["full_syncs"], 3);
}

TEST_F(AgentControlTest, ASyncThatFailsIsAnsweredWithTheReason) {
  store_.down = Error{Code::kUnavailable, "no endpoint"};
  const auto answer = Ask("sync");
  Pass(1s);
  EXPECT_EQ(answer->error(), "no endpoint");
  const Json status = Ask("status")->lines.back()["ok"];
  EXPECT_EQ(status["last_error"], "no endpoint");
  EXPECT_THAT(StatusLine(status), HasSubstr("n1: synced, 0 entries, 1 nodes"));
  EXPECT_THAT(StatusLine(status), HasSubstr("; no endpoint"));
}

TEST_F(AgentControlTest, ADeniedServiceIsShownAsBlocked) {
  store_.refuse = [](const sync::TxnRequest& request) -> std::optional<Error> {
    const bool is_denied = std::ranges::any_of(
        request.then, [](const sync::Operation& op) { return op.key.contains("/services/db/"); });
    if (!is_denied) return std::nullopt;
    return Error{Code::kPermissionDenied, "permission denied"};
  };
  Ask("register", {{"entry", {{"id", "a"}, {"name", "db"}}}});
  Ask("register", {{"entry", {{"id", "b"}, {"name", "web"}}}});
  Pass(1s);
  const auto list = Ask("list");
  ASSERT_EQ(list->lines.size(), 3U);
  EXPECT_EQ(list->lines[0]["item"]["sync"], "blocked");
  EXPECT_EQ(list->lines[1]["item"]["sync"], "synced");
  const Json status = Ask("status")->lines.back()["ok"];
  EXPECT_EQ(status["state"], "blocked");
  EXPECT_EQ(status["blocked"], 1);
}

TEST_F(AgentControlTest, RequestsOfAnotherFormAreRefused) {
  for (const char* command : {"register", "deregister", "check"}) {
    EXPECT_NE(Ask(command)->error(), "") << command;
    EXPECT_NE(Ask(command, {{"entry", 7}, {"id", 7}})->error(), "") << command;
    EXPECT_NE(Ask(command, {{"entry", Json::array()}, {"id", "a"}, {"check", Json()}})->error(), "")
        << command;
  }
  EXPECT_EQ(Ask("list", {{"all", "yes"}})->error(), "");
  EXPECT_EQ(Ask("reload")->error(), "the agent has no folder of services");
  EXPECT_THAT(syncer_.List(sync::Registry::Which::kAll), IsEmpty());
}

TEST_F(AgentControlTest, AnEntrysSourceIsNotTheCallersToSay) {
  Ask("register", {{"entry", {{"id", "a"}, {"name", "web"}, {"source", "web.json"}}}});
  EXPECT_EQ(syncer_.List(sync::Registry::Which::kAll).front().entry.source, "");
}

TEST_F(AgentControlTest, LeavingRemovesTheKeysAlsoUnderAPause) {
  Ask("register", {{"entry", {{"id", "a"}, {"name", "web"}}}});
  Pass(1s);
  EXPECT_EQ(store_.keys().size(), 3U);
  Ask("pause");
  const auto answer = Ask("leave");
  Pass(1s);
  EXPECT_TRUE(answer->has_ended);
  EXPECT_EQ(answer->error(), "");
  EXPECT_TRUE(has_left_);
  EXPECT_THAT(store_.keys(), IsEmpty());
}

}  // namespace
}  // namespace kvorum::ctl

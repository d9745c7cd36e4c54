// Any lines as requests at an agent's control socket: each is answered once at most, with lines of
// JSON, after any earlier requests, and the agent reports its state afterwards.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "tests/sync/catalog_store.h"
#include "tests/sync/manual_executor.h"
#include "tools/sync/agent_control.h"

namespace {

using namespace kvorum;
using namespace kvorum::ctl;

constexpr ControlLimits kLimits;

void Require(bool condition) {
  if (!condition) std::abort();
}

// Takes one answer.
class Answer final : public ControlSink {
 public:
  bool Write(std::string line) override {
    Require(ends_ == 0);
    Require(line.ends_with('\n') && line.find('\n') == line.size() - 1);
    Require(sync::Json::parse(line, nullptr, /*allow_exceptions=*/false).is_object());
    return true;
  }
  void Stream(ControlItems items) override {
    while (const auto item = items()) Require(!ControlText(*item).empty());
    End();
  }
  void End() override { Require(++ends_ == 1); }
  bool has_ended() const { return ends_ == 1; }

 private:
  int ends_ = 0;
};

class NoProber final : public sync::Prober {
 public:
  void Begin(const sync::CheckDefinition&, OnEnd) override {}
};

class Agent {
 public:
  Agent() { Require(syncer_.Start().has_value()); }
  // While the control is there that answers go to.
  ~Agent() { syncer_.Stop(); }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  void Ask(std::string_view line) {
    const auto answer = std::make_shared<Answer>();
    ControlReply reply(answer);
    auto request = ParseControlRequest(line, kLimits);
    if (!request) return reply.Fail(request.error().message);
    const auto handler = handlers_.find((*request)["command"].get<std::string>());
    if (handler == handlers_.end()) return reply.Fail("unknown");
    handler->second(*request, std::move(reply));
    executor_.Advance(std::chrono::milliseconds(20));
  }
  void RequireThatItAnswers() {
    const auto answer = std::make_shared<Answer>();
    handlers_.at("status")({{"command", "status"}}, ControlReply(answer));
    Require(answer->has_ended());
    Require(!StatusLine(control_.Status()).empty());
  }

 private:
  sync::SyncerOptions Options() {
    return {.node = "n1",
            .seed = 3,
            .on_full_sync = [this] { control_.Synced(); },
            .on_error = [this](const Error& error) { control_.Failed(error); }};
  }

  sync::ManualExecutor executor_;
  sync::CatalogStore store_{executor_};
  NoProber prober_;
  sync::Syncer syncer_{store_, executor_, Options()};
  sync::CheckRunner checks_{executor_, prober_, syncer_, 5};
  AgentControl control_{{.node = "n1",
                         .syncer = syncer_,
                         .checks = checks_,
                         .clock = executor_.clock(),
                         .reload = [] { return Result<sync::Json>(sync::Json::object()); },
                         .on_left = [] {}}};
  ControlHandlers handlers_ = control_.Handlers();
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  Agent agent;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    agent.Ask(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  agent.RequireThatItAnswers();
  return 0;
}

// Checks that stand for others: of the agent's own list, and of other nodes by the catalog.
#include "consul/catalog/alias_prober.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/consul/catalog_world.h"
#include "tests/sync/catalog_store.h"

namespace kvorum::consul {
namespace {

using namespace std::chrono_literals;
using sync::ProbeResult;
using enum Health;

// The prober behind, for all other kinds.
class OtherProber final : public sync::Prober {
 public:
  void Begin(const sync::CheckDefinition& /*check*/, OnEnd on_end) override {
    on_end({.health = kWarning, .output = "another"});
  }
};

class ConsulAliasProber : public testing::Test {
 protected:
  ConsulAliasProber() {
    sync::SyncerOptions options;
    options.root = "/r";
    options.node = "n1";
    syncer_ = std::make_unique<sync::Syncer>(store_, catalog_.executor, options);
    prober_ = std::make_unique<AliasProber>(others_, *syncer_, catalog_.executor.clock(), "n1");
    prober_->SetCatalog(&catalog_.copy);
  }

  static sync::CheckDefinition Alias(const std::string& target, const std::string& id = "alias") {
    return {.id = id, .kind = sync::CheckKind::kAlias, .target = target, .interval = 1s};
  }
  ProbeResult Ask(const sync::CheckDefinition& check) {
    ProbeResult answer{.output = "none"};
    prober_->Begin(check, [&](ProbeResult result) { answer = std::move(result); });
    return answer;
  }
  ProbeResult AskFor(const std::string& target) { return Ask(Alias(target)); }

  static sync::Check CheckWith(const std::string& id, Health health, const std::string& output) {
    return {.definition = {.id = id, .details = EncodeCheckDetails({.id = id, .name = "Is " + id})},
            .health = health,
            .output = output};
  }
  void Register(const std::string& id, std::vector<sync::Check> checks) {
    ASSERT_TRUE(
        syncer_->Register({.id = id, .name = "web", .value = "", .checks = std::move(checks)}));
    catalog_.executor.Advance(AliasProber::kAge + 1ms);
  }
  void Update(const std::string& check, Health health, const std::string& output) {
    ASSERT_TRUE(syncer_->UpdateCheck("web%2E1", check, health, output));
    catalog_.executor.Advance(AliasProber::kAge + 1ms);
  }
  void RegisterOfNode(sync::Check check) {
    ASSERT_TRUE(syncer_->Register(sync::NodeCheck(std::move(check))));
    catalog_.executor.Advance(AliasProber::kAge + 1ms);
  }

  CatalogWorld catalog_;
  sync::CatalogStore store_{catalog_.executor};
  OtherProber others_;
  std::unique_ptr<sync::Syncer> syncer_;
  std::unique_ptr<AliasProber> prober_;
};

TEST_F(ConsulAliasProber, OtherKindsGoToTheProberBehind) {
  EXPECT_EQ(Ask({.id = "up", .kind = sync::CheckKind::kTcp, .target = "x:1"}),
            (ProbeResult{.health = kWarning, .output = "another"}));
}

TEST_F(ConsulAliasProber, TheWorstCheckOfTheServiceAndTheNodeDecides) {
  Register("web%2E1", {CheckWith("a", kPassing, ""), CheckWith("b", kPassing, "")});
  Register("other", {CheckWith("c", kCritical, "of another service")});
  EXPECT_EQ(AskFor("/web%2E1"), (ProbeResult{.health = kPassing, .output = "All checks passing."}));
  Update("a", kWarning, "slow");
  EXPECT_EQ(AskFor("n1/web%2E1"),
            (ProbeResult{.health = kWarning, .output = "Aliased check \"Is a\" failing: slow"}));
  Update("b", kCritical, "down");
  EXPECT_EQ(AskFor("N1/web%2E1").output, "Aliased check \"Is b\" failing: down");
  RegisterOfNode(CheckWith("disk", kCritical, "full"));
  EXPECT_EQ(AskFor("/web%2E1"), (ProbeResult{.health = kCritical,
                                             .output = "Aliased check \"Is disk\" failing: full"}));
}

TEST_F(ConsulAliasProber, AServiceWithoutChecksPassesAndOneThatIsNotThereIsCritical) {
  Register("web", {});
  EXPECT_EQ(AskFor("/web"), (ProbeResult{.health = kPassing, .output = "No checks found."}));
  EXPECT_EQ(AskFor("/db"),
            (ProbeResult{.health = kCritical, .output = "Service db could not be found on node "}));
}

TEST_F(ConsulAliasProber, AnAliasDoesNotStandForItself) {
  sync::Check own{.definition = Alias("/web"), .health = kCritical};
  Register("web", {own});
  EXPECT_EQ(AskFor("/web").health, kPassing);
  sync::Check other{.definition = Alias("/web", "other"), .health = kCritical};
  Register("web", {own, other});
  EXPECT_EQ(AskFor("/web").health, kCritical);
}

TEST_F(ConsulAliasProber, OfAnotherNodeTheCatalogIsAsked) {
  EXPECT_EQ(AskFor("n2/web").health, kCritical);
  catalog_.Start();
  EXPECT_EQ(AskFor("n2/web").output, "Service web could not be found on node n2");
  EXPECT_EQ(AskFor("n2/").output, "Node n2 could not be found");
  catalog_.AddAgent("n2", "web");
  EXPECT_EQ(AskFor("n2/web"), (ProbeResult{.health = kPassing, .output = "All checks passing."}));
  EXPECT_EQ(AskFor("n2/"), (ProbeResult{.health = kPassing, .output = "All checks passing."}));
  EXPECT_EQ(AskFor("n2/db").health, kCritical);
  catalog_.AddAgent("n2", "web", {.id = "up", .health = kWarning, .name = "up"});
  EXPECT_EQ(AskFor("n2/web").health, kWarning);
  EXPECT_EQ(AskFor("n2/").health, kPassing) << "a node's own checks alone";
  catalog_.Delete(catalog_.keys.Life("n2"));
  EXPECT_EQ(AskFor("n2/"), (ProbeResult{.health = kCritical,
                                        .output = "Aliased check \"Serf Health Status\" failing: "
                                                  "Agent not live or unreachable"}));
  prober_->SetCatalog(nullptr);
  EXPECT_EQ(AskFor("n2/").output,
            "Failure checking aliased node or service: the catalog is not known");
}

TEST_F(ConsulAliasProber, TheListIsTakenOnceForManyAliases) {
  Register("web", {CheckWith("a", kPassing, "")});
  EXPECT_EQ(AskFor("/web").health, kPassing);
  ASSERT_TRUE(syncer_->UpdateCheck("web", "a", kCritical, ""));
  EXPECT_EQ(AskFor("/web").health, kPassing) << "the list at hand";
  catalog_.executor.Advance(AliasProber::kAge + 1ms);
  EXPECT_EQ(AskFor("/web").health, kCritical);
}

}  // namespace
}  // namespace kvorum::consul

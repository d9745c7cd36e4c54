// The directory that follows the catalog of a store.
#include "dns/catalog_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sync/agent/catalog.h"
#include "tests/sync/fake_store.h"
#include "tests/sync/manual_executor.h"

namespace kvorum::dns {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class DnsCatalogDirectory : public testing::Test {
 protected:
  void Put(const std::string& key, const std::string& value,
           sync::Health health = sync::Health::kPassing) {
    store_.Put("/kvorum/services/" + key,
               sync::EncodeRecord({.id = "a",
                                   .name = "web",
                                   .value = value,
                                   .checks = {{.id = "up", .health = health}}}));
    executor_.Settle();
  }

  sync::FakeStore store_;
  sync::ManualExecutor executor_;
  std::vector<std::string> reports_;
  CatalogDirectory directory_{store_, executor_, {.on_report = [this](const std::string& text) {
                                reports_.push_back(text);
                              }}};
};

TEST_F(DnsCatalogDirectory, KnowsNothingBeforeItsFirstList) {
  EXPECT_EQ(directory_.revision(), 0);
  EXPECT_THAT(directory_.Find("web"), IsEmpty());
  executor_.Settle();
  EXPECT_GT(directory_.revision(), 0);
}

TEST_F(DnsCatalogDirectory, FollowsTheInstancesOfAServiceInAnyCase) {
  Put("web/n1.a", "10.0.0.1:80");
  Put("Web/n2.a", "10.0.0.2:80");
  Put("db/n1.b", "10.0.0.3:80");
  EXPECT_THAT(directory_.Find("web"), SizeIs(2));
  store_.Delete("/kvorum/services/Web/n2.a");
  executor_.Settle();
  ASSERT_THAT(directory_.Find("web"), SizeIs(1));
  EXPECT_EQ(directory_.Find("web").front().endpoint->port, 80);
  EXPECT_THAT(directory_.Find("nobody"), IsEmpty());
}

TEST_F(DnsCatalogDirectory, AWarningIsHealthyAndACriticalCheckIsNot) {
  for (const auto& [health, is_healthy] :
       {std::pair(sync::Health::kPassing, true), std::pair(sync::Health::kWarning, true),
        std::pair(sync::Health::kCritical, false)}) {
    Put("web/n1.a", "10.0.0.1:80", health);
    ASSERT_THAT(directory_.Find("web"), SizeIs(1));
    EXPECT_EQ(directory_.Find("web").front().is_healthy, is_healthy);
  }
}

TEST_F(DnsCatalogDirectory, ARecordThatIsNoneIsReportedAndTheOthersAreThere) {
  store_.Put("/kvorum/services/web/n2.b", "{");
  Put("web/n1.a", "10.0.0.1:80");
  EXPECT_THAT(directory_.Find("web"), SizeIs(1));
  EXPECT_THAT(reports_, ElementsAre(HasSubstr("/kvorum/services/web/n2.b")));
}

}  // namespace
}  // namespace kvorum::dns

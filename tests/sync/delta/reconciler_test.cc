#include "sync/delta/reconciler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace kvorum::sync {
namespace {

using testing::HasSubstr;

Bytes Of(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

std::vector<std::string> Names(const TypeSnapshotPtr& snapshot) {
  std::vector<std::string> names;
  for (const auto& [name, item] : snapshot->items) names.push_back(name);
  return names;
}

TEST(SyncContentHash, IsThatOfTheBytesAlone) {
  EXPECT_EQ(HashOf("abc").Hex(), "ba7816bf8f01cfea414140de5dae2223");  // FIPS 180-2, appendix B.1
  EXPECT_EQ(ContentHash::FromHex(HashOf("abc").Hex()), HashOf("abc"));
  EXPECT_EQ(ContentHash::FromHex("ba7816bf8f01cfea414140de5dae222"), std::nullopt);
  EXPECT_EQ(ContentHash::FromHex("ba7816bf8f01cfea414140de5dae222G"), std::nullopt);
}

TEST(SyncReconciler, W6_UnchangedContentIsTheSameSnapshotWithTheSameVersion) {
  Reconciler reconciler;
  const View view = [](const std::string&, const std::string&, const Bytes& bytes) {
    return Of(*bytes + "!");
  };
  reconciler.Update("dp", {{"a", Of("1")}, {"b", Of("2")}});
  const Snapshot all = *reconciler.Build(nullptr, {"dp"}, {});
  const Snapshot seen = *reconciler.Build(view, {"dp"}, {});
  reconciler.Update("dp", {{"a", Of("1")}, {"b", Of("2")}});
  EXPECT_EQ(*reconciler.Build(nullptr, {"dp"}, all), all);
  EXPECT_EQ(*reconciler.Build(view, {"dp"}, seen), seen);
  EXPECT_NE(all.at("dp")->version, seen.at("dp")->version);
  reconciler.Update("dp", {{"a", Of("1")}, {"b", Of("3")}});
  const Snapshot next = *reconciler.Build(view, {"dp"}, seen);
  EXPECT_NE(next.at("dp")->version, seen.at("dp")->version);
  EXPECT_EQ(next.at("dp")->items.at("a").bytes, seen.at("dp")->items.at("a").bytes);
  EXPECT_EQ(*next.at("dp")->items.at("b").bytes, "3!");
}

TEST(SyncReconciler, TypesThatAreNotNamedAreTakenOver) {
  Reconciler reconciler;
  reconciler.Update("dp", {{"a", Of("1")}});
  reconciler.Update("mesh", {{"m", Of("1")}});
  const Snapshot before = *reconciler.Build(nullptr, {"dp", "mesh", "never read"}, {});
  EXPECT_EQ(before.size(), 2U);
  reconciler.Update("dp", {});
  reconciler.Update("mesh", {});
  const Snapshot after = *reconciler.Build(nullptr, {"mesh"}, before);
  EXPECT_EQ(after.at("dp"), before.at("dp"));
  EXPECT_THAT(Names(after.at("mesh")), testing::IsEmpty());
}

TEST(SyncReconciler, SubscribersWithoutAViewShareTheContent) {
  Reconciler reconciler;
  reconciler.Update("dp", {{"a", Of("1")}});
  EXPECT_EQ(reconciler.Build(nullptr, {"dp"}, {})->at("dp"),
            reconciler.Build(nullptr, {"dp"}, {})->at("dp"));
}

TEST(SyncReconciler, W18_AViewThatRejectsAResourceNeverLetsItThroughAlsoAfterAChange) {
  Reconciler reconciler;
  const View view = [](const std::string&, const std::string&, const Bytes& bytes) {
    return bytes->starts_with("zone-1") ? bytes : nullptr;
  };
  reconciler.Update("dp", {{"a", Of("zone-1 x")}, {"b", Of("zone-2 x")}});
  Snapshot snapshot = *reconciler.Build(view, {"dp"}, {});
  EXPECT_THAT(Names(snapshot.at("dp")), testing::ElementsAre("a"));
  reconciler.Update("dp", {{"a", Of("zone-2 y")}, {"b", Of("zone-1 y")}});
  snapshot = *reconciler.Build(view, {"dp"}, snapshot);
  EXPECT_THAT(Names(snapshot.at("dp")), testing::ElementsAre("b"));
}

TEST(SyncReconciler, AViewThatThrowsIsAnErrorThatNamesTheType) {
  Reconciler reconciler;
  reconciler.Update("dp", {{"a", Of("1")}});
  const auto built =
      reconciler.Build([](const std::string&, const std::string&,
                          const Bytes&) -> Bytes { throw std::runtime_error("no such zone"); },
                       {"dp"}, {});
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, Code::kInternal);
  EXPECT_THAT(built.error().message, HasSubstr("type dp failed: no such zone"));
}

}  // namespace
}  // namespace kvorum::sync

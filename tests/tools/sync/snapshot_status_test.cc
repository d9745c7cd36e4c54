// The text that shows a snapshot server's subscribers.
#include "tools/sync/snapshot_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kvorum::ctl {
namespace {

using sync::NodeState;
using testing::ElementsAre;

const NodeState kInStep{"zone-1",
                        "event",
                        {{.type = "dp", .version = "v2", .nonce = "2", .acknowledged = "2"},
                         {.type = "mesh", .version = "v1", .nonce = "1", .acknowledged = "1"}}};
const NodeState kRefusing{"zone-2",
                          "resync",
                          {{.type = "dp",
                            .version = "v2",
                            .nonce = "3",
                            .acknowledged = "1",
                            .refused = "3",
                            .refusal = "a: not\nJSON"}}};
const NodeState kBehind{
    "zone-3", "event", {{.type = "dp", .version = "v3", .nonce = "4", .acknowledged = "1"}}};
const NodeState kNew{"zone\t4", "resync", {}};

TEST(SnapshotStatus, TheLineCountsThoseThatAreNotInStep) {
  EXPECT_EQ(SnapshotStatusLine({}), "0 subscribers");
  EXPECT_EQ(SnapshotStatusLine({kInStep}), "1 subscriber");
  EXPECT_EQ(SnapshotStatusLine({kInStep, kRefusing, kBehind, kBehind, kNew}),
            "5 subscribers, 1 refuses, 2 are behind");
}

TEST(SnapshotStatus, TheTableHasARowForEachTypeOfANode) {
  const Table table = SnapshotStatusTable({kInStep, kRefusing, kNew});
  EXPECT_THAT(table.rows,
              ElementsAre(ElementsAre("zone-1", "dp", "v2", "2", "2", "", "", "event"),
                          ElementsAre("zone-1", "mesh", "v1", "1", "1", "", "", "event"),
                          ElementsAre("zone-2", "dp", "v2", "3", "1", "3", "a: not JSON", "resync"),
                          ElementsAre("zone 4", "", "", "", "", "", "", "resync")));
  for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.header.size());
}

TEST(SnapshotStatus, AnItemIsReadAsItWasWritten) {
  for (const NodeState& state : {kInStep, kRefusing, kNew}) {
    const auto read = ReadSnapshotStatusItem(SnapshotStatusItem(state));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(SnapshotStatusItem(*read), SnapshotStatusItem(state));
  }
}

TEST(SnapshotStatus, AnItemOfAnotherKindIsRefused) {
  EXPECT_FALSE(ReadSnapshotStatusItem(sync::Json::object()));
  auto item = SnapshotStatusItem(kInStep);
  item["types"][0]["nonce"] = 2;
  EXPECT_FALSE(ReadSnapshotStatusItem(item));
}

}  // namespace
}  // namespace kvorum::ctl

#include "server/replica/drive/event_log.h"

#include <gtest/gtest.h>

#include "base/log/logging.h"
#include "raft/events.h"

namespace kvorum::server {
namespace {

TEST(EventLog, AFloodOfOneKindByOnePeerIsOneLineASecond) {
  SetLogLevel(LogLevel::kError);
  EventLog log;
  const TimePoint begin{0};
  const raft::Event ignored{.type = raft::EventType::kTermIgnored, .term = 5, .peer = 7};
  for (int i = 0; i < 1000; ++i) log.Write({ignored}, begin + std::chrono::milliseconds(i));
  EXPECT_EQ(log.suppressed(), 999U);
  log.Write({ignored}, begin + std::chrono::seconds(1));
  EXPECT_EQ(log.suppressed(), 999U);
}

// While the sender pauses, raft offers a snapshot with every answer to a heartbeat, and rounds of
// reads send a thousand of these a second.
TEST(EventLog, ASnapshotThatAPeerCannotTakeIsTwoLinesASecond) {
  SetLogLevel(LogLevel::kError);
  EventLog log;
  for (int i = 0; i < 1000; ++i) {
    log.Write({{.type = raft::EventType::kSnapshotSent, .peer = 7},
               {.type = raft::EventType::kSnapshotFailed, .peer = 7}},
              TimePoint{0} + std::chrono::milliseconds(i));
  }
  EXPECT_EQ(log.suppressed(), 1998U);
}

TEST(EventLog, WhatChangesThisMemberIsAlwaysWritten) {
  SetLogLevel(LogLevel::kError);
  EventLog log;
  for (int i = 0; i < 10; ++i)
    log.Write({{.type = raft::EventType::kBecameLeader}, {.type = raft::EventType::kDiskStalled}},
              TimePoint{0});
  EXPECT_EQ(log.suppressed(), 0U);
}

TEST(EventLog, ManyPeersDoNotMakeItGrow) {
  SetLogLevel(LogLevel::kError);
  EventLog log;
  for (raft::MemberId peer = 0; peer < 100'000; ++peer)
    log.Write({{.type = raft::EventType::kTermIgnored, .peer = peer}}, TimePoint{0});
  EXPECT_EQ(log.suppressed(), 0U);
}

}  // namespace
}  // namespace kvorum::server

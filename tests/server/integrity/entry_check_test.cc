// Entries of peers: those that apply cannot handle are refused before they are in the log.
#include "server/apply/entry_check.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "api/entries/internal_request.h"
#include "api/maintenance_encode.h"
#include "server/state/membership.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

raft::Entry Entry(SharedBytes data, raft::EntryType type = raft::EntryType::kNormal) {
  raft::Entry entry;
  entry.type = type;
  entry.data = std::move(data);
  return entry;
}

bool RequestTaken(RequestKind kind, std::string_view body) {
  return CheckPeersEntry(Entry(EncodeInternalRequest(7, kind, body))).has_value();
}

bool ChangeTaken(raft::ConfChangeType type, raft::MemberId id, std::string context) {
  raft::ConfChange change;
  change.type = type;
  change.node_id = id;
  change.context = SharedBytes::Own(std::move(context));
  return CheckPeersEntry(
             Entry(SharedBytes::Own(raft::Encode(change)), raft::EntryType::kConfChange))
      .has_value();
}

TEST(EntryCheckTest, WhatMembersSendIsTaken) {
  EXPECT_TRUE(RequestTaken(RequestKind::kPut, PutBody("k", "v")));
  EXPECT_TRUE(RequestTaken(RequestKind::kDeleteRange, DeleteBody("a", "z")));
  EXPECT_TRUE(RequestTaken(RequestKind::kTxn, TxnBody({OpBody(2, PutBody("k", "v"))})));
  EXPECT_TRUE(RequestTaken(RequestKind::kCompaction, ""));
  EXPECT_TRUE(RequestTaken(RequestKind::kAlarm, ""));
  EXPECT_TRUE(RequestTaken(RequestKind::kClusterVersionSet, EncodeClusterVersion("3.7.0")));
  EXPECT_TRUE(CheckPeersEntry(Entry({})).has_value());
  Member member;
  member.id = 5;
  member.peer_urls = {"http://localhost:1"};
  EXPECT_TRUE(ChangeTaken(raft::ConfChangeType::kAddNode, 5, EncodeMemberJson(member)));
  EXPECT_TRUE(ChangeTaken(raft::ConfChangeType::kRemoveNode, 5, ""));
}

TEST(EntryCheckTest, WhatApplyCannotReadIsRefused) {
  EXPECT_FALSE(CheckPeersEntry(Entry(SharedBytes::Static("\xff\xff\xff"))).has_value());
  for (const RequestKind kind :
       {RequestKind::kPut, RequestKind::kDeleteRange, RequestKind::kTxn, RequestKind::kCompaction,
        RequestKind::kAlarm, RequestKind::kClusterVersionSet, RequestKind::kMemberAttributesSet}) {
    EXPECT_FALSE(RequestTaken(kind, "\xff\xff\xff")) << static_cast<int>(kind);
  }
  // A kind that this version does not know.
  EXPECT_FALSE(RequestTaken(static_cast<RequestKind>(99), "x"));
  EXPECT_FALSE(ChangeTaken(raft::ConfChangeType::kAddNode, 5, "no JSON"));
  Member member;
  member.id = 6;
  EXPECT_FALSE(ChangeTaken(raft::ConfChangeType::kAddNode, 5, EncodeMemberJson(member)));
  EXPECT_FALSE(CheckPeersEntry(Entry({}, raft::EntryType::kConfChangeV2)).has_value());
}

TEST(EntryCheckTest, WhatNoMemberLetsItsClientsAskForIsRefused) {
  EXPECT_FALSE(RequestTaken(RequestKind::kPut, PutBody("", "v")));
  EXPECT_FALSE(RequestTaken(RequestKind::kDeleteRange, DeleteBody("")));
  EXPECT_FALSE(RequestTaken(RequestKind::kTxn,
                            TxnBody({OpBody(2, PutBody("k", "1")), OpBody(2, PutBody("k", "2"))})));
}

}  // namespace
}  // namespace kvorum::server

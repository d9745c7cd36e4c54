// Proposals of other members that come again.
#include "server/replica/drive/taken_proposals.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/entries/internal_request.h"

namespace kvorum::server {
namespace {

constexpr raft::MemberId kSender{0x1111'0000'0000'0007U};

raft::Entry Normal(std::uint64_t id) {
  return {.data = EncodeInternalRequest(id, RequestKind::kPut, "")};
}
raft::Entry ConfChangeOf(std::uint64_t id) {
  return {.type = raft::EntryType::kConfChange,
          .data = SharedBytes::Own(raft::Encode(raft::ConfChange{.id = id, .node_id = 7}))};
}

class TakenProposalsTest : public testing::Test {
 protected:
  // Takes the new ones and returns their number.
  std::size_t Take(std::vector<raft::Entry> entries, raft::MemberId from = kSender) {
    const auto marks = taken_.DropKnown(from, entries);
    EXPECT_EQ(marks.size(), entries.size());
    taken_.Add(marks);
    return entries.size();
  }

  TakenProposals taken_;
};

TEST_F(TakenProposalsTest, WhatWasTakenIsKnown) {
  EXPECT_EQ(Take({Normal(1), Normal(2), ConfChangeOf(3)}), 3U);
  EXPECT_EQ(Take({Normal(1), Normal(2), ConfChangeOf(3)}), 0U);
  EXPECT_EQ(Take({Normal(4), Normal(2), ConfChangeOf(5)}), 2U);
}

TEST_F(TakenProposalsTest, WhatWasNotTakenIsNot) {
  std::vector<raft::Entry> entries = {Normal(1), Normal(2)};
  const auto marks = taken_.DropKnown(kSender, entries);
  taken_.Add(std::span(marks).first(1));  // there was room for one
  EXPECT_EQ(Take({Normal(1), Normal(2)}), 1U);
}

// Two members of etcd that agree in the low 16 bits of their ids may choose the same one.
TEST_F(TakenProposalsTest, WhatAnotherMemberSendsUnderTheSameIdIsNew) {
  EXPECT_EQ(Take({Normal(1)}), 1U);
  EXPECT_EQ(Take({Normal(1)}, raft::MemberId{0x2222'0000'0000'0007U}), 1U);
  EXPECT_EQ(Take({Normal(1)}, raft::MemberId{0x2222'0000'0000'0007U}), 0U);
}

TEST_F(TakenProposalsTest, WhatHasNoIdIsAlwaysNew) {
  const raft::Entry nonsense{.data = SharedBytes::Static("\xff")};
  const raft::Entry empty{};
  const raft::Entry change{.type = raft::EntryType::kConfChange,
                           .data = SharedBytes::Static("\xff")};
  const raft::Entry v2{.type = raft::EntryType::kConfChangeV2};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Take({Normal(0), nonsense, empty, change, v2}), 5U);
}

TEST_F(TakenProposalsTest, TheLast8192AreKnownAtLeastAndTheOldestAreForgotten) {
  // Ids of one member's making, and from all over.
  for (const std::uint64_t factor : {std::uint64_t{1}, std::uint64_t{0x9e3779b97f4a7c15}}) {
    TakenProposals taken;
    const auto knows = [&](std::uint64_t i) {
      std::vector<raft::Entry> entries = {Normal(i * factor)};
      return taken.DropKnown(kSender, entries).empty();
    };
    constexpr std::uint64_t kLast = 100'000;
    constexpr std::uint64_t kKnown = 8'192;
    for (std::uint64_t i = 1; i <= kLast; ++i) {
      std::vector<raft::Entry> entries = {Normal(i * factor)};
      taken.Add(taken.DropKnown(kSender, entries));
    }
    for (std::uint64_t i = kLast; i > kLast - kKnown; --i) ASSERT_TRUE(knows(i)) << i;
    for (std::uint64_t i = 1; i <= kLast - 2 * kKnown; ++i) ASSERT_FALSE(knows(i)) << i;
  }
}

}  // namespace
}  // namespace kvorum::server

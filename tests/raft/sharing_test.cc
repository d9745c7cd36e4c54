// An entry's bytes exist once, however many members they go to: the log, the write to the disk, the
// message to each follower and the entry to apply all hold the proposal's own block.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "raft/bootstrap.h"
#include "raft/conf_change.h"
#include "raft/node.h"

namespace kvorum::raft {
namespace {

constexpr std::size_t kMembers = 5;

// The Readys of the first member, which leads; the others answer at once.
class SharingTest : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<FirstMember> members(kMembers);
    for (std::size_t i = 0; i < kMembers; ++i) members[i] = {.id = MemberId{i + 1}, .context = {}};
    const Bootstrap bootstrap = MakeBootstrap(members);
    for (const FirstMember& member : members) {
      nodes_.push_back(
          Node::Create({.id = member.id, .seed = member.id.value()},
                       {.hard_state = bootstrap.hard_state, .entries = bootstrap.entries})
              .value());
    }
    Run();
    leader().Campaign();
    Run();
    readys_.clear();
  }

  Node& leader() { return *nodes_.front(); }

  void Run() {
    for (bool is_busy = true; is_busy;) {
      is_busy = false;
      for (const std::unique_ptr<Node>& node : nodes_) {
        if (!node->HasReady()) continue;
        is_busy = true;
        Ready ready = node->TakeReady();
        for (const Message& message : ready.messages)
          ASSERT_TRUE(nodes_[message.to.value() - 1]->Step(message).has_value());
        if (ready.must_sync) node->Persisted(ready.number);
        for (const Entry& entry : ready.committed) {
          if (entry.type == EntryType::kConfChange) {
            ASSERT_TRUE(node->ApplyConfChange(DecodeConfChangeEntry(entry.type, entry.data).value())
                            .has_value());
          }
        }
        if (!ready.committed.empty()) node->Applied(ready.committed.back().index);
        if (node.get() == &leader()) readys_.push_back(std::move(ready));
      }
    }
  }

  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Ready> readys_;
};

TEST_F(SharingTest, AllFollowersTheDiskAndApplyGetTheProposalsOwnBytes) {
  ASSERT_EQ(leader().role(), Role::kLeader);
  const std::vector<SharedBytes> proposals = {SharedBytes::Own(std::string(5000, 'a')),
                                              SharedBytes::Own(std::string(300, 'b'))};
  std::vector<SharedBytes> batch = proposals;
  ASSERT_EQ(leader().Propose(batch).accepted, 2U);
  Run();
  std::size_t sent = 0;
  std::size_t written = 0;
  std::size_t applied = 0;
  const auto count = [&](const std::vector<Entry>& entries, std::size_t& number) {
    for (const Entry& entry : entries) {
      ++number;
      EXPECT_TRUE(std::ranges::any_of(
          proposals, [&](const SharedBytes& data) { return data.data() == entry.data.data(); }));
    }
  };
  for (const Ready& ready : readys_) {
    for (const Message& message : ready.messages) {
      if (message.type == MessageType::kApp) count(message.entries, sent);
    }
    count(ready.entries, written);
    count(ready.committed, applied);
  }
  EXPECT_EQ(sent, 2 * (kMembers - 1));
  EXPECT_EQ(written, 2U);
  EXPECT_EQ(applied, 2U);
}

}  // namespace
}  // namespace kvorum::raft

// A Raft node with a log, for tests of classes that use one: members 1 to n, of which it is the
// first.
#pragma once

#include <memory>
#include <utility>

#include "base/check.h"
#include "raft/node.h"

namespace kvorum::server {

inline std::unique_ptr<raft::Node> MakeNode(std::vector<raft::MemberId> voters,
                                            raft::Index entries = 0,
                                            std::size_t entry_size_bytes = 0) {
  raft::Restart restart{.hard_state = {.term = 1, .commit = entries},
                        .applied = entries,
                        .conf_state = {.voters = std::move(voters)}};
  for (raft::Index index = 1; index <= entries; ++index) {
    restart.entries.push_back(
        {.term = 1, .index = index, .data = SharedBytes::Own(std::string(entry_size_bytes, 'x'))});
  }
  auto node = raft::Node::Create(
      {.id = 1, .pre_vote = false, .catch_up_entries = 0, .catch_up_size_bytes = 0},
      std::move(restart));
  KV_CHECK(node.has_value(), node.error().message);
  return *std::move(node);
}

}  // namespace kvorum::server

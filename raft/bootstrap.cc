#include "raft/bootstrap.h"

#include <algorithm>

namespace kvorum::raft {

Bootstrap MakeBootstrap(std::span<const FirstMember> members) {
  std::vector<FirstMember> sorted(members.begin(), members.end());
  std::ranges::sort(sorted, {}, &FirstMember::id);
  Bootstrap bootstrap;
  bootstrap.hard_state = {.term = 1, .vote = kNone, .commit = Index{sorted.size()}};
  for (const FirstMember& member : sorted) {
    const ConfChange change{
        .type = ConfChangeType::kAddNode, .node_id = member.id, .context = member.context};
    bootstrap.entries.push_back({.term = 1,
                                 .index = Index{bootstrap.entries.size() + 1},
                                 .type = EntryType::kConfChange,
                                 .data = SharedBytes::Own(Encode(change))});
  }
  return bootstrap;
}

}  // namespace kvorum::raft

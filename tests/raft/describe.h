// Raft's values as lines of text, for scripts and failure messages.
#pragma once

#include <string>

#include "proto/raft_types.h"
#include "raft/events.h"
#include "raft/node.h"
#include "raft/ready.h"

namespace kvorum::raft {

std::string Describe(const Entry& entry);      // 1/3 "data"
std::string Describe(const ConfState& conf);   // voters=(1 2) learners=(3)
std::string Describe(const HardState& state);  // term=1 vote=1 commit=3
std::string Describe(const Message& message);  // 1->2 App term=1 ...
std::string Describe(const Event& event);      // became leader term=1 ...
std::string Describe(const Ready& ready);      // one line per part
std::string DescribeStatus(const Node& node);  // role, log marks, progress

}  // namespace kvorum::raft

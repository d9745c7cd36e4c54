// Configuration changes as values: a ConfState and a change in, the new ConfState or an Error out
// (thesis, chapter 4). The lists of the result are in ascending order, with each member in one
// place.
#pragma once

#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::raft {

// A change without changes leaves the joint configuration.
bool LeavesJoint(const ConfChangeV2& change);
// True if the change goes through a joint configuration.
bool EntersJoint(const ConfChangeV2& change);

// Refuses, alike on every member: a change of more than one voter that is not joint, entering the
// joint configuration twice, leaving it outside, and a configuration without voters.
Result<ConfState> ApplyChange(const ConfState& conf, const ConfChangeV2& change);

bool IsJoint(const ConfState& conf);

// True if the member has a vote in either half.
bool IsVoterOf(const ConfState& conf, MemberId id);

// Checks a configuration from a disk or a peer and sorts its lists: refuses members that are named
// twice, are both voter and learner, or have the id kNone.
Result<ConfState> CheckConfState(ConfState conf);

// The change in a log entry of either type.
Result<ConfChangeV2> DecodeConfChangeEntry(EntryType type, const SharedBytes& data);

}  // namespace kvorum::raft

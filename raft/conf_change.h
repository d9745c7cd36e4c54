// Changes of the configuration as values: a ConfState and a change in, the new ConfState or an
// Error out (thesis, chapter 4). The lists of the result are in ascending order, each member in one
// place.
#pragma once

#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::raft {

// A change without changes leaves the joint configuration.
bool LeavesJoint(const ConfChangeV2& change);
// Whether it goes through a joint configuration.
bool EntersJoint(const ConfChangeV2& change);

// Refuses, alike on every member: a change of more than one voter that is not joint, entering the
// joint configuration twice, leaving it outside, and a configuration without voters.
Result<ConfState> ApplyChange(const ConfState& conf, const ConfChangeV2& change);

bool IsJoint(const ConfState& conf);

// Whether a member has a vote, in either half.
bool IsVoterOf(const ConfState& conf, MemberId id);

// A configuration that comes from a disk or a peer, with its lists in order: refuses members that
// are named twice, that are both voter and learner, or that are none.
Result<ConfState> CheckConfState(ConfState conf);

// The change that a log entry carries, in either type.
Result<ConfChangeV2> DecodeConfChangeEntry(EntryType type, const SharedBytes& data);

}  // namespace kvorum::raft

// The part of a restore that a snapshot's and an archive's have in common: the flags about the new
// member, its files made with their owner's rights, and the lines about it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/member.h"
#include "base/error.h"
#include "datadir/restore.h"
#include "mvcc/lmdb/backend.h"
#include "tools/shell/command.h"

namespace kvorum::utl {

std::vector<ctl::Flag> RestoreFlags();
datadir::RestoreOptions RestoreOptionsOf(const ctl::FlagSet& flags);

// A database that is not used before it is whole: its commits are durable after Sync.
Result<std::unique_ptr<mvcc::Backend>> OpenUnfinished(const std::string& path);

// Calls `restore` with the rights of the data directory's owner and with the paths by which that
// one reaches it. What the owner may not read has been opened before.
Result<void> RestoreAsOwner(
    datadir::RestoreOptions options,
    const std::function<Result<void>(const datadir::RestoreOptions& as_owner)>& restore);

// Each with its cluster's id.
using AddedMembers = std::vector<std::pair<std::uint64_t, server::Member>>;
void LogAdded(ctl::World& world, const AddedMembers& added);

}  // namespace kvorum::utl

// The patches of etcd from which on its members decide what an entry of the log does as ours do.
// Beside older ones members part in silence.
#pragma once

#include <string>

#include "api/version_number.h"

namespace kvorum::server {

// True if it checks the previous values and leases of a txn's puts while auth is on
// (GHSA-x35m-3gp4-4fh5; the one before it, GHSA-rfx7-8w68-q57q, was mended earlier).
bool DecidesTxnsAlike(Version version);
// "3.6.11": the lowest patch of the same minor version that does, or the lowest version.
std::string LowestThatDecidesTxnsAlike(Version version);
// True if a learner whose peer URLs are changed stays a learner in its list of members (etcd's pull
// request 21719).
bool KeepsLearners(Version version);
// True if no member of a cluster of this version needs entries of another form (older_entry.h).
bool ReadsEntriesAlike(Version cluster_version);

}  // namespace kvorum::server

// The work of a process for its member beside serving: it checks its copy of the keys against the
// others', replaces it, decides the cluster's version, and gives back disk space and memory.
//
// Threading: made by the main thread; each part works on the executor that its header names, which
// the process stops before it destroys this. Ownership: its parts outlive it.
#pragma once

#include "server/integrity/integrity.h"
#include "server/process/machine/freed_memory.h"
#include "server/process/process/version_monitor.h"
#include "server/replica/upkeep/auto_defragment.h"
#include "server/replica/upkeep/defragment_turns.h"
#include "server/services/maintenance/reseed.h"

namespace kvorum::server {

class ClientServer;
class LocalMember;
class Serving;
struct Options;
struct ProcessThreads;

class MemberUpkeep {
 public:
  struct Parts {
    const Options& options;
    ProcessThreads& threads;
    PeerRequester& requester;
    ClientServer& clients;
    LocalMember& member;
    Quarantine& quarantine;
    Serving& serving;
  };
  explicit MemberUpkeep(const Parts& parts);

  // For a member that has been one before, unless the flags say otherwise. An error if it must not
  // run.
  Result<void> CheckAtStart(bool was_member);
  void Start();

  Integrity& integrity() { return integrity_; }
  Reseeder& reseeder() { return reseeder_; }
  DefragmentTurns& defragment_turns() { return defragment_turns_; }

 private:
  Result<void> CheckOlderMembers();

  const Parts parts_;
  VersionMonitor version_monitor_;
  DefragmentTurns defragment_turns_;
  AutoDefragment auto_defragment_;
  Reseeder reseeder_;
  Integrity integrity_;
  FreedMemory freed_memory_;
};

}  // namespace kvorum::server

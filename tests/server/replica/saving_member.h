// A member on LMDB and threads of production's kind with its Maintenance service, for what the
// simulated backend does not have: its database's map grows while clients save it.
#pragma once

#include <cstdint>
#include <string>

#include "base/executor.h"
#include "base/file_system.h"
#include "rpc/call/service.h"
#include "server/call/method_registrar.h"
#include "server/services/maintenance/maintenance_service.h"
#include "tests/server/member_parts.h"
#include "tests/server/no_transport.h"
#include "tests/server/replica/saving_stream.h"
#include "tests/server/replica/threaded_member.h"

namespace kvorum::server {

struct SavingMember {
  explicit SavingMember(std::uint64_t map_bytes) : member(map_bytes) {
    parts.executors.digester = &digester;
    MethodRegistrar methods(router, guard.call);
    maintenance.Register(methods);
  }
  // Ends a save that waits for its client, so that a failed test ends.
  static void Cancel(SavingStream& save) {
    save.context().Cancel({Code::kCanceled, "context canceled"});
    save.Take(Fail(Code::kCanceled, "context canceled"));
  }
  // After the saves have ended.
  void Stop() {
    member.Stop();
    hasher.Stop();
    digester.Stop();
  }

  ThreadedMember member;
  ThreadExecutor hasher{"hasher"};
  ThreadExecutor digester{"digester"};
  NoTransport alone;
  MemberParts parts{member.member(), alone, hasher, hasher};
  MemberGuard guard{parts, PosixFileSystem(), member.database() + ".quarantined", hasher};
  MaintenanceService maintenance{{.proposer = parts.services.proposer,
                                  .reads = parts.services.reads,
                                  .member = member.member(),
                                  .quarantine = guard.quarantine}};
  rpc::Router router;
};

}  // namespace kvorum::server

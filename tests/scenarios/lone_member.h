// A member on LMDB and threads of production's kind, for what the simulated backend does not have:
// its database's map grows while clients save it. What it prints does not depend on the threads'
// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/executor.h"
#include "base/file_system.h"
#include "rpc/call/service.h"
#include "server/services/maintenance/maintenance_service.h"
#include "tests/server/member_parts.h"
#include "tests/server/no_transport.h"
#include "tests/server/replica/saving_stream.h"
#include "tests/server/replica/threaded_member.h"

namespace kvorum::server {

class LoneMember {
 public:
  explicit LoneMember(std::uint64_t map_bytes);
  ~LoneMember();
  LoneMember(const LoneMember&) = delete;
  LoneMember& operator=(const LoneMember&) = delete;

  // So many puts of a value, until they are in the database: "10 acknowledged".
  std::string Write(int count, std::size_t value_bytes);
  // HashKV, which waits for the thread that saves, too: "answered".
  std::string Hash();
  // Returns once its first piece is there. The client reads no more.
  std::string Save();
  // The client reads the rest, if there is any: the error with which the save has ended.
  std::string ReadSave();
  std::string Map() const;

 private:
  const std::uint64_t first_map_bytes_;
  ThreadedMember member_;
  ThreadExecutor hasher_{"hasher"};
  ThreadExecutor digester_{"digester"};
  NoTransport alone_;
  MemberParts parts_{member_.member(), alone_, hasher_, hasher_};
  MemberGuard guard_{parts_, PosixFileSystem(), member_.database() + ".quarantined", hasher_};
  MaintenanceService maintenance_{{.proposer = parts_.services.proposer,
                                   .reads = parts_.services.reads,
                                   .member = member_.member(),
                                   .quarantine = guard_.quarantine}};
  rpc::Router router_;
  std::shared_ptr<SavingStream> save_;
};

}  // namespace kvorum::server

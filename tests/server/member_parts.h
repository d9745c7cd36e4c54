// The services' parts over a member that a test has opened.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/executor.h"
#include "base/file_system.h"
#include "server/call/access.h"
#include "server/call/client_versions.h"
#include "server/call/interceptors.h"
#include "server/call/leader_streams.h"
#include "server/call/member_patches.h"
#include "server/call/quarantine.h"
#include "server/call/request_batcher.h"
#include "server/call/service_parts.h"
#include "server/peer/transport/peer_poster.h"
#include "server/replica/drive/replica.h"
#include "server/replica/member/local_member.h"

namespace kvorum::server {

struct MemberParts {
  MemberParts(LocalMember& member, const Transport& transport, Executor& timers, Executor& readers)
      : batcher(member.replica(), 0),
        access({.states = &member.auth_states(),
                .store = &member.store(),
                .leases = &member.leases(),
                .batcher = &batcher,
                .clock = &member.replica().clock(),
                .readers = &readers,
                .max_txn_ops = 128}),
        executors{.timers = &timers, .readers = &readers, .hasher = &readers, .digester = &readers},
        services({.member = member,
                  .transport = transport,
                  .patches = patches,
                  .batcher = batcher,
                  .access = access,
                  .executors = executors,
                  .limits = limits,
                  .answers = answers}) {}

  RequestBatcher batcher;
  Access access;
  ServiceExecutors executors;
  ServiceLimits limits{.max_request_bytes = 1'572'864,
                       .max_txn_ops = 128,
                       .request_timeout = std::chrono::seconds(7)};
  AnswerMemory answers;
  MemberPatches patches;
  ServiceParts services;
};

// The checks of a call before its handler. No stream is cut for want of a leader.
struct MemberGuard {
  MemberGuard(MemberParts& parts, FileSystem& disk, const std::string& quarantine_file,
              Executor& timers)
      : quarantine(disk, quarantine_file),
        leader_streams(timers, std::chrono::seconds(1), [] { return false; }),
        call({.proposer = parts.services.proposer,
              .access = parts.access,
              .quarantine = quarantine,
              .leader_streams = leader_streams,
              .client_versions = client_versions,
              .tells_status_alone = tells_status_alone}) {}

  Quarantine quarantine;
  LeaderStreams leader_streams;
  ClientVersions client_versions;
  const std::atomic<bool> tells_status_alone{false};
  const CallGuard call;
};

// Posts through another poster, which a test may plug in later; without one no answer comes.
struct PluggedPoster final : PeerPoster {
  void Post(raft::MemberId to, std::string path, SharedBytes body, Duration timeout,
            Done done) override {
    if (plug != nullptr)
      return plug->Post(to, std::move(path), std::move(body), timeout, std::move(done));
    done(Fail(Code::kUnavailable, "no way to the leader"));
  }
  PeerPoster* plug = nullptr;
};

}  // namespace kvorum::server

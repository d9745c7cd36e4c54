// The checks that every call passes before its handler, for all services. MethodRegistrar adds
// them.
#pragma once

#include <atomic>

#include "base/error.h"
#include "rpc/call/call_context.h"
#include "rpc/call/service.h"
#include "server/call/method.h"

namespace kvorum::server {

class Access;
class ClientVersions;
class LeaderStreams;
class Proposer;
class Quarantine;

// The parts that decide whether a call reaches its handler. Thread-safe, like the parts, which
// outlive it.
struct CallGuard {
  Proposer& proposer;  // for the space of a write
  const Access& access;
  Quarantine& quarantine;
  LeaderStreams& leader_streams;
  ClientVersions& client_versions;
  // True while this member only tells how it is: it lacks data that it had acknowledged, and is not
  // published.
  const std::atomic<bool>& tells_status_alone;
};

// True if the call requires a leader (metadata hasleader).
bool WantsLeader(const rpc::CallContext& call);

// kErrNoLeader while this member serves nothing but Maintenance (CallGuard::tells_status_alone),
// kErrCorrupt while it is kept from serving keys, kErrNotSupportedForLearner for a member without a
// vote that does not serve this call, kErrInvalidClientApiVersion for metadata client-api-version
// that is not UTF-8, kErrNoLeader for a call that requires a leader while the cluster has none.
Result<void> CheckCall(const CallGuard& guard, const rpc::CallContext& call, bool learner_serves);

// Wraps `handler` in CheckCall and the method's admission. A learner serves few streams; the stream
// of a call that requires a leader is cut when there has been none for a while.
rpc::StreamMethod Guarded(const CallGuard& guard, const StreamMethod& method,
                          rpc::StreamMethod handler);

}  // namespace kvorum::server

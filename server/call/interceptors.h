// The checks that every call passes before its handler, for all services. MethodRegistrar adds
// them.
#pragma once

#include "base/error.h"
#include "rpc/call/call_context.h"
#include "rpc/call/service.h"
#include "server/call/method.h"
#include "server/call/service_context.h"

namespace kvorum::server {

// True if the call requires a leader (metadata hasleader).
bool WantsLeader(const rpc::CallContext& call);

// kErrNoLeader while this member serves nothing but Maintenance (tells_status_alone), kErrCorrupt
// while it is kept from serving keys, kErrNotSupportedForLearner for a member
// without a vote that does not serve this call, kErrInvalidClientApiVersion for metadata
// client-api-version that is not UTF-8, kErrNoLeader for a call that requires a leader while the
// cluster has none.
Result<void> CheckCall(const ServiceContext& context, const rpc::CallContext& call,
                       bool learner_serves);

// True while permissions do not matter, since auth is disabled.
bool IsOpen(const ServiceContext& context);

// Wraps `handler` in CheckCall and the method's admission. A learner serves few streams; the stream
// of a call that requires a leader is cut when there has been none for a while.
rpc::StreamMethod Guarded(const ServiceContext& context, const StreamMethod& method,
                          rpc::StreamMethod handler);

}  // namespace kvorum::server

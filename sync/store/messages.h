// The Store's requests as messages of the API, and its answers out of them. Internal to sync/.
#pragma once

#include "proto/rpc.pb.h"
#include "sync/store/store.h"

namespace kvorum::sync {

etcdserverpb::RangeRequest ToMessage(const RangeRequest& request);
etcdserverpb::TxnRequest ToMessage(TxnRequest&& request);
// In fragments where the server would otherwise send too much at once.
etcdserverpb::WatchCreateRequest ToMessage(const WatchRequest& request);

RangeAnswer FromMessage(etcdserverpb::RangeResponse&& response);
TxnAnswer FromMessage(etcdserverpb::TxnResponse&& response);
WatchBatch FromMessage(const etcdserverpb::WatchResponse& response);

}  // namespace kvorum::sync

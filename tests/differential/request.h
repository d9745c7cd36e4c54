// The requests that both servers are sent: the generated messages, and what the test must know of
// them.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "proto/rpc.pb.h"

namespace kvorum::differential {

using Request =
    std::variant<etcdserverpb::RangeRequest, etcdserverpb::PutRequest,
                 etcdserverpb::DeleteRangeRequest, etcdserverpb::TxnRequest,
                 etcdserverpb::CompactionRequest, etcdserverpb::HashKVRequest,
                 etcdserverpb::LeaseGrantRequest, etcdserverpb::LeaseRevokeRequest,
                 etcdserverpb::LeaseKeepAliveRequest, etcdserverpb::LeaseTimeToLiveRequest,
                 etcdserverpb::LeaseLeasesRequest>;

std::string_view MethodOf(const Request& request);

// Changes nothing, whatever the answer: may be under way together with other reads.
bool IsRead(const Request& request);

// For people: the method and the fields in protobuf's text form, long byte strings cut.
std::string Describe(const Request& request);
std::string Describe(const google::protobuf::Message& message);

}  // namespace kvorum::differential

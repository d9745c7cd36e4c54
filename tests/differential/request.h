// The requests sent to both servers: the generated messages, and the properties that the test must
// know.
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

// True if it changes nothing, with any answer: it may run concurrently with other reads.
bool IsRead(const Request& request);

// For people: the method and the fields in protobuf's text form, long byte strings cut.
std::string Describe(const Request& request);
std::string Describe(const google::protobuf::Message& message);

}  // namespace kvorum::differential

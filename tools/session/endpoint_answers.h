// The answers of members that were asked at their endpoints, each with its endpoint.
#pragma once

#include <string>

#include "proto/rpc.pb.h"

namespace kvorum::ctl {

struct EndpointStatus {
  std::string endpoint;
  etcdserverpb::StatusResponse status;
};

struct EndpointHashKV {
  std::string endpoint;
  etcdserverpb::HashKVResponse hash;
};

}  // namespace kvorum::ctl

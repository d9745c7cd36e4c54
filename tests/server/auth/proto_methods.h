// The methods of the API as the protocol's own descriptors list them, by their paths.
#pragma once

#include <google/protobuf/descriptor.h>

#include <map>
#include <string>

#include "proto/election.pb.h"
#include "proto/health.pb.h"
#include "proto/lock.pb.h"
#include "proto/rpc.pb.h"

namespace kvorum::server {

inline std::map<std::string, const google::protobuf::MethodDescriptor*> MethodsOfTheProtos() {
  std::map<std::string, const google::protobuf::MethodDescriptor*> methods;
  for (const auto* file : {etcdserverpb::RangeRequest::descriptor()->file(),
                           v3lockpb::LockRequest::descriptor()->file(),
                           v3electionpb::LeaderRequest::descriptor()->file(),
                           grpc::health::v1::HealthCheckRequest::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        const auto* const method = file->service(s)->method(m);
        methods["/" + file->service(s)->full_name() + "/" + method->name()] = method;
      }
    }
  }
  return methods;
}

}  // namespace kvorum::server

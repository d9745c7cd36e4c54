// A server's answer to one request, without its own numbers, and the comparison of two answers.
#pragma once

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "proto/rpc.pb.h"

namespace kvorum::differential {

struct Answer {
  grpc::StatusCode code = grpc::StatusCode::UNKNOWN;
  std::string text;
  std::string details;
  std::multimap<std::string, std::string> trailers;
  std::unique_ptr<google::protobuf::Message> response;  // never null; empty if code is not OK

  bool ok() const { return code == grpc::StatusCode::OK; }
};

// Removes the ids and the term, which differ between any two clusters, from a response's own
// header; whether they were there remains. Nested headers have none and are left alone.
void Anonymize(google::protobuf::Message& response);

// Sorts elements without a defined order: a lease's keys, the list of leases (which is ordered by
// time left). Of the time left it keeps only whether there is any.
void NormalizeLeases(google::protobuf::Message& response);

// The store revision of the response's header; 0 if there is none.
std::int64_t HeaderRevision(const google::protobuf::Message& response);

// A line for each thing that is not the same; none for equal answers.
std::vector<std::string> Differences(const Answer& ours, const Answer& peer);

std::string Describe(const Answer& answer);

}  // namespace kvorum::differential

// What a server said to one request, without the numbers that are its own, and where two answers
// differ.
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

// Takes the ids and the term, which differ between any two clusters, out of a response's own
// header: what is left of each is whether it was there. Headers further in have none and are left
// alone.
void Anonymize(google::protobuf::Message& response);

// Puts what has no order of its own into one: a lease's keys, the list of leases (whose order is
// that of what is left of their time). Of what is left it keeps only that some is.
void NormalizeLeases(google::protobuf::Message& response);

// The store revision of the response's header; 0 if there is none.
std::int64_t HeaderRevision(const google::protobuf::Message& response);

// A line for each thing that is not the same; none for equal answers.
std::vector<std::string> Differences(const Answer& ours, const Answer& peer);

std::string Describe(const Answer& answer);

}  // namespace kvorum::differential

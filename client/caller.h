// Makes calls on the client's connections as retry_rules.h says: handles the deadline, the
// metadata, the token, the size limit and the attempts of every call. Internal to client/.
//
// Thread-safe; a call blocks its thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>

#include "base/error.h"
#include "client/client.h"
#include "client/connections.h"
#include "client/retry_rules.h"
#include "client/token_source.h"

namespace kvorum::client {

class Caller {
 public:
  Caller(const Options& options, std::unique_ptr<Connections> connections);

  // Gets the first token, if there is a password.
  Result<void> LogIn();

  // One unary call of a stub's method.
  template <class Stub, class Request, class Response>
  Result<Response> Call(std::unique_ptr<Stub> Connection::* stub,
                        grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                     Response*),
                        Repeat repeat, const Request& request, const CallOptions& call) {
    KV_RETURN_IF_ERROR(CheckSize(request.ByteSizeLong()));
    Response response;
    KV_RETURN_IF_ERROR(Try(call, repeat, [&](Connection& connection, grpc::ClientContext* context) {
      response.Clear();
      return ((connection.*stub).get()->*method)(context, request, &response);
    }));
    return response;
  }

  // Runs `once` on one connection after another until it succeeds, must not be repeated, or the
  // deadline has passed.
  using Once = std::function<grpc::Status(Connection& connection, grpc::ClientContext* context)>;
  Result<void> Try(const CallOptions& call, Repeat repeat, const Once& once);

  // For long-lived calls: puts the deadline and the metadata into their context and returns the
  // token used.
  Token Prepare(grpc::ClientContext& context, const CallOptions& call) const;
  // Decides how a call that used this token goes on after the error.
  NextStep After(const Error& error, Repeat repeat, const Token& shown,
                 CallOptions::Deadline deadline) const;
  Result<void> Renew(const Token& shown, CallOptions::Deadline deadline);

  Connections& connections() const { return *connections_; }
  std::chrono::nanoseconds dial_timeout() const { return dial_timeout_; }

 private:
  // Returns a connection that is up; kDeadlineExceeded if there is none until the deadline,
  // kCanceled if the stop comes first.
  Result<ConnectionPtr> WaitReady(CallOptions::Deadline deadline, const std::stop_token& stop = {});
  Result<void> CheckSize(std::size_t size_bytes) const;
  Result<std::string> Authenticate(CallOptions::Deadline deadline);

  const std::unique_ptr<Connections> connections_;
  const std::size_t max_send_bytes_;
  const std::chrono::nanoseconds dial_timeout_;
  const std::string user_;
  const std::string password_;
  const Credentials credentials_;
  const std::function<void(const std::string& why)> on_unreachable_;
  TokenSource tokens_;
};

// The code and text that callers see.
Error FromStatus(const grpc::Status& status);

// The number of times in a row that one call, or one watch, asks for a new token before it gives
// up.
inline constexpr int kMaxRenewals = 5;

}  // namespace kvorum::client

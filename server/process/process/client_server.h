// The clients' side of a process: the gRPC and HTTP server on its listeners, with its counters.
//
// Ownership: the router's services and the handler outlive it. Ports are bound before any data is
// touched; nothing is accepted until Accept or Serve.
//
// Threading: called by one thread at a time; answers() and counters() by any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/answer_memory.h"
#include "base/error.h"
#include "base/executor.h"
#include "rpc/call/health.h"
#include "rpc/call/service.h"
#include "rpc/server/server.h"

namespace kvorum::server {

namespace tracing {
class Tracer;
}  // namespace tracing

class CallCounters;
class SlowWrites;
class WriteStages;
struct Options;

class ClientServer {
 public:
  explicit ClientServer(const Options& options);
  ~ClientServer();

  Result<void> Bind();
  // Call the functions below only after Bind, and Use before calls are taken.
  // The stages are the member's writes'; `tracer` may be null; both outlive the calls.
  void Use(rpc::Router router, rpc::HttpHandler handler, const WriteStages& stages,
           tracing::Tracer* tracer);
  // Takes calls before this member is ready for them: the health service says so. Once.
  void Accept();
  void Serve();
  // The health service tells SERVING or, with the reason in the log, NOT_SERVING; calls go on.
  void TellServing(bool serving, std::string_view reason = {});
  void Shutdown();

  rpc::Server& server() { return *server_; }
  AnswerMemory& answers() { return answers_; }
  // All methods that are served, and their counters; known once the router is.
  const std::vector<rpc::MethodInfo>& methods() const { return methods_; }
  const CallCounters& counters() const { return *counters_; }
  const SlowWrites& slow_writes() const { return *slow_writes_; }
  // Null without a certificate.
  const std::shared_ptr<rpc::TlsContext>& tls() const { return tls_; }

 private:
  struct Listener {
    std::string address;
    bool is_secure = false;
    bool is_insecure = false;
    rpc::Traffic traffic = rpc::Traffic::kGrpcAndHttp;
  };

  const Options& options_;
  ThreadExecutor tls_files_{"tls-files"};  // outlives the connections
  AnswerMemory answers_;                   // outlives the calls
  rpc::Health health_;
  std::vector<rpc::MethodInfo> methods_;
  std::unique_ptr<CallCounters> counters_;
  std::unique_ptr<SlowWrites> slow_writes_;
  std::shared_ptr<rpc::TlsContext> tls_;
  std::unique_ptr<rpc::Server> server_;
  std::vector<Listener> listeners_;
  bool accepts_ = false;
};

}  // namespace kvorum::server

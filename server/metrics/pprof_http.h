// /debug/pprof/ (--enable-pprof): a profile of processor time for `go tool pprof`, and what else of
// Go's pages means something here: cmdline, heap, threads, symbol.
//
// Profiles are made on a thread of their own, one at a time; another request meanwhile is refused.
// At most kMaxWaiting requests for the other pages wait for it.
// Ownership: the arguments outlive it, and it outlives the routes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "rpc/http/http.h"

namespace kvorum::server {

class PprofHttp {
 public:
  static constexpr std::chrono::seconds kLongest = std::chrono::minutes(10);
  static constexpr std::size_t kMaxWaiting = 16;  // a body each, of at most kMaxSymbolsBytes
  static constexpr std::size_t kMaxSymbolsBytes = std::size_t{128} << 10U;

  // `arguments` is the command line.
  explicit PprofHttp(const std::vector<std::string>& arguments) : arguments_(arguments) {}
  void AddRoutes(rpc::HttpMux& mux);

 private:
  struct Session;

  // Makes the text on the thread, or refuses at once.
  void Serve(std::move_only_function<std::string()> make, rpc::HttpReply reply);
  void ServeProfile(const rpc::HttpRequest& request, rpc::HttpReply reply);
  void GoOn(std::unique_ptr<Session> session);

  const std::vector<std::string>& arguments_;
  std::atomic<bool> is_profiling_{false};
  std::atomic<std::size_t> waiting_{0};
  ThreadExecutor thread_{"pprof"};  // ends first
};

}  // namespace kvorum::server

// Subscribes to a delta discovery server, ours or another, and keeps a sink equal to what it sends;
// after a lost stream it begins a new one, and presents what it holds.
//
// Threading: the sink and the callbacks are called on the executor, which outlives the client and
// should be its own if the sink blocks. Destroying the client, which may be done on any other
// thread, ends the stream and waits for that. Memory: a response, and a version and a hash for each
// resource held.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/executor.h"
#include "client/client.h"
#include "sync/delta/delta_receiver.h"
#include "sync/kernel/jitter.h"

namespace kvorum::sync {

struct DeltaClientOptions {
  std::string endpoint = {};  // as those of client::Options
  client::TlsOptions tls = {};
  // Node and types are UTF-8.
  std::string node = {};
  std::vector<std::string> types = {};
  int max_response_bytes = 64 * 1024 * 1024;
  BackoffOptions backoff = {};
  std::uint64_t seed = 1;
  // Refuses every response with this text, and applies none.
  std::optional<std::string> refusal = std::nullopt;
  // A response was dealt with; the answer to it follows.
  std::function<void(const DeltaResponse& response, const DeltaRequest& answer)> on_response =
      nullptr;
  // A stream has ended, and another will be tried in so long.
  std::function<void(const Error& why, Duration pause)> on_end = nullptr;
};

class DeltaClient {
 public:
  // Begins to connect. kFailedPrecondition: the TLS files are unusable.
  static Result<std::unique_ptr<DeltaClient>> Start(Executor& executor, DeltaSink& sink,
                                                    DeltaClientOptions options);
  ~DeltaClient();
  DeltaClient(const DeltaClient&) = delete;
  DeltaClient& operator=(const DeltaClient&) = delete;

 private:
  class Impl;
  explicit DeltaClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::sync

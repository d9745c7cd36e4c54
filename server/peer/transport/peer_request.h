// Single requests to the peer ports of others, for rare cases: joining a cluster, asking for
// versions, promoting a learner. Members' regular messages go through the Transport.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace kvorum::server {

struct PeerAnswer {
  unsigned status = 0;
  std::string cluster_id;  // X-Etcd-Cluster-ID
  std::string body;
};

// A request with its headers and body.
struct PeerQuestion {
  std::string_view method;
  std::string_view path;
  std::string headers;  // lines, each with its end
  std::string body;
};

// Thread-safe; a call blocks its thread.
class PeerRequester {
 public:
  virtual ~PeerRequester() = default;
  // `url` is a member's peer URL. kUnavailable if there is no answer in time.
  Result<PeerAnswer> Ask(std::string_view method, const std::string& url, std::string_view path,
                         Duration timeout);
  // The same with all that the question has; a requester that cannot send it refuses.
  virtual Result<PeerAnswer> Ask(const PeerQuestion& question, const std::string& url,
                                 Duration timeout);
  // Asks all URLs at the same time. `take` gets each outcome as it comes, on this thread, and
  // returns whether that is enough.
  using Take = std::function<bool(const std::string& url, Result<PeerAnswer> answer)>;
  virtual void AskAll(std::string_view method, const std::vector<std::string>& urls,
                      std::string_view path, Duration timeout, const Take& take) = 0;
  // The same with all that the question has; a requester that cannot send its headers and body
  // leaves them out.
  virtual void AskEach(const PeerQuestion& question, const std::vector<std::string>& urls,
                       Duration timeout, const Take& take);
  // The URL with its host as an address, so that two names of one host can be compared; unchanged
  // if it does not resolve.
  virtual std::string Resolve(const std::string& url) = 0;
};

struct PeerTls;

// Over HTTP/1.1, one connection per request, on its own thread. Answers of more than 4 MiB are
// refused.
class HttpPeerRequester final : public PeerRequester {
 public:
  // Without `tls`, URLs that ask for it are refused. `near_address`: see ConnectPeer.
  explicit HttpPeerRequester(const PeerTls* tls = nullptr, std::string near_address = {});
  ~HttpPeerRequester() override;
  void AskAll(std::string_view method, const std::vector<std::string>& urls, std::string_view path,
              Duration timeout, const Take& take) override;
  using PeerRequester::Ask;
  Result<PeerAnswer> Ask(const PeerQuestion& question, const std::string& url,
                         Duration timeout) override;
  void AskEach(const PeerQuestion& question, const std::vector<std::string>& urls, Duration timeout,
               const Take& take) override;
  std::string Resolve(const std::string& url) override;
  // From any thread: ends requests in progress and refuses later ones.
  void Stop();

 private:
  struct Impl;

  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::server

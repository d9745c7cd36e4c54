#include "server/peer/transport/peer_request.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/net/resolved_url.h"
#include "base/net/url.h"
#include "server/peer/io/http_client.h"
#include "server/peer/io/peer_links.h"

namespace kvorum::server {
namespace {

constexpr std::size_t kMaxBodyBytes = std::size_t{4} << 20;

std::string RequestText(const PeerQuestion& question, const Url& url) {
  std::string text;
  text.append(question.method).append(" ").append(question.path).append(" HTTP/1.1\r\n");
  text.append("Host: ").append(HostOf(url)).append("\r\nConnection: close\r\n");
  text.append(question.headers);
  if (question.method != "GET" || !question.body.empty())
    text.append("Content-Length: ").append(std::to_string(question.body.size())).append("\r\n");
  return text.append("\r\n").append(question.body);
}

Result<PeerAnswer> PeerAnswerOf(const std::string& url, Result<HttpReceived> received) {
  if (!received.has_value()) return Fail(Code::kUnavailable, url + ": " + received.error().message);
  return PeerAnswer{.status = received->head.status,
                    .cluster_id = std::string(received->head.Header("x-etcd-cluster-id")),
                    .body = std::move(received->body)};
}

// The state of one call of AskAll.
struct Round {
  struct Outcome {
    std::string url;
    Result<PeerAnswer> answer;
  };

  void Tell(const std::string& url, Result<PeerAnswer> answer) {
    std::lock_guard lock(mutex);
    outcomes.push_back({.url = url, .answer = std::move(answer)});
    changed.notify_one();
  }
  // Returns nothing once it was stopped.
  std::optional<Outcome> Next() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return is_stopped || !outcomes.empty(); });
    if (is_stopped) return std::nullopt;
    Outcome outcome = std::move(outcomes.front());
    outcomes.pop_front();
    return outcome;
  }
  void Stop() {
    std::lock_guard lock(mutex);
    is_stopped = true;
    changed.notify_one();
  }

  std::vector<std::unique_ptr<HttpClient>> clients;  // used on the loop's thread
  std::mutex mutex;                                  // guards the following
  std::condition_variable changed;
  std::deque<Outcome> outcomes;
  bool is_stopped = false;
};

}  // namespace

Result<PeerAnswer> PeerRequester::Ask(std::string_view method, const std::string& url,
                                      std::string_view path, Duration timeout) {
  Result<PeerAnswer> outcome = Fail(Code::kUnavailable, url + ": no answer in time");
  AskAll(method, {url}, path, timeout, [&](const std::string&, Result<PeerAnswer> answer) {
    outcome = std::move(answer);
    return true;
  });
  return outcome;
}

Result<PeerAnswer> PeerRequester::Ask(const PeerQuestion&, const std::string& url, Duration) {
  return Fail(Code::kUnavailable, url + ": cannot be sent a body");
}

void PeerRequester::AskEach(const PeerQuestion& question, const std::vector<std::string>& urls,
                            Duration timeout, const Take& take) {
  AskAll(question.method, urls, question.path, timeout, take);
}

struct HttpPeerRequester::Impl {
  Impl(const PeerTls* tls, std::string near_address)
      : dialer(loop, loop, tls, std::move(near_address)) {}

  PeerLoop loop{"peer-ask"};
  PeerDialer dialer;
  std::mutex mutex;  // guards the following
  bool is_stopped = false;
  std::set<Round*> under_way;
};

HttpPeerRequester::HttpPeerRequester(const PeerTls* tls, std::string near_address)
    : impl_(std::make_unique<Impl>(tls, std::move(near_address))) {
  impl_->loop.Start();
}

HttpPeerRequester::~HttpPeerRequester() {
  impl_->loop.Post([impl = impl_.get()] { impl->dialer.Close(); });
  impl_->loop.Stop();
}

void HttpPeerRequester::Stop() {
  std::lock_guard lock(impl_->mutex);
  impl_->is_stopped = true;
  for (Round* round : impl_->under_way) round->Stop();
}

void HttpPeerRequester::AskAll(std::string_view method, const std::vector<std::string>& urls,
                               std::string_view path, Duration timeout, const Take& take) {
  AskEach({.method = method, .path = path, .headers = {}, .body = {}}, urls, timeout, take);
}

Result<PeerAnswer> HttpPeerRequester::Ask(const PeerQuestion& question, const std::string& url,
                                          Duration timeout) {
  Result<PeerAnswer> outcome = Fail(Code::kUnavailable, url + ": no answer in time");
  AskEach(question, {url}, timeout, [&](const std::string&, Result<PeerAnswer> answer) {
    outcome = std::move(answer);
    return true;
  });
  return outcome;
}

void HttpPeerRequester::AskEach(const PeerQuestion& question, const std::vector<std::string>& urls,
                                Duration timeout, const Take& take) {
  const auto round = std::make_shared<Round>();
  {
    std::lock_guard lock(impl_->mutex);
    if (impl_->is_stopped) round->is_stopped = true;
    impl_->under_way.insert(round.get());
  }
  for (const std::string& text : urls) {
    const auto url = Url::Parse(text);
    if (!url.has_value()) {
      round->Tell(text, Fail(Code::kUnavailable, text + ": no URL that this version can ask"));
      continue;
    }
    impl_->loop.Post([round, timeout, url = *url, dialer = &impl_->dialer,
                      request = RequestText(question, *url)]() mutable {
      HttpClient& client =
          *round->clients.emplace_back(std::make_unique<HttpClient>(*dialer, kMaxBodyBytes));
      client.Ask(url, {SharedBytes::Own(std::move(request))}, timeout,
                 [weak = std::weak_ptr(round), text = url.text()](Result<HttpReceived> received) {
                   if (const auto alive = weak.lock(); alive != nullptr)
                     alive->Tell(text, PeerAnswerOf(text, std::move(received)));
                 });
    });
  }
  bool is_enough = false;
  for (std::size_t told = 0; told < urls.size() && !is_enough; ++told) {
    auto outcome = round->Next();
    if (!outcome.has_value()) break;
    is_enough = take(outcome->url, std::move(outcome->answer));
  }
  impl_->loop.Post([round] { round->clients.clear(); });
  std::lock_guard lock(impl_->mutex);
  impl_->under_way.erase(round.get());
}

std::string HttpPeerRequester::Resolve(const std::string& url) { return ResolvedUrl(url); }

}  // namespace kvorum::server

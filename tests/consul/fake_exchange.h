// A request of Consul's API without a connection, and what was answered to it.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/shared_bytes.h"
#include "consul/http/exchange.h"
#include "rpc/http/http.h"

namespace kvorum::consul {

// The client's side: keeps the answer. The test may let the client leave.
class FakeAnswer final : public rpc::HttpSink {
 public:
  void Complete(rpc::HttpResponse response) override {
    ++answers;
    status = response.status;
    content_type = response.content_type;
    body = Join(response.body);
    for (auto& [name, value] : response.headers) headers[name] = value;
  }
  void OnGone(std::move_only_function<void()> callback) override { on_gone_ = std::move(callback); }
  void Leave() {
    if (auto callback = std::exchange(on_gone_, nullptr)) callback();
  }

  bool is_answered() const { return answers != 0; }
  Json json() const { return Json::parse(body); }
  // "STATUS BODY".
  std::string line() const { return std::to_string(status) + " " + body; }
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }

  int answers = 0;
  unsigned status = 0;
  std::string content_type;
  std::string body;
  std::map<std::string, std::string> headers;

 private:
  std::move_only_function<void()> on_gone_;
};

struct FakeRequest {
  std::string method = "GET";
  std::string target = "/";
  std::string body = {};
  std::vector<rpc::HttpHeader> headers = {};  // with lower-case names
  Executor* loop = nullptr;
};

// The exchange to hand to a handler. `rest` is what a prefix route would have set.
inline std::pair<Exchange, std::shared_ptr<FakeAnswer>> MakeExchange(FakeRequest wanted,
                                                                     std::string rest = {}) {
  auto answer = std::make_shared<FakeAnswer>();
  rpc::HttpRequest request;
  request.method = std::move(wanted.method);
  request.target = std::move(wanted.target);
  request.headers = std::move(wanted.headers);
  request.body = SharedBytes::Own(std::move(wanted.body));
  Exchange exchange(std::move(request), rpc::HttpReply(answer), wanted.loop);
  exchange.SetRest(std::move(rest));
  return {std::move(exchange), std::move(answer)};
}

}  // namespace kvorum::consul

// Reads of the catalog over a store in memory, with a clock by hand.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "consul/http/reading.h"
#include "tests/consul/catalog_world.h"
#include "tests/consul/fake_exchange.h"

namespace kvorum::consul {

// The store for the tokens "" and "good"; "forbidden" is known and may not read, others are not
// known.
class FakeAccess final : public StoreAccess {
 public:
  explicit FakeAccess(sync::Store& store) : store_(store) {}
  void StoreOf(const std::string& token, OnStore on_store) override {
    ++asked[token];
    if (token == "forbidden")
      return on_store(Fail(Code::kPermissionDenied, "etcdserver: permission denied"));
    if (!token.empty() && token != "good")
      return on_store(Fail(Code::kUnauthenticated, "etcdserver: invalid auth token"));
    if (failure) return on_store(Fail(*failure));
    on_store(std::shared_ptr<sync::Store>(std::shared_ptr<void>(), &store_));
  }

  std::map<std::string, int> asked;
  std::optional<Error> failure;

 private:
  sync::Store& store_;
};

struct HttpWorld : CatalogWorld {
  ~HttpWorld() { LeaveAll(); }
  // The clients that still wait leave, as when the listener closes their connections.
  void LeaveAll() {
    for (const auto& client : clients) {
      if (const auto waiting = client.lock()) waiting->Leave();
    }
    executor.Settle();
  }

  // An exchange on the world's executor.
  std::pair<Exchange, std::shared_ptr<FakeAnswer>> Make(const std::string& target,
                                                        std::string token = {}) {
    FakeRequest request{.target = target, .loop = &executor};
    if (!token.empty()) request.headers.push_back({"x-consul-token", std::move(token)});
    auto made = MakeExchange(std::move(request));
    clients.push_back(made.second);
    return made;
  }
  // Reads the topic; the answer's body is "INSTANCES", the number of web's instances.
  std::shared_ptr<FakeAnswer> Read(const std::string& target, std::string token = {},
                                   Topic topic = {Topic::Kind::kService, "web"}) {
    auto [exchange, answer] = Make(target, std::move(token));
    reading.Read(std::move(exchange), MovingOf(copy, {std::move(topic)}), [this](Exchange read) {
      read.OkText(std::to_string(copy.Instances("web").size()));
    });
    executor.Settle();
    return answer;
  }
  std::uint64_t WebIndex() const { return copy.IndexOf({Topic::Kind::kService, "web"}); }
  // A blocking read from the present index on.
  std::shared_ptr<FakeAnswer> Block(const std::string& parameters = "", std::string token = {}) {
    return Read("/?index=" + std::to_string(WebIndex()) + parameters, std::move(token));
  }

  std::vector<std::weak_ptr<FakeAnswer>> clients;
  FakeAccess access{store};
  Reading reading{{.copy = copy, .access = access, .executor = executor, .seed = 1}};
};

}  // namespace kvorum::consul

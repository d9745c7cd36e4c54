// KV, sessions and the janitor over a store in memory, with a clock by hand, asked as HTTP asks.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "consul/http/router.h"
#include "consul/kv/janitor.h"
#include "consul/kv/kv_changes.h"
#include "consul/kv/kv_routes.h"
#include "consul/kv/session_routes.h"
#include "tests/consul/http_world.h"

namespace kvorum::consul {

struct KvWorld : HttpWorld {
  KvWorld() {
    router.Add(kv.Routes());
    router.Add(sessions.Routes());
  }
  ~KvWorld() { LeaveAll(); }

  void Start() {
    changes.Start();
    HttpWorld::Start();
  }
  // With a node "n1" whose agent lives, and whose life hangs on a lease.
  void StartWithNode(const std::string& node = "n1") {
    AddAliveNode(node);
    Start();
  }
  void AddAliveNode(const std::string& node) {
    PutNode({.node = node, .details = {.address = "10.0.0.1"}});
    PutLifeOf(node);
  }
  void PutLifeOf(const std::string& node) {
    store.LeaseGrant(30, [&](const Result<sync::LeaseAnswer>& answer) {
      life_leases[node] = answer->id;
      sync::TxnRequest request;
      request.then.push_back({.key = keys.Life(node), .lease = answer->id});
      store.Txn(std::move(request), [](const Result<sync::TxnAnswer>&) {});
    });
    executor.Settle();
  }
  void Die(const std::string& node) {
    store.ExpireLease(life_leases[node]);
    executor.Settle();
  }

  std::shared_ptr<FakeAnswer> Ask(const std::string& method, const std::string& target,
                                  const std::string& body = {}, const std::string& token = {}) {
    auto answer = Send(method, target, body, token);
    // A pause before another try is short.
    if (!answer->is_answered() && !target.contains("index="))
      executor.Advance(std::chrono::seconds(5));
    return answer;
  }
  // Does not wait for the answer.
  std::shared_ptr<FakeAnswer> Send(const std::string& method, const std::string& target,
                                   const std::string& body = {}, const std::string& token = {}) {
    auto answer = std::make_shared<FakeAnswer>();
    clients.push_back(answer);
    rpc::HttpRequest request;
    request.method = method;
    request.target = "/v1/" + target;
    request.body = SharedBytes::Own(std::string(body));
    if (!token.empty()) request.headers.push_back({"x-consul-token", token});
    router.Serve(std::move(request), rpc::HttpReply(answer), &executor);
    executor.Settle();
    return answer;
  }
  std::string Get(const std::string& target) { return Ask("GET", target)->line(); }
  std::string Put(const std::string& target, const std::string& body = {}) {
    return Ask("PUT", target, body)->line();
  }
  std::string Delete(const std::string& target) { return Ask("DELETE", target)->line(); }
  // The only pair of an answer.
  Json Pair(const std::string& key) { return Ask("GET", "kv/" + key)->json().at(0); }
  std::string IndexOf(const std::string& target) {
    return Ask("GET", target)->header("X-Consul-Index");
  }
  // A session on n1; its id.
  std::string NewSession(const std::string& body = "") {
    return Ask("PUT", "session/create", body)->json().at("ID").get<std::string>();
  }
  std::string HolderOf(const std::string& key) { return Pair(key).value("Session", ""); }
  bool Has(const std::string& key) const { return store.Contents().contains("/kvorum/" + key); }
  std::size_t CountOf(const std::string& prefix) const {
    std::size_t count = 0;
    for (const auto& [key, value] : store.Contents()) count += key.starts_with("/kvorum/" + prefix);
    return count;
  }

  std::map<std::string, std::int64_t> life_leases;
  KvChanges changes{store, executor, {.prefix = "/kvorum/kv/", .seed = 1}};
  KvRoutes kv{{.copy = copy,
               .reading = reading,
               .access = access,
               .changes = changes,
               .executor = executor}};
  SessionRoutes sessions{{.copy = copy,
                          .reading = reading,
                          .access = access,
                          .store = store,
                          .executor = executor,
                          .node = "n1"}};
  Router router{{}};
};

}  // namespace kvorum::consul

#include "rpc/server/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "rpc/call/grpc_protocol.h"
#include "rpc/server/acceptor.h"
#include "rpc/server/address_limit.h"
#include "rpc/server/connection.h"
#include "rpc/session/per_loop.h"
#include "rpc/tls/socket.h"

namespace kvorum::rpc {
namespace {

// Time after the grace period for the last statuses and GOAWAYs to leave.
constexpr std::chrono::milliseconds kLastBytesTime(200);
// Enough that a client that reads is never waited for on a fast network.
constexpr std::size_t kUnsentBytes = 128 * 1024;

SharedBytes TooManyConnections(const std::string& text) {
  return SharedBytes::Own(
      fmt::format("HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\n"
                  "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
                  text.size(), text));
}

}  // namespace

struct Server::Impl {
  // One loop with its connections. The connections belong to the loop's thread.
  struct Shard {
    Shard(Impl& server, std::uint32_t index)
        : loop(index, server.options.loops == 1
                          ? server.options.thread_name
                          : server.options.thread_name + "-" + std::to_string(index)),
          per_loop(server.options, server.router, server.http, loop, *server.options.answers) {}

    Loop loop;
    PerLoop per_loop;
    struct Opened {
      std::unique_ptr<Connection> connection;
      AddressLimit::Place place;
    };
    std::unordered_map<Connection*, Opened> connections;
    std::atomic<std::uint64_t> open{0};
    bool draining = false;
  };

  Impl(Options o, Router r, HttpHandler h)
      : options(std::move(o)),
        router(std::move(r)),
        http(std::move(h)),
        addresses(options.max_connections_per_address),
        refusal(TooManyConnections(options.too_many_connections_text)) {
    options.loops = std::max(options.loops, 1U);
    if (options.answers == nullptr) options.answers = &own_answers;
    budget.max_connections = options.max_connections;
    for (std::uint32_t i = 0; i < options.loops; ++i)
      shards.push_back(std::make_unique<Shard>(*this, i));
  }

  Loop& accept_loop() { return shards.front()->loop; }
  Result<std::string> AddListener(Result<ListenSocket> socket, ListenOptions how);
  void Assign(Accepted accepted, const ListenOptions& how);
  void Open(Shard& shard, Accepted accepted, ListenOptions how, AddressLimit::Place place);
  void OnClosed(Shard& shard, Connection* connection);
  void CountClosed();
  // Runs the task on the loop and waits for it.
  void RunOn(Loop& loop, Task task);
  void ForEachConnection(const std::function<void(Connection&)>& action);
  bool WaitUntilEmpty(std::chrono::milliseconds limit);
  void Shutdown(std::chrono::milliseconds grace);

  AnswerMemory own_answers;  // if the options bring none
  Options options;
  Router router;
  HttpHandler http;
  AcceptBudget budget;
  AddressLimit addresses;  // outlives the connections
  const SharedBytes refusal;
  std::atomic<std::uint64_t> refused{0};
  std::vector<std::unique_ptr<Shard>> shards;
  std::vector<std::unique_ptr<Acceptor>> acceptors;  // the first loop's, once started
  bool started = false;
  bool stopped = false;
  std::mutex empty_mutex;  // guards nothing; for the wait only
  std::condition_variable emptied;
};

Result<std::string> Server::Impl::AddListener(Result<ListenSocket> socket, ListenOptions how) {
  if (!socket) return std::unexpected(std::move(socket).error());
  KV_RETURN_IF_ERROR(socket->Listen());
  std::string address = socket->address();
  auto acceptor = std::make_unique<Acceptor>(
      accept_loop(), std::move(*socket), budget,
      [this, how = std::move(how)](Accepted accepted) { Assign(std::move(accepted), how); });
  if (!started) {
    acceptors.push_back(std::move(acceptor));
  } else {
    RunOn(accept_loop(), [&] {
      acceptor->Resume();
      acceptors.push_back(std::move(acceptor));
    });
  }
  return address;
}

void Server::Impl::Assign(Accepted accepted, const ListenOptions& how) {
  AddressLimit::Place place = addresses.Take(accepted.peer);
  if (place.verdict() != AddressLimit::Verdict::kServe) ++refused;
  if (place.verdict() == AddressLimit::Verdict::kDrop) {
    if (how.tls == nullptr) SendBytes(accepted.fd.get(), refusal.view());
    accepted.fd.Close();
    return CountClosed();
  }
  Shard& shard = **std::ranges::min_element(
      shards, {}, [](const auto& each) { return each->open.load(std::memory_order_relaxed); });
  ++shard.open;
  if (shard.loop.InThread()) return Open(shard, std::move(accepted), how, std::move(place));
  shard.loop.Post([this, &shard, accepted = std::move(accepted), how = how,
                   place = std::move(place)]() mutable {
    Open(shard, std::move(accepted), std::move(how), std::move(place));
  });
}

void Server::Impl::Open(Shard& shard, Accepted accepted, ListenOptions how,
                        AddressLimit::Place place) {
  const bool is_refused = place.verdict() == AddressLimit::Verdict::kRefuse;
  Socket socket(std::move(accepted.fd));
  // Like grpc-go's keepalive: data that stays unacknowledged this long ends the connection, ping or
  // not.
  socket.SetUserTimeout(options.ping_timeout);
  socket.LimitUnsent(kUnsentBytes);
  auto connection = std::make_unique<Connection>(
      shard.per_loop, std::move(socket), SharedBytes::Own(std::move(accepted.peer)), std::move(how),
      [this, &shard](Connection* closed) { OnClosed(shard, closed); });
  Connection& opened = *connection;
  shard.connections.emplace(
      &opened, Shard::Opened{.connection = std::move(connection), .place = std::move(place)});
  if (shard.draining) return opened.Drain();
  if (is_refused) opened.Refuse(refusal);
}

void Server::Impl::OnClosed(Shard& shard, Connection* connection) {
  const auto found = shard.connections.find(connection);
  if (found == shard.connections.end()) return;  // its destructor closes it, if it is still open
  shard.loop.Later([owned = std::move(found->second.connection)] {});
  shard.connections.erase(found);
  --shard.open;
  CountClosed();
}

void Server::Impl::CountClosed() {
  if (--budget.open == 0) {
    std::lock_guard lock(empty_mutex);
    emptied.notify_all();
  }
  if (budget.exhausted.exchange(false)) {
    accept_loop().Post([this] {
      for (auto& acceptor : acceptors) acceptor->Resume();
    });
  }
}

void Server::Impl::RunOn(Loop& loop, Task task) {
  std::promise<void> done;
  loop.Post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

void Server::Impl::ForEachConnection(const std::function<void(Connection&)>& action) {
  for (auto& shard : shards) {
    RunOn(shard->loop, [&] {
      shard->draining = true;
      // The action may close connections, which removes them from the map.
      std::vector<Connection*> connections;
      for (const auto& [connection, owner] : shard->connections) connections.push_back(connection);
      for (Connection* connection : connections) action(*connection);
    });
  }
}

bool Server::Impl::WaitUntilEmpty(std::chrono::milliseconds limit) {
  std::unique_lock lock(empty_mutex);
  return emptied.wait_for(lock, limit, [&] { return budget.open == 0; });
}

void Server::Impl::Shutdown(std::chrono::milliseconds grace) {
  if (std::exchange(stopped, true)) return;
  if (!started) return acceptors.clear();
  RunOn(accept_loop(), [&] { acceptors.clear(); });
  ForEachConnection([](Connection& connection) { connection.Drain(); });
  if (!WaitUntilEmpty(grace)) {
    ForEachConnection([](Connection& connection) { connection.CancelAll(ShuttingDownError()); });
    WaitUntilEmpty(kLastBytesTime);
    ForEachConnection([](Connection& connection) { connection.Close(); });
  }
  for (auto& shard : shards) shard->loop.Stop();
}

Server::Server(Options options) : Server(std::move(options), Router(), nullptr) {}
Server::Server(Options options, Router router, HttpHandler http)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(router), std::move(http))) {}

Server::~Server() { Shutdown(std::chrono::milliseconds(0)); }

Result<std::string> Server::Listen(const std::string& host, std::uint16_t port, ListenOptions how) {
  Result<ListenSocket> socket = ListenSocket::Tcp(host, port, how.port_use);
  return impl_->AddListener(std::move(socket), std::move(how));
}

Result<std::string> Server::ListenUnix(const std::string& path, ListenOptions how) {
  return impl_->AddListener(ListenSocket::Unix(path), std::move(how));
}

void Server::SetHandlers(Router router, HttpHandler http) {
  KV_CHECK(!impl_->started, "handlers are set before connections are accepted");
  impl_->router = std::move(router);
  impl_->http = std::move(http);
}

const Router& Server::router() const { return impl_->router; }

std::size_t Server::loop_count() const { return impl_->shards.size(); }

Loop& Server::loop(std::size_t i) { return impl_->shards[i]->loop; }

void Server::Start() {
  if (std::exchange(impl_->started, true)) return;
  for (auto& shard : impl_->shards) shard->loop.Start();
  impl_->RunOn(impl_->accept_loop(), [this] {
    for (auto& acceptor : impl_->acceptors) acceptor->Resume();
  });
}

void Server::Shutdown(std::chrono::milliseconds grace) { impl_->Shutdown(grace); }

Stats Server::stats() const {
  Stats stats;
  stats.accepted_connections = impl_->budget.accepted;
  stats.open_connections = impl_->budget.open;
  stats.refused_connections = impl_->refused;
  stats.cut_connections = impl_->options.answers->cut_connections();
  stats.accept_failures = impl_->budget.failures;
  for (const auto& shard : impl_->shards) {
    stats.received_bytes += shard->per_loop.received_bytes.load(std::memory_order_relaxed);
    stats.sent_bytes += shard->per_loop.sent_bytes.load(std::memory_order_relaxed);
    stats.tls_handshakes += shard->per_loop.tls.handshakes;
    for (std::size_t i = 0; i < kTlsFailureKinds; ++i)
      stats.tls_failures[i] += shard->per_loop.tls.failures[i];
  }
  return stats;
}

}  // namespace kvorum::rpc

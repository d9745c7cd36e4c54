#include "tools/run/control_server.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <future>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "base/file_system.h"
#include "rpc/server/acceptor.h"
#include "sync/kernel/loop.h"
#include "tools/run/control_connection.h"

namespace kvorum::ctl {
namespace {

// Also of a program that does not know the lock.
bool SomebodyListens(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.data(), path.size());
  const FileDescriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
         errno == EAGAIN;
}

Result<rpc::ListenSocket> ListenAt(const std::string& path) {
  if (SomebodyListens(path))
    return kvorum::Fail(Code::kFailedPrecondition, path + ": another process listens there");
  KV_TRY(rpc::ListenSocket socket,
         rpc::ListenSocket::Unix(path, rpc::ListenSocket::UnixUse::kOwnerAlone));
  KV_RETURN_IF_ERROR(socket.Listen());
  return socket;
}

std::string Names(const ControlHandlers& handlers) {
  std::string names;
  for (const auto& [name, handler] : handlers) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace

class ControlServer::Machine {
 public:
  Machine(std::unique_ptr<FileLock> lock, rpc::ListenSocket socket, Executor& executor,
          ControlHandlers handlers, const ControlLimits& limits)
      : lock_(std::move(lock)),
        limits_(limits),
        handlers_(std::move(handlers)),
        names_(Names(handlers_)),
        handling_(executor, [](TimePoint) { return sync::kNever; }),
        loop_(0, "control"),
        acceptor_(std::make_unique<rpc::Acceptor>(
            loop_, std::move(socket), budget_,
            [this](rpc::Accepted accepted) { Accept(std::move(accepted)); })) {
    acceptor_->Resume();
    CloseIdleLater();
    loop_.Start();
  }

  ~Machine() {
    std::promise<void> closed;
    loop_.Post([this, &closed] {
      acceptor_ = nullptr;
      for (const auto& connection : std::vector(connections_)) connection->Close();
      closed.set_value();
    });
    closed.get_future().wait();
    loop_.Stop();
    handling_.Stop();
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

 private:
  void Accept(rpc::Accepted accepted) {
    const auto connection = std::make_shared<ControlConnection>(
        loop_, std::move(accepted.fd), limits_,
        [this](sync::Json request, ControlReply reply) {
          Dispatch(std::move(request), std::move(reply));
        },
        [this](ControlConnection& closed) { Forget(closed); });
    const bool is_full = connections_.size() >= limits_.connections;
    connections_.push_back(connection);
    if (is_full) return connection->Refuse("too many connections");
    connection->Start();
  }

  void Forget(const ControlConnection& closed) {
    std::erase_if(connections_, [&](const auto& each) { return each.get() == &closed; });
    --budget_.open;
  }

  void Dispatch(sync::Json request, ControlReply reply) {
    const auto name = request["command"].get<std::string>();
    const auto found = handlers_.find(name);
    if (found == handlers_.end())
      return reply.Fail("unknown command \"" + name + "\"; there are: " + names_);
    handling_.Post([&handler = found->second, request = std::move(request),
                    reply = std::move(reply)]() mutable { handler(request, std::move(reply)); });
  }

  void CloseIdleLater() {
    loop_.PostAt(loop_.clock().Now() + limits_.patience / 4, [this] {
      for (const auto& connection : std::vector(connections_))
        connection->CloseIfIdle(loop_.now() - limits_.patience);
      CloseIdleLater();
    });
  }

  const std::unique_ptr<FileLock> lock_;
  const ControlLimits limits_;
  ControlHandlers handlers_;  // called by handling_'s tasks, after the start read-only
  const std::string names_;
  sync::Loop handling_;
  rpc::AcceptBudget budget_;
  rpc::Loop loop_;
  // The loop's.
  std::unique_ptr<rpc::Acceptor> acceptor_;
  std::vector<std::shared_ptr<ControlConnection>> connections_;
};

ControlServer::ControlServer(std::unique_ptr<Machine> machine) : machine_(std::move(machine)) {}
ControlServer::~ControlServer() = default;

Result<std::unique_ptr<ControlServer>> ControlServer::Open(const std::string& path,
                                                           Executor& executor,
                                                           ControlHandlers handlers,
                                                           const ControlLimits& limits) {
  KV_TRY(std::unique_ptr<FileLock> lock, PosixFileSystem().Lock(path + ".lock"));
  KV_TRY(rpc::ListenSocket socket, ListenAt(path));
  return std::unique_ptr<ControlServer>(new ControlServer(std::make_unique<Machine>(
      std::move(lock), std::move(socket), executor, std::move(handlers), limits)));
}

}  // namespace kvorum::ctl

#include "sync/checks/system_prober.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <thread>
#include <utility>

#include "sync/checks/exec_probe.h"
#include "sync/checks/name_lookups.h"
#include "sync/checks/network_probe.h"

namespace kvorum::sync {

class SystemProber::Thread {
 public:
  Thread() : work_(boost::asio::make_work_guard(io_)), thread_([this] { io_.run(); }) {}
  ~Thread() {
    io_.stop();
    thread_.join();
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  void Begin(const CheckDefinition& check, OnEnd on_end) {
    switch (check.kind) {
      case CheckKind::kTtl:
        return on_end({.output = "a ttl check is not probed"});
      case CheckKind::kHttp:
        return BeginHttpProbe(io_, lookups_, check, std::move(on_end));
      case CheckKind::kTcp:
        return BeginTcpProbe(io_, lookups_, check, std::move(on_end));
      case CheckKind::kExec:
        return BeginExecProbe(io_, check, std::move(on_end));
      case CheckKind::kUdp:
        return BeginUdpProbe(io_, lookups_, check, std::move(on_end));
      case CheckKind::kH2Ping:
      case CheckKind::kGrpc:
        return BeginHttp2Probe(io_, lookups_, check, std::move(on_end));
      case CheckKind::kAlias:
        return on_end({.output = "this program has no checks that an alias could name"});
    }
  }

  boost::asio::io_context io_;

 private:
  NameLookups lookups_{io_};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

SystemProber::SystemProber() : thread_(std::make_unique<Thread>()) {}

SystemProber::~SystemProber() = default;

void SystemProber::Begin(const CheckDefinition& check, OnEnd on_end) {
  boost::asio::post(thread_->io_, [this, check, on_end = std::move(on_end)]() mutable {
    thread_->Begin(check, std::move(on_end));
  });
}

}  // namespace kvorum::sync

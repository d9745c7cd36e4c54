// A data plane: subscribes to one type as a node, and prints each change as it is applied.
//
//   example-data-plane ENDPOINT NODE TYPE
//
// Values that begin with "bad" are refused; the control plane hears of it.
#include <pthread.h>

#include <csignal>
#include <iostream>
#include <map>
#include <string>

#include "base/executor.h"
#include "sync/delta/delta_client.h"

namespace {

namespace ks = kvorum::sync;

class Printed final : public ks::DeltaSink {
 public:
  // Nothing survives a restart here: the whole set comes again.
  std::map<std::string, Held> Load(const std::string&) override { return {}; }
  kvorum::Result<void> Put(const std::string& type, const ks::DeltaResource& resource) override {
    if (resource.bytes->starts_with("bad"))
      return kvorum::Fail(kvorum::Code::kInvalidArgument, "it is bad");
    std::cout << type << ' ' << resource.name << " = " << *resource.bytes << std::endl;
    return {};
  }
  void Remove(const std::string& type, const std::string& name) override {
    std::cout << type << ' ' << name << " is gone" << std::endl;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: example-data-plane ENDPOINT NODE TYPE\n";
    return 2;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  kvorum::ThreadExecutor executor("sink");
  Printed sink;
  ks::DeltaClientOptions options;
  options.endpoint = argv[1];
  options.node = argv[2];
  options.types = {argv[3]};
  options.on_end = [](const kvorum::Error& why, kvorum::Duration) {
    std::cerr << why.message << '\n';
  };
  const auto client = ks::DeltaClient::Start(executor, sink, options);
  if (!client) {
    std::cerr << client.error().message << '\n';
    return 1;
  }
  int signal = 0;
  sigwait(&signals, &signal);
  return 0;
}

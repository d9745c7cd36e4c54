// A control plane: subscribers get what stands in the store, a prefix for each type, and nothing
// whose first word is another node's name.
//
//   example-control-plane ENDPOINT LISTEN TYPE=PREFIX...
//
// For instance `example-control-plane 127.0.0.1:2379 127.0.0.1:18000 dp=/dp/`. Other people's
// clients of the delta discovery protocol can subscribe, and data_plane.cc.
#include "sync/delta/control_plane.h"

#include <pthread.h>

#include <csignal>
#include <iostream>
#include <memory>
#include <string>

#include "base/executor.h"
#include "client/client.h"
#include "sync/delta/delta_service.h"
#include "sync/informer/source_types.h"
#include "sync/kernel/bus.h"
#include "sync/kernel/metrics.h"
#include "sync/store/client_store.h"

namespace {

namespace ks = kvorum::sync;

// "zone-1 ..." is for the node zone-1 alone; what names no zone is for all.
ks::View ViewOf(const std::string& node) {
  return [node](const std::string&, const std::string&, const ks::Bytes& bytes) {
    const bool is_for_one = bytes->starts_with("zone-");
    return !is_for_one || bytes->substr(0, bytes->find(' ')) == node ? bytes : nullptr;
  };
}

void Tell(const kvorum::Error& error) { std::cerr << error.message << '\n'; }

kvorum::Result<void> Serve(const std::string& endpoint, const std::string& address,
                           const std::map<std::string, std::string>& prefixes,
                           const sigset_t& signals) {
  KV_TRY(const auto client, kvorum::client::Client::Connect({.endpoints = {endpoint}}));
  ks::ClientStore store(*client);
  kvorum::ThreadExecutor executor("plane");
  ks::Metrics metrics;
  ks::ControlPlaneOptions options{.view_of = ViewOf, .on_error = Tell};
  for (const auto& [type, prefix] : prefixes) options.types.push_back(type);

  // The plane reads the types, which outlive it, and the bus carries what they tell it.
  ks::Bus<std::string> changes;
  ks::SourceTypes types(store, executor,
                        {.prefixes = prefixes,
                         .on_changed = [&](const std::string& type) { changes.Publish(type); },
                         .on_error = Tell});
  ks::ControlPlane plane(executor, types, metrics, options);
  plane.Follow(changes);
  types.Start();
  KV_TRY(const auto service, ks::DeltaService::Listen(plane, {.address = address}));
  std::cout << "listening on " << service->address() << std::endl;
  int signal = 0;
  sigwait(&signals, &signal);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> prefixes;
  for (int i = 3; i < argc; ++i) {
    const std::string text = argv[i];
    const std::size_t sign = text.find('=');
    if (sign != std::string::npos) prefixes[text.substr(0, sign)] = text.substr(sign + 1);
  }
  if (prefixes.empty()) {
    std::cerr << "usage: example-control-plane ENDPOINT LISTEN TYPE=PREFIX...\n";
    return 2;
  }
  // Blocked before there are threads, which take it over.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  if (const auto served = Serve(argv[1], argv[2], prefixes, signals); !served) {
    std::cerr << served.error().message << '\n';
    return 1;
  }
  return 0;
}

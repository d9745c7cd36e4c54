// A control plane on kvorum::delta_service: serves the prefix /orders/ as the type `orders`, until
// its input ends.
//
//   plane ENDPOINT
#include <client/client.h>
#include <sync/delta/control_plane.h>
#include <sync/delta/delta_service.h>
#include <sync/informer/source_types.h>
#include <sync/kernel/bus.h>
#include <sync/kernel/metrics.h>
#include <sync/store/client_store.h>

#include <iostream>
#include <string>

namespace ks = kvorum::sync;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto client = kvorum::client::Client::Connect({.endpoints = {argv[1]}});
  if (!client) return 1;
  ks::ClientStore store(**client);
  kvorum::ThreadExecutor executor("plane");
  ks::Metrics metrics;
  ks::Bus<std::string> changes;
  ks::SourceTypes types(store, executor,
                        {.prefixes = {{"orders", "/orders/"}},
                         .on_changed = [&](const std::string& type) { changes.Publish(type); }});
  ks::ControlPlane plane(executor, types, metrics, {.types = {"orders"}});
  plane.Follow(changes);
  types.Start();
  const auto service = ks::DeltaService::Listen(plane, {.address = "127.0.0.1:0"});
  if (!service) return 1;
  std::cout << (*service)->address() << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  return 0;
}

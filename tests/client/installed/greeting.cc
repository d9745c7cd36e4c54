// An example program with the client library: writes, reads, watches, holds a lock.
//
//   greeting ENDPOINT...
#include <client/client.h>
#include <client/error_text.h>
#include <client/lease_session.h>
#include <client/mutex.h>
#include <client/watch.h>
#include <proto/rpc.pb.h>

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

namespace kv = kvorum::client;

namespace {

kvorum::Result<void> Greet(kv::Client& client) {
  const auto soon = kv::CallOptions::Within(std::chrono::seconds(10));

  etcdserverpb::PutRequest put;
  put.set_key("greeting");
  put.set_value("hello");
  KV_TRY(const auto written, client.Put(put, soon));

  etcdserverpb::RangeRequest range;
  range.set_key("greeting");
  KV_TRY(const auto read, client.Range(range, soon));
  for (const auto& kv : read.kvs()) std::cout << kv.key() << '=' << kv.value() << '\n';

  // From the revision of the put on; the first event ends it.
  etcdserverpb::WatchCreateRequest create;
  create.set_key("greeting");
  create.set_start_revision(written.header().revision());
  const auto watch = client.NewWatch(create);
  KV_RETURN_IF_ERROR(watch->Run([&](const etcdserverpb::WatchResponse& response) {
    for (const auto& event : response.events())
      std::cout << "seen " << event.kv().key() << '=' << event.kv().value() << '\n';
    if (response.events_size() > 0) watch->Cancel();
    return kvorum::Result<void>();
  }));

  KV_TRY(const auto session, kv::LeaseSession::Open(client, {.ttl_s = 5}));
  kv::Mutex mutex(*session, "greeting-lock");
  KV_RETURN_IF_ERROR(mutex.Lock());
  std::cout << "locked\n";
  KV_RETURN_IF_ERROR(mutex.Unlock());
  return session->Close(soon);
}

}  // namespace

int main(int argc, char** argv) {
  const auto client = kv::Client::Connect({.endpoints = {argv + 1, argv + argc}});
  const auto done = client ? Greet(**client) : std::unexpected(client.error());
  if (done) return 0;
  std::cerr << kv::ErrorText(done.error()) << '\n';
  return 1;
}

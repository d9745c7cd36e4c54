// The service and our client on loopback: what the wire adds to the pure classes. What other
// people's clients see, and the limits, are in delta_service_limits_test.cc.
#include "sync/delta/delta_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <mutex>

#include "base/executor.h"
#include "sync/delta/delta_client.h"
#include "tests/eventually.h"
#include "tests/rpc/certificates.h"
#include "tests/sync/fake_delta.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// Keeps resources in memory; refuses those that begin with "bad".
class SharedSink final : public DeltaSink {
 public:
  std::map<std::string, Held> Load(const std::string&) override { return {}; }
  Result<void> Put(const std::string&, const DeltaResource& resource) override {
    if (resource.bytes->starts_with("bad"))
      return Fail(Code::kInvalidArgument, "not JSON" + resource.bytes->substr(3));
    const std::lock_guard lock(mutex_);
    texts_[resource.name] = *resource.bytes;
    ++writes_;
    return {};
  }
  void Remove(const std::string&, const std::string& name) override {
    const std::lock_guard lock(mutex_);
    texts_.erase(name);
  }
  std::map<std::string, std::string> texts() {
    const std::lock_guard lock(mutex_);
    return texts_;
  }
  int writes() {
    const std::lock_guard lock(mutex_);
    return writes_;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> texts_;
  int writes_ = 0;
};

class SyncDeltaService : public testing::Test {
 protected:
  SyncDeltaService() {
    options.types = {"dp"};
    options.watchdog.flush_interval = 5ms;
    types.Put("a", "1");
  }
  ~SyncDeltaService() override { StopServer(); }

  // On the same port as before, if there was one.
  void Serve(DeltaServiceOptions how = {}) {
    plane = std::make_unique<ControlPlane>(executor, types, metrics, options);
    if (!address.empty()) how.address = address;
    auto listening = DeltaService::Listen(*plane, how);
    ASSERT_TRUE(listening) << listening.error().message;
    service = std::move(*listening);
    address = service->address();
  }
  void StopServer() {
    service.reset();
    plane.reset();
  }
  void Put(const std::string& name, const std::string& text) {
    types.Put(name, text);
    plane->Changed("dp");
  }
  std::unique_ptr<DeltaClient> Subscribe(DeltaSink& sink, const std::string& node,
                                         DeltaClientOptions how = {}) {
    if (how.endpoint.empty()) how.endpoint = address;
    how.node = node;
    how.types = {"dp"};
    how.backoff = {.first = 10ms, .cap = 50ms};
    auto client = DeltaClient::Start(sinks, sink, std::move(how));
    EXPECT_TRUE(client);
    return std::move(*client);
  }
  // The first node's first subscription shows this refusal.
  bool IsRefused(const std::string& text) {
    const auto states = States();
    return !states.empty() && !states[0].subscriptions.empty() &&
           states[0].subscriptions[0].refusal == text;
  }
  std::vector<NodeState> States() {
    std::promise<std::vector<NodeState>> states;
    plane->Ask([&](std::vector<NodeState> answer) { states.set_value(std::move(answer)); });
    return states.get_future().get();
  }
  bool Holds(SharedSink& sink, const std::map<std::string, std::string>& texts) {
    return Eventually([&] { return sink.texts() == texts; });
  }

  ThreadExecutor executor{"plane"};
  ThreadExecutor sinks{"sinks"};
  SharedTypes types;
  Metrics metrics;
  ControlPlaneOptions options;
  std::unique_ptr<ControlPlane> plane;
  std::unique_ptr<DeltaService> service;
  std::string address;
};

TEST_F(SyncDeltaService, ASubscriberIsKeptEqual) {
  Serve();
  SharedSink sink;
  const auto client = Subscribe(sink, "zone-1");
  EXPECT_TRUE(Holds(sink, {{"a", "1"}}));
  Put("b", std::string("\0\xff", 2));
  EXPECT_TRUE(Holds(sink, {{"a", "1"}, {"b", std::string("\0\xff", 2)}}));
  types.Remove("a");
  plane->Changed("dp");
  EXPECT_TRUE(Holds(sink, {{"b", std::string("\0\xff", 2)}}));
}

TEST_F(SyncDeltaService, W8_AfterARestartOfTheServerNothingIsSentAgain) {
  Serve();
  SharedSink sink;
  std::atomic<int> responses = 0;
  DeltaClientOptions how;
  how.on_response = [&](const DeltaResponse&, const DeltaRequest&) { ++responses; };
  const auto client = Subscribe(sink, "zone-1", how);
  ASSERT_TRUE(Holds(sink, {{"a", "1"}}));
  StopServer();
  types.Put("b", "1");
  Serve();
  EXPECT_TRUE(Holds(sink, {{"a", "1"}, {"b", "1"}}));
  EXPECT_EQ(sink.writes(), 2) << "a once";
  EXPECT_EQ(responses, 2);
}

TEST_F(SyncDeltaService, W11_ARefusalReachesTheStatus) {
  types.Put("b", "bad");
  Serve();
  SharedSink sink;
  const auto client = Subscribe(sink, "zone-1");
  EXPECT_TRUE(Eventually([&] { return IsRefused("1 of 2 resources refused: b: not JSON"); }));
  EXPECT_THAT(sink.texts(), ElementsAre(Pair("a", "1")));
}

TEST_F(SyncDeltaService, W11_ARefusalWhoseTextIsNotUtf8ReachesTheStatus) {
  types.Put("a", "bad: \xff\x01");
  Serve();
  SharedSink sink;
  const auto client = Subscribe(sink, "zone-1");
  EXPECT_TRUE(
      Eventually([&] { return IsRefused("1 of 1 resources refused: a: not JSON: \uFFFD "); }));
}

TEST_F(SyncDeltaService, W11_AClientThatRefusesEverythingAppliesNothing) {
  Serve();
  SharedSink sink;
  std::atomic<int> responses = 0;
  DeltaClientOptions how{.refusal = "out of order"};
  how.on_response = [&](const DeltaResponse&, const DeltaRequest&) { ++responses; };
  const auto client = Subscribe(sink, "zone-1", how);
  const auto is_refused = [&](const std::string& nonce) {
    return Eventually([&] {
      const auto states = States();
      return !states.empty() && !states[0].subscriptions.empty() &&
             states[0].subscriptions[0].refused == nonce &&
             states[0].subscriptions[0].refusal == "out of order";
    });
  };
  EXPECT_TRUE(is_refused("1"));
  types.Remove("a");
  plane->Changed("dp");
  EXPECT_TRUE(is_refused("2")) << "a removal";
  EXPECT_EQ(responses, 2);
  EXPECT_THAT(sink.texts(), IsEmpty());
}

TEST_F(SyncDeltaService, W15_StreamsThatEndLeaveNothing) {
  Serve();
  for (int i = 0; i < 100; ++i) {
    SharedSink sink;
    const auto client = Subscribe(sink, "zone-" + std::to_string(i));
    if (i % 2 == 0) {
      ASSERT_TRUE(Holds(sink, {{"a", "1"}}));
    }
  }
  EXPECT_TRUE(Eventually([&] { return States().empty(); }));
  EXPECT_THAT(metrics.Text(), testing::Not(HasSubstr("zone-")));
}

TEST_F(SyncDeltaService, ATypeThatIsNotServedEndsTheStreamAndIsToldToTheClient) {
  options.types = {"mesh"};
  Serve();
  SharedSink sink;
  std::mutex mutex;
  std::string told;
  DeltaClientOptions how;
  how.on_end = [&](const Error& why, Duration) {
    const std::lock_guard lock(mutex);
    told = why.message;
  };
  const auto client = Subscribe(sink, "zone-1", how);
  EXPECT_TRUE(Eventually([&] {
    const std::lock_guard lock(mutex);
    return told == "type dp is not served here; these are: mesh";
  }));
}

TEST_F(SyncDeltaService, WithTlsEachSideChecksTheOther) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "what OpenSSL does on gRPC's threads looks like races to the thread sanitizer";
#endif
  const TestFolder folder;
  TestAuthority authority("sync");
  authority.Write(folder.path("ca.pem"));
  authority.Issue({.ip_addresses = {"127.0.0.1"}})
      .Write(folder.path("server.pem"), folder.path("server.key"));
  authority.Issue({.common_name = "zone-1"})
      .Write(folder.path("zone.pem"), folder.path("zone.key"));
  Serve({.certificate_file = folder.path("server.pem"),
         .key_file = folder.path("server.key"),
         .client_ca_file = folder.path("ca.pem")});
  DeltaClientOptions how{.endpoint = "https://" + address,
                         .tls = {.certificate_file = folder.path("zone.pem"),
                                 .key_file = folder.path("zone.key"),
                                 .ca_file = folder.path("ca.pem")}};
  SharedSink sink;
  const auto client = Subscribe(sink, "zone-1", how);
  EXPECT_TRUE(Holds(sink, {{"a", "1"}}));

  // One that shows no certificate gets no stream.
  std::atomic<int> ends = 0;
  how.tls.certificate_file.clear();
  how.tls.key_file.clear();
  how.on_end = [&](const Error&, Duration) { ++ends; };
  SharedSink stranger;
  const auto refused = Subscribe(stranger, "zone-2", how);
  EXPECT_TRUE(Eventually([&] { return ends > 0; }));
  EXPECT_THAT(stranger.texts(), IsEmpty());
  EXPECT_FALSE(DeltaService::Listen(*plane, {.certificate_file = "/nowhere", .key_file = "/no"}));
}

}  // namespace
}  // namespace kvorum::sync

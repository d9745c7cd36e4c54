// The service to other people's gRPC clients and to strangers: the delta discovery protocol over
// our own server, its limits, and who a subscriber is.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "base/executor.h"
#include "proto/discovery.grpc.pb.h"
#include "sync/delta/delta_service.h"
#include "tests/eventually.h"
#include "tests/rpc/certificates.h"
#include "tests/rpc/http2_client.h"
#include "tests/sync/fake_delta.h"

namespace kvorum::sync {
namespace {

namespace wire = envoy::service::discovery::v3;
using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* kDeltaPath =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";

// A stream whose every step is the test's.
class Subscriber {
 public:
  explicit Subscriber(const std::string& target,
                      const std::shared_ptr<grpc::ChannelCredentials>& credentials =
                          grpc::InsecureChannelCredentials())
      : channel_(grpc::CreateCustomChannel(target, credentials, Arguments())),
        stub_(wire::AggregatedDiscoveryService::NewStub(channel_)),
        stream_(stub_->DeltaAggregatedResources(&context_)) {}
  ~Subscriber() { context_.TryCancel(); }

  void Ask(const std::string& node, const std::string& nonce = {}) {
    wire::DeltaDiscoveryRequest request;
    if (!node.empty()) request.mutable_node()->set_id(node);
    request.set_type_url("dp");
    request.set_response_nonce(nonce);
    stream_->Write(request);
  }
  // The names that the next response brings, which is accepted; "the end".
  std::string Next() {
    wire::DeltaDiscoveryResponse response;
    if (!stream_->Read(&response)) return "the end";
    std::string names;
    for (const auto& resource : response.resources())
      names += resource.name() + "=" + resource.resource().value().substr(0, 10) + " ";
    Ask("", response.nonce());
    return names;
  }
  void EndRequests() { stream_->WritesDone(); }
  // The status that the stream ends with; reads what comes before it.
  grpc::Status End() {
    wire::DeltaDiscoveryResponse response;
    while (stream_->Read(&response)) {
    }
    return stream_->Finish();
  }

 private:
  static grpc::ChannelArguments Arguments() {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(-1);
    return arguments;
  }

  grpc::ClientContext context_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<wire::AggregatedDiscoveryService::Stub> stub_;
  std::unique_ptr<
      grpc::ClientReaderWriter<wire::DeltaDiscoveryRequest, wire::DeltaDiscoveryResponse>>
      stream_;
};

class DeltaServiceTest : public testing::Test {
 protected:
  DeltaServiceTest() {
    options_.types = {"dp"};
    options_.watchdog.flush_interval = 5ms;
    types_.Put("a", "1");
  }
  ~DeltaServiceTest() override {
    service_.reset();
    plane_.reset();
  }

  void Serve(const DeltaServiceOptions& how = {}) {
    plane_ = std::make_unique<ControlPlane>(executor_, types_, metrics_, options_);
    auto listening = DeltaService::Listen(*plane_, how);
    ASSERT_TRUE(listening) << listening.error().message;
    service_ = *std::move(listening);
  }
  std::uint16_t port() const {
    const std::string& address = service_->address();
    return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  }
  void Put(const std::string& name, const std::string& text) {
    types_.Put(name, text);
    plane_->Changed("dp");
  }
  std::size_t Nodes() {
    std::promise<std::size_t> nodes;
    plane_->Ask([&](const std::vector<NodeState>& states) { nodes.set_value(states.size()); });
    return nodes.get_future().get();
  }
  // Somebody new is served as ever.
  void ExpectServes() {
    Subscriber other(service_->address());
    other.Ask("bystander");
    EXPECT_EQ(other.Next(), "a=1 ");
  }

  ThreadExecutor executor_{"plane"};
  SharedTypes types_;
  Metrics metrics_;
  ControlPlaneOptions options_;
  std::unique_ptr<ControlPlane> plane_;
  std::unique_ptr<DeltaService> service_;
};

TEST_F(DeltaServiceTest, ASubscriberGetsWhatThereIsAndWhatChanges) {
  Serve();
  Subscriber one(service_->address());
  one.Ask("zone-1");
  EXPECT_EQ(one.Next(), "a=1 ");
  Put("b", "2");
  EXPECT_EQ(one.Next(), "b=2 ");
  one.EndRequests();
  EXPECT_TRUE(one.End().ok());
  EXPECT_TRUE(Eventually([&] { return Nodes() == 0; }));
}

TEST_F(DeltaServiceTest, AUnixSocketServesAsWell) {
  const TestFolder folder;
  const std::string address = "unix:" + folder.path("socket");
  Serve({.address = address});
  EXPECT_EQ(service_->address(), address);
  ExpectServes();
}

TEST_F(DeltaServiceTest, W16_ASecondStreamOfANodeEndsTheFirst) {
  Serve();
  Subscriber first(service_->address());
  first.Ask("zone-1");
  EXPECT_EQ(first.Next(), "a=1 ");
  Subscriber second(service_->address());
  second.Ask("zone-1");
  const grpc::Status end = first.End();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(end.error_message(), "a newer stream of the node replaces this one");
  EXPECT_EQ(second.Next(), "a=1 ");
}

TEST_F(DeltaServiceTest, W19_OneThatDoesNotReadIsEndedAndOthersAreNot) {
  options_.send_timeout = 3s;  // enough for nine MiB under a sanitizer beside a build
  for (int i = 0; i < 9; ++i) types_.Put("large-" + std::to_string(i), std::string(1 << 20, 'x'));
  Serve();
  Subscriber stuck(service_->address());
  stuck.Ask("zone-1");
  Subscriber well(service_->address());
  well.Ask("zone-2");
  EXPECT_THAT(well.Next(), HasSubstr("large-8=xxxxxxxxxx"));
  EXPECT_TRUE(Eventually([&] { return Nodes() == 1; }));
  const grpc::Status end = stuck.End();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << end.error_message();
  EXPECT_EQ(end.error_message(), "a response was not read in time");
  Put("a", "2");
  EXPECT_EQ(well.Next(), "a=2 ");
}

TEST_F(DeltaServiceTest, ARequestBeyondTheLimitEndsItsStream) {
  Serve({.max_request_bytes = 1000});
  Subscriber one(service_->address());
  one.Ask(std::string(2000, 'z'));
  EXPECT_EQ(one.End().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  ExpectServes();
}

// Other people's subscribers may know the older protocol alone.
TEST_F(DeltaServiceTest, TheStateOfTheWorldIsRefusedWithAText) {
  Serve();
  rpc::Http2Client client(port());
  client.Send(rpc::UnaryCall(
      1, "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources", ""));
  const auto outcome = client.Await(1);
  EXPECT_EQ(outcome.grpc_status, "12");
  EXPECT_THAT(outcome.grpc_message, HasSubstr("DeltaAggregatedResources"));
}

TEST_F(DeltaServiceTest, RubbishIsRefusedAndHarmsNobody) {
  Serve();
  rpc::Http2Client client(port());
  client.Send(rpc::UnaryCall(1, kDeltaPath, "\xff\xff\xff"));
  EXPECT_EQ(client.Await(1).grpc_status, "13");
  client.Send(rpc::UnaryCall(3, "/x/y", ""));
  EXPECT_EQ(client.Await(3).grpc_status, "12");
  rpc::RawSocket http(port());
  http.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(http.ReceiveAll(), testing::Not(HasSubstr("200")));
  ExpectServes();
}

// CVE-2023-44487.
TEST_F(DeltaServiceTest, RapidResetsAreCutOff) {
  Serve();
  rpc::RawSocket client(port());
  std::string flood = rpc::Handshake();
  for (std::uint32_t i = 0; i < 3000; ++i) {
    flood += rpc::UnaryCall(2 * i + 1, kDeltaPath, "") +
             rpc::Frame(rpc::FrameType::kRstStream, 0, 2 * i + 1, rpc::BigEndian32(rpc::kCancel));
  }
  client.Send(flood);
  EXPECT_THAT(client.ReceiveAll(), HasSubstr("too_many_resets"));
  ExpectServes();
}

TEST_F(DeltaServiceTest, AConnectionThatShowsNothingIsClosed) {
  Serve({.handshake_timeout = 500ms});
  rpc::RawSocket silent(port());
  rpc::RawSocket half(port());
  half.Send(std::string(rpc::kPreface.substr(0, 5)));
  const auto begun = std::chrono::steady_clock::now();
  silent.ReceiveAll();
  half.ReceiveAll();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
  ExpectServes();
}

TEST_F(DeltaServiceTest, AnAddressThatCannotBeTakenIsAnError) {
  Serve();
  for (const std::string& address :
       {service_->address(), std::string("nowhere"), std::string("127.0.0.1:x"), std::string()}) {
    const auto second = DeltaService::Listen(*plane_, {.address = address});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error(), (Error{Code::kUnavailable, "cannot listen on " + address}));
  }
  EXPECT_EQ(
      DeltaService::Listen(*plane_, {.certificate_file = "/no", .key_file = "/no"}).error().code,
      Code::kFailedPrecondition);
}

class SecuredDeltaServiceTest : public DeltaServiceTest {
 protected:
  SecuredDeltaServiceTest() {
    authority_.Write(folder_.path("ca.pem"));
    authority_.Issue({.ip_addresses = {"127.0.0.1"}})
        .Write(folder_.path("server.pem"), folder_.path("server.key"));
  }
  DeltaServiceOptions Files() const {
    return {.certificate_file = folder_.path("server.pem"),
            .key_file = folder_.path("server.key"),
            .client_ca_file = folder_.path("ca.pem")};
  }
  // The credentials of a client whose certificate has this common name.
  std::shared_ptr<grpc::ChannelCredentials> Named(const std::string& common_name) {
    const TestCertificate certificate = authority_.Issue({.common_name = common_name});
    return grpc::SslCredentials({.pem_root_certs = FileBytes(folder_.path("ca.pem")),
                                 .pem_private_key = certificate.key_pem(),
                                 .pem_cert_chain = certificate.certificate_pem()});
  }

  TestFolder folder_;
  TestAuthority authority_{"delta"};
};

TEST_F(SecuredDeltaServiceTest, OneWithoutACertificateGetsNoStream) {
  Serve(Files());
  Subscriber one(service_->address(), Named("any"));
  one.Ask("zone-1");
  EXPECT_EQ(one.Next(), "a=1 ");
  grpc::SslCredentialsOptions nothing_to_show;
  nothing_to_show.pem_root_certs = FileBytes(folder_.path("ca.pem"));
  Subscriber stranger(service_->address(), grpc::SslCredentials(nothing_to_show));
  stranger.Ask("zone-2");
  EXPECT_EQ(stranger.End().error_code(), grpc::StatusCode::UNAVAILABLE);
  Subscriber plain(service_->address());
  plain.Ask("zone-2");
  EXPECT_EQ(plain.End().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(SecuredDeltaServiceTest, WithTheFlagANodeIsTheOneOfItsCertificate) {
  DeltaServiceOptions how = Files();
  how.node_from_certificate = true;
  Serve(how);
  Subscriber one(service_->address(), Named("zone-1"));
  one.Ask("zone-1");
  EXPECT_EQ(one.Next(), "a=1 ");
  // Its certificate is good, and another node's stream is not its to end.
  Subscriber thief(service_->address(), Named("zone-2"));
  thief.Ask("zone-1");
  const grpc::Status refused = thief.End();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(refused.error_message(), "the node is not the one of the client's certificate, zone-2");
  Put("b", "2");
  EXPECT_EQ(one.Next(), "b=2 ");
  Subscriber silent(service_->address(), Named("zone-3"));
  silent.Ask("");  // it need not say who it is
  EXPECT_EQ(silent.Next(), "a=1 b=2 ");
  Subscriber nobody(service_->address(), Named(""));
  nobody.Ask("zone-4");
  EXPECT_EQ(nobody.End().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

}  // namespace
}  // namespace kvorum::sync

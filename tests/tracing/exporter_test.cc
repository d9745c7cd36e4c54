// The exporter against a collector in this process: a server of ours with the one method.
#include "server/tracing/exporter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log/logging.h"
#include "rpc/server/server.h"
#include "server/tracing/collector_address.h"
#include "server/tracing/collector_connection.h"
#include "tests/eventually.h"

namespace kvorum::server::tracing {
namespace {

using std::chrono::seconds;

constexpr std::size_t kBatchSpans = 512;  // the default

class Collector {
 public:
  explicit Collector(Result<std::string> answer = std::string(), std::uint16_t port = 0,
                     std::size_t unanswered = 0)
      : answer_(std::move(answer)) {
    rpc::Router router;
    router.AddUnary(
        "opentelemetry.proto.collector.trace.v1.TraceService", "Export",
        [this, unanswered](const auto&, const SharedBytes& request, rpc::UnaryReply reply) {
          std::lock_guard lock(mutex_);
          requests_.emplace_back(request.view());
          if (requests_.size() <= unanswered)
            return static_cast<void>(silent_.push_back(std::move(reply)));
          if (!answer_.has_value()) return reply.Fail(answer_.error());
          reply.Send(SharedBytes::Copy(*answer_));
        });
    server_ = std::make_unique<rpc::Server>(rpc::Options{}, std::move(router), rpc::HttpHandler());
    const auto address = server_->Listen("127.0.0.1", port);
    EXPECT_TRUE(address.has_value());
    address_ = address.value_or("");
    server_->Start();
  }
  ~Collector() { server_->Shutdown(std::chrono::milliseconds(0)); }

  const std::string& address() const { return address_; }
  std::uint16_t port() const {
    return static_cast<std::uint16_t>(std::stoi(address_.substr(address_.rfind(':') + 1)));
  }
  std::vector<std::string> requests() const {
    std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  const Result<std::string> answer_;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::vector<rpc::UnaryReply> silent_;
  std::string address_;
  std::unique_ptr<rpc::Server> server_;
};

void AddSpans(Exporter& exporter, std::size_t count, const std::string& name = "s") {
  for (std::size_t i = 0; i < count; ++i) {
    auto span = std::make_unique<Span>();
    span->name = name;
    exporter.Add(std::move(span));
  }
}

class ExporterTest : public testing::Test {
 protected:
  ExporterTest() { SetLogLevel(LogLevel::kFatal); }
};

TEST_F(ExporterTest, AFullBatchGoesAtOnce) {
  Collector collector;
  Exporter exporter(collector.address(), {"etcd", "m1"});
  AddSpans(exporter, kBatchSpans);
  EXPECT_TRUE(Eventually([&] { return exporter.exported() == kBatchSpans; }));
  EXPECT_EQ(collector.requests().size(), 1U);
  EXPECT_TRUE(Eventually([&] { return exporter.waiting() == 0; }));
}

TEST_F(ExporterTest, TheSettingsCount) {
  Collector collector;
  Exporter exporter(collector.address(), {"etcd", "", {{"zone", "z-1"}, {"service.name", "other"}}},
                    {.batch_spans = 3, .queue_spans = 3, .metadata = {}});
  AddSpans(exporter, 3);
  EXPECT_TRUE(Eventually([&] { return exporter.exported() == 3; }));
  EXPECT_NE(collector.requests().front().find("z-1"), std::string::npos);
  EXPECT_EQ(collector.requests().front().find("other"), std::string::npos);
}

TEST_F(ExporterTest, StoppingSendsWhatIsThere) {
  Collector collector;
  Exporter exporter(collector.address(), {"etcd", ""});
  AddSpans(exporter, 700, "the last ones");
  exporter.Stop(seconds(60));
  EXPECT_EQ(exporter.exported(), 700U);
  const auto requests = collector.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_NE(requests.back().find("the last ones"), std::string::npos);
}

TEST_F(ExporterTest, AFinalErrorDropsTheBatchOnly) {
  Collector collector(Fail(Code::kInvalidArgument, "not these"));
  Exporter exporter(collector.address(), {"etcd", ""});
  AddSpans(exporter, kBatchSpans);
  EXPECT_TRUE(Eventually([&] { return exporter.dropped() == kBatchSpans; }));
  AddSpans(exporter, kBatchSpans);
  EXPECT_TRUE(Eventually([&] { return exporter.dropped() == 2 * kBatchSpans; }));
  EXPECT_EQ(collector.requests().size(), 2U);
}

TEST_F(ExporterTest, SpansThatTheCollectorDoesNotTakeAreDropped) {
  Collector collector(std::string("\x0a\x02\x08\x03"));
  Exporter exporter(collector.address(), {"etcd", ""});
  AddSpans(exporter, 10);
  exporter.Stop(seconds(60));
  EXPECT_EQ(exporter.exported(), 7U);
  EXPECT_EQ(exporter.dropped(), 3U);
}

TEST_F(ExporterTest, AnAnswerThatIsTooLargeIsAnError) {
  Collector collector(std::string(100'000, 'x'));
  Exporter exporter(collector.address(), {"etcd", ""});
  AddSpans(exporter, kBatchSpans);
  EXPECT_TRUE(Eventually([&] { return exporter.dropped() == kBatchSpans; }));
}

TEST_F(ExporterTest, ALargeBatchPassesTheFlowControl) {
  Collector collector;
  Exporter exporter(collector.address(), {"etcd", ""});
  AddSpans(exporter, kBatchSpans, std::string(3000, 'n'));
  EXPECT_TRUE(Eventually([&] { return exporter.exported() == kBatchSpans; }));
  EXPECT_GT(collector.requests().front().size(), kBatchSpans * 3000);
}

TEST_F(ExporterTest, FindsACollectorThatWasStartedAnew) {
  auto collector = std::make_unique<Collector>();
  const std::uint16_t port = collector->port();
  Exporter exporter(collector->address(), {"etcd", ""});
  AddSpans(exporter, kBatchSpans);
  EXPECT_TRUE(Eventually([&] { return exporter.exported() == kBatchSpans; }));

  collector.reset();
  collector = std::make_unique<Collector>(std::string(), port);
  AddSpans(exporter, kBatchSpans);
  EXPECT_TRUE(Eventually([&] { return exporter.exported() == 2 * kBatchSpans; }));
  EXPECT_EQ(exporter.dropped(), 0U);
}

TEST_F(ExporterTest, ACollectorThatSaidNothingForAWholeCallIsDialledAgain) {
  Collector collector(std::string("\x0a\x00", 2), 0, 1);
  CollectorConnection connection(ParseCollectorAddress(collector.address()), {});
  constexpr std::string_view kPath = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
  const auto first = connection.Call(
      kPath, "one", rpc::WaitLimit(SystemClock().Now() + std::chrono::milliseconds(300)));
  ASSERT_FALSE(first.has_value());
  EXPECT_EQ(first.error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(connection.fd(), -1) << "it may be gone without a word";
  EXPECT_TRUE(
      connection.Call(kPath, "two", rpc::WaitLimit(SystemClock().Now() + seconds(60))).has_value());
}

TEST_F(ExporterTest, StoppingDoesNotWaitForACollectorThatIsNotThere) {
  std::string address;
  {
    address = Collector().address();
  }
  Exporter exporter(address, {"etcd", ""});
  AddSpans(exporter, 10);
  exporter.Stop(seconds(300));
  EXPECT_EQ(exporter.dropped(), 10U);
}

TEST(RetryDelayTest, OnlyErrorsThatMayPassAreTriedAgain) {
  Rng rng(1);
  for (const Code code : {Code::kUnavailable, Code::kDeadlineExceeded, Code::kAborted,
                          Code::kCanceled, Code::kOutOfRange, Code::kDataLoss})
    EXPECT_TRUE(RetryDelay({code, ""}, 0, seconds(60), rng).has_value());
  for (const Code code : {Code::kInvalidArgument, Code::kUnauthenticated, Code::kUnimplemented,
                          Code::kResourceExhausted, Code::kInternal})
    EXPECT_FALSE(RetryDelay({code, ""}, 0, seconds(60), rng).has_value());
}

TEST(RetryDelayTest, DelaysGrowAndVary) {
  Rng rng(1);
  const Error error{Code::kUnavailable, ""};
  for (int i = 0; i < 100; ++i) {
    const Duration first = RetryDelay(error, 0, seconds(60), rng).value();
    EXPECT_GE(first, std::chrono::milliseconds(2500));
    EXPECT_LT(first, std::chrono::milliseconds(7500));
    const Duration third = RetryDelay(error, 2, seconds(60), rng).value();
    EXPECT_GE(third, std::chrono::milliseconds(5625));
  }
  EXPECT_FALSE(RetryDelay(error, 0, seconds(2), rng).has_value()) << "it would end too late";
}

TEST(CollectorAddressTest, AsGrpcTakesThem) {
  const auto parse = [](std::string_view text) {
    const rpc::DialTarget address = ParseCollectorAddress(text);
    return address.unix_path.empty() ? address.host + " " + address.port : address.unix_path;
  };
  EXPECT_EQ(parse("localhost:4317"), "localhost 4317");
  EXPECT_EQ(parse("[::1]:4317"), "::1 4317");
  EXPECT_EQ(parse("::1"), "::1 443");
  EXPECT_EQ(parse("[::1]"), "::1 443");
  EXPECT_EQ(parse("collector"), "collector 443");
  EXPECT_EQ(parse("collector:"), "collector 443");
  EXPECT_EQ(parse("dns:///collector:1"), "collector 1");
  EXPECT_EQ(parse("dns:collector:1"), "collector 1");
  EXPECT_EQ(parse("dns://8.8.8.8/collector:1"), "collector 1");
  EXPECT_EQ(parse("passthrough:///10.0.0.1:1"), "10.0.0.1 1");
  EXPECT_EQ(parse("unix:///run/otel.sock"), "/run/otel.sock");
  EXPECT_EQ(parse("unix:run/otel.sock"), "run/otel.sock");
  EXPECT_EQ(parse("dns://"), " 443");
  EXPECT_EQ(parse(""), " 443");
}

}  // namespace
}  // namespace kvorum::server::tracing

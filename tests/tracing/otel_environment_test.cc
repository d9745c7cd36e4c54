#include "server/tracing/otel_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>

namespace kvorum::server::tracing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

Environment Of(const std::map<std::string, std::string>& variables) {
  return [variables](const char* name) -> std::string_view {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string_view() : found->second;
  };
}

TEST(OtelEnvironment, WithoutItTheDefaultsAreTheSdks) {
  const ExportSettings settings = ReadExportSettings(Of({}));
  EXPECT_EQ(settings.batch_spans, 512U);
  EXPECT_EQ(settings.queue_spans, 2048U);
  EXPECT_EQ(settings.batch_time, seconds(5));
  EXPECT_EQ(settings.export_time, seconds(10));
  EXPECT_THAT(settings.metadata, IsEmpty());
  EXPECT_THAT(ReadResourceAttributes(Of({})), IsEmpty());
}

TEST(OtelEnvironment, HeadersAreReadAndThoseOfTracesReplaceThem) {
  const std::string list = " Api-Key=a%20b , x = 1=2 ,novalue,sp ace=1,bad=%zz,grpc-timeout=1S,=v";
  EXPECT_THAT(ReadExportSettings(Of({{"OTEL_EXPORTER_OTLP_HEADERS", list}})).metadata,
              ElementsAre(Pair("api-key", "a b"), Pair("x", "1=2")));
  EXPECT_THAT(ReadExportSettings(Of({{"OTEL_EXPORTER_OTLP_HEADERS", list},
                                     {"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "y=1"}}))
                  .metadata,
              ElementsAre(Pair("y", "1")));
  EXPECT_THAT(ReadExportSettings(Of({{"OTEL_EXPORTER_OTLP_HEADERS", "x=a%0d%0ab"}})).metadata,
              IsEmpty());
}

TEST(OtelEnvironment, TimesAreMilliseconds) {
  const auto time = [](const char* name, const char* value) {
    return ReadExportSettings(Of({{name, value}})).export_time;
  };
  EXPECT_EQ(time("OTEL_EXPORTER_OTLP_TIMEOUT", "1500"), milliseconds(1500));
  EXPECT_EQ(time("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "2000"), milliseconds(2000));
  EXPECT_EQ(time("OTEL_EXPORTER_OTLP_TIMEOUT", "1.5s"), seconds(10));
  EXPECT_EQ(time("OTEL_EXPORTER_OTLP_TIMEOUT", "0"), seconds(30));
  EXPECT_EQ(time("OTEL_EXPORTER_OTLP_TIMEOUT", "60000"), seconds(30));
  EXPECT_EQ(time("OTEL_BSP_EXPORT_TIMEOUT", "100"), milliseconds(100));
  EXPECT_EQ(ReadExportSettings(Of({{"OTEL_BSP_SCHEDULE_DELAY", "200"}})).batch_time,
            milliseconds(200));
  EXPECT_GT(ReadExportSettings(Of({{"OTEL_BSP_SCHEDULE_DELAY", "-1"}})).batch_time,
            Duration::zero());
}

TEST(OtelEnvironment, BatchesFitIntoTheQueue) {
  const auto read = [](const char* queue, const char* batch) {
    const ExportSettings settings = ReadExportSettings(
        Of({{"OTEL_BSP_MAX_QUEUE_SIZE", queue}, {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", batch}}));
    return std::pair(settings.queue_spans, settings.batch_spans);
  };
  EXPECT_EQ(read("100", "10"), std::pair(100UL, 10UL));
  EXPECT_EQ(read("100", ""), std::pair(100UL, 100UL));
  EXPECT_EQ(read("1000", "2000"), std::pair(1000UL, 512UL));
  EXPECT_EQ(read("0", "-3"), std::pair(1UL, 1UL));
  EXPECT_EQ(read("many", "99999999999999999999"), std::pair(2048UL, 512UL));
}

TEST(OtelEnvironment, ResourceAttributesKeepAValueThatIsNoEscape) {
  EXPECT_THAT(ReadResourceAttributes(
                  Of({{"OTEL_RESOURCE_ATTRIBUTES", " b=2,a=1%2C,zone = x%,none,b=3,=v"}})),
              ElementsAre(Pair("a", "1,"), Pair("b", "3"), Pair("zone", " x%")));
}

}  // namespace
}  // namespace kvorum::server::tracing

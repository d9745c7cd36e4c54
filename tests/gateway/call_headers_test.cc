#include "server/gateway/call_headers.h"

#include <gtest/gtest.h>

namespace kvorum::server::gateway {
namespace {

using std::string_literals::operator""s;

Error ReadHeaders(rpc::CallContext& call, std::vector<rpc::HttpHeader> headers) {
  rpc::HttpRequest request;
  request.headers = std::move(headers);
  const auto read = ReadCallHeaders(request, call);
  return read.has_value() ? Error{Code::kOk, ""} : read.error();
}

TEST(CallHeadersTest, MetadataHasItsPrefix) {
  rpc::CallContext call;
  EXPECT_EQ(ReadHeaders(call, {{"grpc-metadata-hasleader", "true"},
                               {"authorization", "token"},
                               {"host", "x"},
                               {"cookie", "y"},
                               {"grpc-metadata-", "empty"},
                               {"grpc-metadata-bad name", "z"},
                               {"grpc-metadata-text", "caf\xc3\xa9"},
                               {"grpc-metadata-content-type", "w"},
                               {"grpc-metadata-x-bin", "AAE="},
                               {"grpc-metadata-y-bin", "AAE"}})
                .code,
            Code::kOk);
  std::string all;
  call.ForEachMetadata([&all](std::string_view name, std::string_view value) {
    all.append(name).append("=").append(value).append(";");
  });
  EXPECT_EQ(all, "hasleader=true;authorization=token;x-bin=\0\1;y-bin=\0\1;"s);
}

TEST(CallHeadersTest, AsManyHeadersAsFitARequestAreMetadata) {
  rpc::CallContext call;
  EXPECT_EQ(ReadHeaders(call, std::vector<rpc::HttpHeader>(4'000, {"authorization", ""})).code,
            Code::kOk);
  int count = 0;
  call.ForEachMetadata([&](std::string_view name, std::string_view) {
    if (name == "authorization") ++count;
  });
  EXPECT_EQ(count, 4'000);
}

TEST(CallHeadersTest, ABinaryValueMustBeBase64) {
  rpc::CallContext call;
  EXPECT_EQ(ReadHeaders(call, {{"grpc-metadata-x-bin", "A!"}}).message,
            "invalid binary header Grpc-Metadata-X-Bin: illegal base64 data at input byte 1");
}

TEST(CallHeadersTest, TimeLimitsHaveUnits) {
  const auto seconds = [](std::string value) {
    rpc::CallContext call;
    if (ReadHeaders(call, {{"grpc-timeout", std::move(value)}}).code != Code::kOk) return -1.0;
    if (!call.deadline()) return 0.0;
    return std::chrono::duration<double>(*call.deadline() - call.started()).count();
  };
  EXPECT_EQ(seconds("2H"), 7200);
  EXPECT_EQ(seconds("2M"), 120);
  EXPECT_EQ(seconds("2S"), 2);
  EXPECT_EQ(seconds("2m"), 0.002);
  EXPECT_EQ(seconds("2u"), 0.000002);
  EXPECT_EQ(seconds("3n"), 0.000000003);
  EXPECT_EQ(seconds("-2S"), -2);
  EXPECT_EQ(seconds("0S"), 0) << "no limit";
  EXPECT_EQ(seconds(""), 0);
  EXPECT_GT(seconds("9223372036854775807H"), 86'400 * 365.0);
  for (const char* bad : {"S", "2", "2s", "2.5S", "xS", "9223372036854775808S"})
    EXPECT_EQ(seconds(bad), -1) << bad;
}

}  // namespace
}  // namespace kvorum::server::gateway

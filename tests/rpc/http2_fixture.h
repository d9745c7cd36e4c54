// Calls over one HTTP/2 connection, for tests that look at its frames.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/rpc/http2_client.h"
#include "tests/rpc/test_server.h"

namespace kvorum::rpc {

inline constexpr std::string_view kUnary = "/test.Echo/Unary";

class Http2Test : public testing::Test {
 protected:
  // The outcome of a call with these headers; the connection must survive it.
  Http2Client::Outcome Call(const Headers& headers, const std::string& messages = Message("m")) {
    const auto outcome = client_.Call(next_stream_, headers, messages);
    EXPECT_TRUE(client_.Works(next_stream_ + 2)) << "the connection did not survive";
    next_stream_ += 4;
    return outcome;
  }
  Http2Client::Outcome CallWith(const std::string& name, const std::string& value) {
    return Call(RequestHeaders(kUnary, {{name, value}}));
  }

  TestServer server_;
  Http2Client client_{server_.port()};
  std::uint32_t next_stream_ = 1;
};

inline void ExpectError(const Http2Client::Outcome& outcome, const std::string& http_status,
                        const std::string& code, const std::string& text) {
  EXPECT_EQ(outcome.http_status, http_status);
  EXPECT_EQ(outcome.grpc_status, code);
  EXPECT_EQ(outcome.grpc_message, text);
  EXPECT_TRUE(outcome.trailers_only);
  EXPECT_EQ(outcome.message, "");
}

}  // namespace kvorum::rpc

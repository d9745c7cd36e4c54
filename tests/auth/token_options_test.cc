// The accepted and refused values of --auth-token.
#include "auth/token_options.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/api_errors.h"
#include "tests/disk/sim_file_system.h"

namespace kvorum::auth {
namespace {

using namespace std::chrono_literals;

class TokenOptionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WriteFileAtomically(fs_, "pub.pem", "the public key").has_value());
    ASSERT_TRUE(WriteFileAtomically(fs_, "priv.pem", "the private key").has_value());
  }
  void ExpectInvalid(std::string_view text) {
    const auto options = ParseTokenOptions(text, fs_);
    ASSERT_FALSE(options.has_value()) << text;
    EXPECT_EQ(options.error().code, Code::kInvalidArgument);
    EXPECT_TRUE(options.error().message.starts_with("auth: invalid auth options"))
        << options.error().message;
    EXPECT_EQ(options.error().message.find("the private key"), std::string::npos);
  }

  SimFileSystem fs_;
};

TEST_F(TokenOptionsTest, SimpleTokens) {
  EXPECT_EQ(ParseTokenOptions("simple", fs_)->kind, TokenOptions::Kind::kSimple);
  // The other options do not matter, as in etcd.
  EXPECT_EQ(ParseTokenOptions("simple,x=y", fs_)->kind, TokenOptions::Kind::kSimple);
}

TEST_F(TokenOptionsTest, NoTokens) {
  EXPECT_EQ(ParseTokenOptions("", fs_)->kind, TokenOptions::Kind::kNone);
}

TEST_F(TokenOptionsTest, JsonWebTokens) {
  const auto options = ParseTokenOptions(
      "jwt,pub-key=pub.pem,priv-key=priv.pem,sign-method=RS256,ttl=10m,leeway=1s", fs_);
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->kind, TokenOptions::Kind::kJwt);
  EXPECT_EQ(options->jwt.sign_method, "RS256");
  EXPECT_EQ(options->jwt.public_key, "the public key");
  EXPECT_EQ(options->jwt.private_key, "the private key");
  EXPECT_EQ(options->jwt.ttl, 10min);
  EXPECT_EQ(options->unknown, std::vector<std::string>{"leeway"});
}

TEST_F(TokenOptionsTest, TheTimeToLiveHasADefault) {
  EXPECT_EQ(ParseTokenOptions("jwt,sign-method=HS256", fs_)->jwt.ttl, 5min);
  EXPECT_EQ(ParseTokenOptions("jwt,sign-method=HS256,ttl=", fs_)->jwt.ttl, 5min);
}

TEST_F(TokenOptionsTest, WhatIsInvalid) {
  for (const std::string_view text :
       {"unknown", "Simple", "jwt,", "jwt,sign-method", "jwt,a=b=c", "jwt,ttl=1m,ttl=1m", "simple,",
        "simple,x", "jwt,ttl=soon", "jwt,ttl=0", "jwt,ttl=-1s", "jwt,pub-key=missing.pem",
        "jwt,priv-key=missing.pem", ",x"})
    ExpectInvalid(text);
}

}  // namespace
}  // namespace kvorum::auth

#include "server/url.h"

#include <gtest/gtest.h>

#include <string>

namespace kvorum::server {
namespace {

std::string ErrorOf(std::string_view text) {
  const auto url = Url::Parse(text);
  if (url.has_value()) return "accepted";
  EXPECT_EQ(url.error().code, Code::kInvalidArgument);
  return url.error().message;
}

TEST(UrlTest, HasHostAndPort) {
  const Url url = *Url::Parse("http://127.0.0.1:2379");
  EXPECT_EQ(url.text(), "http://127.0.0.1:2379");
  EXPECT_EQ(url.host(), "127.0.0.1");
  EXPECT_EQ(url.port(), 2379);
  EXPECT_FALSE(url.tls());
  EXPECT_FALSE(url.unix_socket());
  EXPECT_EQ(Url::Parse("http://[::1]:0")->host(), "::1");
  EXPECT_EQ(Url::Parse("http://a.example:65535/")->port(), 65535);
  EXPECT_EQ(Url::Parse("http://:80")->host(), "");
  EXPECT_TRUE(Url::Parse("https://a:1")->tls());
}

TEST(UrlTest, AUnixUrlNamesAFile) {
  const Url url = *Url::Parse("unix://localhost:20001");
  EXPECT_TRUE(url.unix_socket());
  EXPECT_FALSE(url.tls());
  EXPECT_EQ(url.socket_path(), "localhost:20001");
  EXPECT_EQ(Url::Parse("unix:///run/kvorum/sock")->socket_path(), "/run/kvorum/sock");
  EXPECT_TRUE(Url::Parse("unixs://s")->tls());
}

TEST(UrlTest, RefusalsNameTheUrl) {
  for (const std::string text : {"", "localhost:1", "ftp://a:1", "HTTP://a:1", "http:/a:1"})
    EXPECT_EQ(ErrorOf(text), "URL scheme must be http, https, unix, or unixs: " + text);
  EXPECT_EQ(ErrorOf("unix://"), "URL address names no socket: unix://");
  EXPECT_EQ(ErrorOf("http://a:1/x"), "URL must not contain a path: http://a:1/x");
  for (const std::string text : {"http://", "http://a", "http://a/", "http://[::1]"})
    EXPECT_EQ(ErrorOf(text), "URL address does not have the form \"host:port\": " + text);
  for (const std::string text : {"http://a:", "http://a:x", "http://a:1x", "http://a:65536",
                                 "http://a:-1", "http://a:+1", "http://a: 1"})
    EXPECT_EQ(ErrorOf(text), "invalid port in URL: " + text);
}

TEST(UrlTest, KnowsWhatCanBeBound) {
  for (const char* text : {"http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1",
                           "http://[fe80::1%eth0]:1", "http://:1", "http://0.0.0.0:1"})
    EXPECT_TRUE(Url::Parse(text)->IsIpOrLocalhost()) << text;
  for (const char* text : {"http://a.example:1", "http://127.0.0:1", "http://localhost.:1"})
    EXPECT_FALSE(Url::Parse(text)->IsIpOrLocalhost()) << text;
}

TEST(UrlTest, AListIsSeparatedByCommas) {
  const auto urls = ParseUrls("http://a:1, unix://s ,https://b:2");
  ASSERT_TRUE(urls.has_value());
  ASSERT_EQ(urls->size(), 3);
  EXPECT_EQ((*urls)[1].socket_path(), "s");
  EXPECT_EQ((*urls)[2].text(), "https://b:2");
  EXPECT_FALSE(ParseUrls("").has_value());
  EXPECT_FALSE(ParseUrls("http://a:1,").has_value());
  EXPECT_FALSE(ParseUrls(",http://a:1").has_value());
}

}  // namespace
}  // namespace kvorum::server

#include "base/net/url.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace kvorum::server {
namespace {

// A row of url_table.txt: words, and texts in quotes with \\xNN for what does not print.
std::vector<std::string> Fields(const std::string& line) {
  std::vector<std::string> fields;
  bool in_quotes = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      in_quotes = !in_quotes;
      if (in_quotes) fields.emplace_back();
    } else if (!in_quotes && line[i] == ' ') {
      if (line[i + 1] != '"') fields.emplace_back();
    } else if (line[i] == '\\') {
      fields.back() += static_cast<char>(std::stoi(line.substr(i + 2, 2), nullptr, 16));
      i += 3;
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

// The reaction of etcd 3.7.1 to a few hundred texts, by a program around its types.NewURLs:
// accepted, with the stored text and its target, or refused with the reason.
TEST(UrlTest, TakesAndRefusesWhatEtcdDoes) {
  std::ifstream table(KVORUM_URL_TABLE);
  std::size_t rows = 0;
  for (std::string line; std::getline(table, line); ++rows) {
    SCOPED_TRACE(line);
    const std::vector<std::string> row = Fields(line);
    ASSERT_GE(row.size(), 3);
    const auto url = Url::Parse(row[0]);
    if (row[1] == "refused") {
      ASSERT_FALSE(url.has_value()) << "taken as " << url->text();
      EXPECT_EQ(url.error().code, Code::kInvalidArgument);
      EXPECT_EQ(url.error().message, row[2]);
      continue;
    }
    ASSERT_TRUE(url.has_value()) << url.error().message;
    EXPECT_EQ(url->text(), row[2]);
    EXPECT_EQ(url->unix_socket(), row[3] == "socket");
    if (url->unix_socket()) {
      EXPECT_EQ(url->socket_path(), row.at(4));
      continue;
    }
    EXPECT_EQ(url->IsIpOrLocalhost(), row[3] == "bindable");
    EXPECT_EQ(url->host(), row.at(4));
    EXPECT_EQ(url->port_text(), row.at(5));
  }
  EXPECT_GT(rows, 350);
}

TEST(UrlTest, HasHostAndPort) {
  const Url url = *Url::Parse("http://127.0.0.1:2379");
  EXPECT_EQ(url.port(), 2379);
  EXPECT_EQ(url.dial_port(), 2379);
  EXPECT_FALSE(url.tls());
  EXPECT_TRUE(Url::Parse("https://a:1")->tls());
  EXPECT_TRUE(Url::Parse("unixs://s")->tls());
  EXPECT_FALSE(Url::Parse("unix://s")->tls());
}

TEST(UrlTest, WithoutAPortItIsAnyOneToListenOnAndTheSchemesToDial) {
  EXPECT_EQ(Url::Parse("http://a:")->port(), 0);
  EXPECT_EQ(Url::Parse("http://a:")->dial_port(), 80);
  EXPECT_EQ(Url::Parse("https://a:")->dial_port(), 443);
  EXPECT_EQ(Url::Parse("http://a:0")->dial_port(), 0);
}

TEST(UrlTest, WhatIsTakenAndCannotBeUsedIsFoundByWhoUsesIt) {
  for (const char* text :
       {"http://a:", "http://a:0", "http://a:65535", "http://a:00080", "unix:///run/s", "unix://s"})
    EXPECT_TRUE(Url::Parse(text)->CheckAddress().has_value()) << text;
  EXPECT_EQ(Url::Parse("http://a:65536")->CheckAddress().error().message,
            "address 65536: invalid port");
  EXPECT_EQ(Url::Parse("unix:s")->CheckAddress().error().message,
            "URL address names no socket: unix:s");
}

TEST(UrlTest, AListIsSeparatedByCommasAndSorted) {
  const auto urls = ParseUrls("unix://s ,http://a:1, https://b:2,HTTP://a:1");
  ASSERT_TRUE(urls.has_value());
  ASSERT_EQ(urls->size(), 3) << "each once";
  EXPECT_EQ((*urls)[0].text(), "http://a:1");
  EXPECT_EQ((*urls)[1].text(), "https://b:2");
  EXPECT_EQ((*urls)[2].socket_path(), "s");
  EXPECT_FALSE(ParseUrls("").has_value());
  EXPECT_FALSE(ParseUrls("http://a:1,").has_value());
  EXPECT_FALSE(ParseUrls(",http://a:1").has_value());
  EXPECT_EQ(ParseUrlList({}).error().message, "no valid URLs given");
  EXPECT_EQ(ParseUrlList({"http://a:1", "http://a:1"})->size(), 2);
}

}  // namespace
}  // namespace kvorum::server

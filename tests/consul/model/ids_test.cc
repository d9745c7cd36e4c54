// Names and ids as parts of keys.
#include "consul/model/ids.h"

#include <gtest/gtest.h>

#include <string>

#include "base/rng.h"
#include "sync/agent/entry.h"

namespace kvorum::consul {
namespace {

TEST(ConsulIds, PlainOnesStayAsTheyAre) {
  EXPECT_EQ(EncodeName("web"), "web");
  EXPECT_EQ(EncodeName("web.v2 x:1"), "web.v2 x:1");
  EXPECT_EQ(EncodeName("größe"), "größe");
  EXPECT_EQ(EncodeId("web-1"), "web-1");
  EXPECT_EQ(EncodeId("service:web-1"), "service:web-1");
}

TEST(ConsulIds, WhatAKeyCannotHaveIsCoded) {
  EXPECT_EQ(EncodeName("../x"), "..%2Fx");
  EXPECT_EQ(EncodeId("../x"), "%2E%2E%2Fx");
  EXPECT_EQ(EncodeName("a%2Fb"), "a%252Fb");
  EXPECT_EQ(EncodeName(std::string("a\0\n\x7f", 4)), "a%00%0A%7F");
  EXPECT_EQ(EncodeName("a\xff"), "a%FF");
}

TEST(ConsulIds, EmptyAndTooLongOnesAreRefused) {
  EXPECT_FALSE(EncodeName(""));
  EXPECT_FALSE(EncodeId(""));
  EXPECT_TRUE(EncodeName(std::string(255, 'a')));
  EXPECT_FALSE(EncodeName(std::string(256, 'a')));
  EXPECT_TRUE(EncodeName(std::string(85, '/')));
  EXPECT_FALSE(EncodeName(std::string(86, '/')));
  EXPECT_FALSE(EncodeName(std::string(1 << 20, 'a')));
}

TEST(ConsulIds, AnyBytesComeBackAndAreNamesOfTheStore) {
  Rng rng(7);
  for (int i = 0; i < 2000; ++i) {
    std::string name;
    const std::size_t size = 1 + rng() % 60;
    while (name.size() < size)
      name += rng() % 4 == 0 ? static_cast<char>(rng() % 256) : "%/.a"[rng() % 4];
    const auto as_name = EncodeName(name);
    const auto as_id = EncodeId(name);
    ASSERT_TRUE(as_name.has_value() && as_id.has_value());
    EXPECT_EQ(DecodePart(*as_name), name);
    EXPECT_EQ(DecodePart(*as_id), name);
    EXPECT_TRUE(sync::ValidateName("the name", *as_name));
    EXPECT_TRUE(sync::ValidateId(*as_id));
  }
}

}  // namespace
}  // namespace kvorum::consul

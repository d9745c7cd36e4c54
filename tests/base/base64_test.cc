#include "base/base64.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/rng.h"

namespace kvorum {
namespace {

using namespace std::string_view_literals;

TEST(Base64Test, VectorsOfRfc4648) {
  for (const auto& [bytes, text] :
       {std::pair("", ""), std::pair("f", "Zg=="), std::pair("fo", "Zm8="),
        std::pair("foo", "Zm9v"), std::pair("foob", "Zm9vYg=="), std::pair("fooba", "Zm9vYmE="),
        std::pair("foobar", "Zm9vYmFy")}) {
    EXPECT_EQ(EncodeBase64(Base64::kStandard, bytes), text);
    EXPECT_EQ(DecodeBase64(Base64::kStandard, text), bytes);
    const std::string unpadded(text, std::string_view(text).find_last_not_of('=') + 1);
    EXPECT_EQ(EncodeBase64(Base64::kUrl, bytes), unpadded);
    EXPECT_EQ(DecodeBase64(Base64::kUrl, unpadded), bytes);
    EXPECT_EQ(EncodeBase64(Base64::kUnpadded, bytes), unpadded);
    EXPECT_EQ(DecodeBase64(Base64::kUnpadded, unpadded), bytes);
    EXPECT_EQ(DecodeBase64(Base64::kUnpadded, text), bytes);
  }
}

TEST(Base64Test, TheSpellingsDifferInTwoLetters) {
  EXPECT_EQ(EncodeBase64(Base64::kStandard, "\xfb\xff"), "+/8=");
  EXPECT_EQ(EncodeBase64(Base64::kUrl, "\xfb\xff"), "-_8");
  EXPECT_FALSE(DecodeBase64(Base64::kStandard, "-_8="));
  EXPECT_FALSE(DecodeBase64(Base64::kUrl, "+/8"));
  EXPECT_EQ(DecodeBase64(Base64::kUnpadded, "+/8"), "\xfb\xff");
}

TEST(Base64Test, WhatNobodyWritesIsRefused) {
  for (const std::string_view text :
       {"Z"sv, "Zg"sv, "Zg="sv, "Zg==="sv, "===="sv, "Z==="sv, "Zm9v="sv, "Zm9v===="sv, "Zm 9"sv,
        "=Zg="sv, "Zg==\n="sv, "Zg==Zg=="sv, "Zm\0v"sv,
        "Zm\xff"
        "v"sv})
    EXPECT_FALSE(DecodeBase64(Base64::kStandard, text)) << text;
  for (const std::string_view text : {"Z"sv, "Zg=="sv, "Zh"sv, "Zm9"sv, "Zm9vZ"sv, "Zg "sv})
    EXPECT_FALSE(DecodeBase64(Base64::kUrl, text)) << text;
}

// An error of gRPC's headers tells that offset.
TEST(Base64Test, ARefusalTellsTheOffset) {
  for (const auto& [text, offset] :
       {std::pair("Z", 1), std::pair("Zg=", 2), std::pair("Zm9vZ", 5), std::pair("Zm-v", 2),
        std::pair("=", 1), std::pair("Zm9v\n", 5), std::pair("Zg==Zg==", 2)}) {
    const auto decoded = DecodeBase64(Base64::kUnpadded, text);
    ASSERT_FALSE(decoded) << text;
    EXPECT_EQ(decoded.error().offset, static_cast<std::size_t>(offset)) << text;
  }
}

// Go reads it so, and every member must come to the same hash.
TEST(Base64Test, EndsOfLinesAndUnusedBitsArePassedOverInTheStandardSpelling) {
  for (const std::string_view text : {"Zm9v\n"sv, "\r\nZm\n9v"sv, "Z\nm\n9\nv\r"sv})
    EXPECT_EQ(DecodeBase64(Base64::kStandard, text), "foo") << text;
  for (const std::string_view text : {"Zg=="sv, "Zh=="sv, "Zg=\n=\n"sv})
    EXPECT_EQ(DecodeBase64(Base64::kStandard, text), "f") << text;
  EXPECT_EQ(DecodeBase64(Base64::kStandard, "Zm9="), "fo");
  EXPECT_FALSE(DecodeBase64(Base64::kUrl, "Zm9v\n"));
}

TEST(Base64Test, AnyBytesComeBack) {
  Rng rng(5);
  for (int round = 0; round < 1000; ++round) {
    std::string bytes(rng.Below(50), '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng.Below(256));
    for (const Base64 spelling : {Base64::kStandard, Base64::kUrl, Base64::kUnpadded})
      ASSERT_EQ(DecodeBase64(spelling, EncodeBase64(spelling, bytes)), bytes);
  }
}

}  // namespace
}  // namespace kvorum

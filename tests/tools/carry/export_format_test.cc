#include "tools/carry/export_format.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/damage.h"

namespace kvorum::ctl {
namespace {

using namespace std::string_literals;

std::string ExportErrorOf(std::string_view text) {
  const auto line = ReadExportLine(text);
  return line ? "none" : line.error().message;
}

TEST(ExportFormatTest, LinesAreWrittenAsTheHeaderTells) {
  EXPECT_EQ(WriteExportLine(ExportHead{.cluster = 255, .revision = 7, .prefix = "a", .keys = 2}),
            R"({"format":"kvorum-export-1","cluster":"ff","revision":7,"prefix":"YQ==","keys":2})");
  EXPECT_EQ(WriteExportLine(ExportedKey{.key = "k",
                                        .value = "v",
                                        .create_revision = 2,
                                        .mod_revision = 3,
                                        .version = 2,
                                        .lease = 0x694d77aa9e38260f,
                                        .ttl_s = 60}),
            R"({"key":"aw==","value":"dg==","create_revision":2,"mod_revision":3,"version":2,)"
            R"("lease":"694d77aa9e38260f","ttl":60})");
  EXPECT_EQ(WriteExportLine(ExportEnd{.keys = 2}), R"({"end":true,"keys":2})");
}

TEST(ExportFormatTest, WhatIsWrittenIsRead) {
  const ExportedKey key{.key = "\0\xff\n"s,
                        .value = "",
                        .create_revision = 2,
                        .mod_revision = 3,
                        .version = 2,
                        .lease = -5,
                        .ttl_s = 9};
  for (const ExportLine& line :
       {ExportLine(
            ExportHead{.cluster = UINT64_MAX, .revision = INT64_MAX, .prefix = "", .keys = 0}),
        ExportLine(key), ExportLine(ExportEnd{.keys = 1})})
    EXPECT_EQ(ReadExportLine(WriteExportLine(line)), line);
}

TEST(ExportFormatTest, KeyAndValueAreEnough) {
  EXPECT_EQ(ReadExportLine(R"({"key":"aw==","value":"dg=="})"),
            ExportLine(ExportedKey{.key = "k", .value = "v"}));
}

TEST(ExportFormatTest, WhatIsWrongIsNamed) {
  EXPECT_EQ(ExportErrorOf(""), "not a JSON object");
  EXPECT_EQ(ExportErrorOf("[1]"), "not a JSON object");
  EXPECT_EQ(ExportErrorOf(R"({"key":"aw==","value":"dg==")"), "not a JSON object");
  EXPECT_EQ(ExportErrorOf(R"({"format":"other"})"), "not an export of this format");
  EXPECT_EQ(ExportErrorOf(R"({"key":"aw=="})"), "\"value\" is missing or wrong");
  EXPECT_EQ(ExportErrorOf(R"({"key":"aw==","value":"d"})"), "\"value\" is missing or wrong");
  EXPECT_EQ(ExportErrorOf(R"({"key":"","value":"dg=="})"), "\"key\" is missing or wrong");
  EXPECT_EQ(ExportErrorOf(R"({"key":7,"value":"dg=="})"), "\"key\" is missing or wrong");
  EXPECT_EQ(ExportErrorOf(R"({"key":"aw==","value":"dg==","lease":"xyz"})"),
            "\"lease\" is missing or wrong");
  EXPECT_EQ(ExportErrorOf(R"({"key":"aw==","value":"dg==","version":"2"})"),
            "\"version\" is missing or wrong");
  EXPECT_EQ(ExportErrorOf(R"({"end":true})"), "\"keys\" is missing or wrong");
}

TEST(ExportFormatTest, DamagedLinesAreRefusedOrLines) {
  const ExportLine lines[] = {
      ExportHead{.cluster = 255, .revision = 7, .prefix = "a", .keys = 2},
      ExportedKey{.key = "k", .value = "value", .version = 2, .lease = 9, .ttl_s = 60},
      ExportEnd{.keys = 2}};
  for (const ExportLine& line : lines) {
    const std::string text = WriteExportLine(line);
    ForEachCut(text, [](std::string_view cut) { EXPECT_FALSE(ReadExportLine(cut)); });
    ForEachFlip(text, [](std::string_view flipped, std::size_t) {
      const auto read = ReadExportLine(flipped);
      if (!read) return;
      const std::string written = WriteExportLine(*read);
      const auto again = ReadExportLine(written);
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(WriteExportLine(*again), written);
    });
  }
}

}  // namespace
}  // namespace kvorum::ctl

// kvorumutl's numbers in every output format, as etcdutl prints them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "datadir/database_status.h"
#include "mvcc/hash.h"
#include "tools/utl_commands.h"
#include "tools/utl_printer.h"

namespace kvorum::utl {
namespace {

struct Shown {
  int code = 0;
  std::string out;
  std::string error;
};

class UtlFormatsTest : public testing::Test {
 protected:
  // A command that prints, in place of one that reads a file first.
  static Shown Show(const std::string& format,
                    const std::function<ctl::Outcome<void>(const ctl::Invocation&)>& print) {
    ctl::Command root = KvorumutlCommand();
    root.children = {{.use = "print", .run = [&](ctl::Invocation& invocation) {
                        const auto known = CheckFormat(invocation);
                        return known ? print(invocation) : known;
                      }}};
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    ctl::World world{.in = in, .out = out, .err = err, .environment = {}};
    const std::vector<std::string> line = {"print", "-w", format};
    const int code = ctl::Execute(root, line, world);
    return {.code = code, .out = out.str(), .error = err.str()};
  }
  static Shown Status(const std::string& format) {
    return Show(format, [](const ctl::Invocation& invocation) {
      return PrintStatus(invocation, {.hash = 0xb844f9c1,
                                      .revision = 7,
                                      .total_keys = 4,
                                      .total_size_bytes = 20480,
                                      .version = "3.7.0"});
    });
  }
  static Shown HashKv(const std::string& format) {
    return Show(format, [](const ctl::Invocation& invocation) {
      return PrintHashKv(invocation, {.hash = 942876398, .revision = 7, .compact_revision = -1});
    });
  }
};

TEST_F(UtlFormatsTest, Simple) {
  EXPECT_EQ(Status("simple").out, "b844f9c1, 7, 4, 20 kB, 3.7.0\n");
  EXPECT_EQ(HashKv("simple").out, "942876398, 7, -1\n");
}

TEST_F(UtlFormatsTest, Json) {
  EXPECT_EQ(Status("json").out,
            "{\"hash\":3091528129,\"revision\":7,\"totalKey\":4,\"totalSize\":20480,"
            "\"version\":\"3.7.0\"}\n");
  EXPECT_EQ(HashKv("json").out, "{\"hash\":942876398,\"hashRevision\":7,\"compactRevision\":-1}\n");
}

TEST_F(UtlFormatsTest, Fields) {
  EXPECT_EQ(Status("fields").out,
            "\"Hash\" : 3091528129\n\"Revision\" : 7\n\"Keys\" : 4\n\"Size\" : 20480\n"
            "\"Version\" : 3.7.0\n");
  EXPECT_EQ(HashKv("fields").out,
            "\"Hash\" : 942876398\n\"Hash revision\" : 7\n\"Compact revision\" : -1\n");
}

TEST_F(UtlFormatsTest, Table) {
  EXPECT_EQ(Status("table").out,
            "┌──────────┬──────────┬────────────┬────────────┬─────────┐\n"
            "│   HASH   │ REVISION │ TOTAL KEYS │ TOTAL SIZE │ VERSION │\n"
            "├──────────┼──────────┼────────────┼────────────┼─────────┤\n"
            "│ b844f9c1 │        7 │          4 │      20 kB │   3.7.0 │\n"
            "└──────────┴──────────┴────────────┴────────────┴─────────┘\n");
  EXPECT_EQ(HashKv("table").out,
            "┌───────────┬───────────────┬──────────────────┐\n"
            "│   HASH    │ HASH REVISION │ COMPACT REVISION │\n"
            "├───────────┼───────────────┼──────────────────┤\n"
            "│ 942876398 │             7 │               -1 │\n"
            "└───────────┴───────────────┴──────────────────┘\n");
}

TEST_F(UtlFormatsTest, OthersAreRefused) {
  EXPECT_EQ(Status("protobuf").error, "Error: protobuf not supported as output format\n");
  EXPECT_EQ(Status("protobuf").code, 4);
  EXPECT_EQ(Status("xml").error, "Error: unsupported output format\n");
  EXPECT_EQ(Status("xml").code, 4);
}

}  // namespace
}  // namespace kvorum::utl

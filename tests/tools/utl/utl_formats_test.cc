// kvorumutl's numbers in every output format, as etcdutl prints them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "datadir/database_status.h"
#include "datadir/verify.h"
#include "mvcc/store/hash.h"
#include "tools/utl/utl_commands.h"
#include "tools/utl/utl_printer.h"

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
  // A directory whose log is damaged.
  static Shown Verified(const std::string& format) {
    return Show(format, [](const ctl::Invocation& invocation) {
      datadir::Verified found{.owner = datadir::DatabaseOwner::kEtcd};
      found.last_index = raft::Index{9};
      found.database = {.applied = 7,
                        .records = 3,
                        .revision = 4,
                        .size_bytes = 20480,
                        .storage_version = "3.7.0"};
      found.problems = {"the log is \"damaged\""};
      return PrintVerified(invocation, found);
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

TEST_F(UtlFormatsTest, WhatDamageKeepsFromBeingKnownIsUnknown) {
  EXPECT_EQ(Verified("simple").out,
            "Member unknown of cluster unknown, a directory of etcd\n"
            "Log: entries unknown to 9, committed to unknown, snapshot at unknown\n"
            "Database: at entry 7, revision 4, 3 records, 20 kB, storage version 3.7.0\n"
            "Problem: the log is \"damaged\"\n"
            "The member would not start.\n");
  EXPECT_EQ(
      Verified("json").out,
      R"({"wouldStart":false,"owner":"etcd","memberID":null,"clusterID":null,)"
      R"("log":{"firstIndex":null,"lastIndex":9,"commit":null,"snapshotIndex":null},)"
      R"("database":{"consistentIndex":7,"revision":4,"records":3,"sizeBytes":20480,)"
      R"("storageVersion":"3.7.0"},"problems":["the log is \"damaged\""],"lost":[],"notes":[]})"
      "\n");
  EXPECT_EQ(Verified("fields").out,
            "\"WouldStart\" : false\n\"Owner\" : etcd\n\"MemberID\" : unknown\n"
            "\"ClusterID\" : unknown\n\"FirstIndex\" : unknown\n\"LastIndex\" : 9\n"
            "\"Commit\" : unknown\n\"SnapshotIndex\" : unknown\n\"ConsistentIndex\" : 7\n"
            "\"Revision\" : 4\n\"Records\" : 3\n\"Size\" : 20480\n"
            "\"StorageVersion\" : 3.7.0\n\"Problem\" : \"the log is \\\"damaged\\\"\"\n");
  const std::string table = Verified("table").out;
  EXPECT_THAT(table, testing::HasSubstr("│ WOULD START │ OWNER │ MEMBER ID │"));
  EXPECT_THAT(table, testing::HasSubstr("│       false │  etcd │   unknown │"));
  EXPECT_THAT(table, testing::HasSubstr("│ Problem │ the log is \"damaged\" │"));
  EXPECT_EQ(Verified("protobuf").code, 4);
}

TEST_F(UtlFormatsTest, OthersAreRefused) {
  EXPECT_EQ(Status("protobuf").error, "Error: protobuf not supported as output format\n");
  EXPECT_EQ(Status("protobuf").code, 4);
  EXPECT_EQ(Status("xml").error, "Error: unsupported output format\n");
  EXPECT_EQ(Status("xml").code, 4);
}

}  // namespace
}  // namespace kvorum::utl

// The commands about an archive in a folder: what they restore, show and export is what the source
// had.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "api/alarm.h"
#include "api/member.h"
#include "archive/format/names.h"
#include "archive/format/records.h"
#include "archive/store/folder_store.h"
#include "datadir/archive_origin.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/store/store.h"
#include "tests/server/replay/archived_source.h"
#include "tests/tools/run_line.h"
#include "tools/utl/utl_archive_target.h"
#include "tools/utl/utl_commands.h"

namespace kvorum::utl {
namespace {

using server::ArchivedSource;
using testing::HasSubstr;
using testing::Not;

class UtlArchiveTest : public testing::Test {
 protected:
  UtlArchiveTest() : store_(OpenStore()), source_(*store_, 11) {
    source_.Ship();
    source_.TakeBase();
    source_.AddRandom(60);
    source_.Ship();
  }

  ctl::Ended Run(std::vector<std::string> line) {
    line.insert(line.begin(), "archive");
    line.insert(line.end(), {"--url", "file://" + folder_.path() + "/archive"});
    return ctl::RunLine(KvorumutlCommand(), line);
  }
  ctl::Ended Restore(const std::string& name, std::vector<std::string> more) {
    more.insert(more.begin(), {"restore", "--data-dir", DataDir(name)});
    return Run(more);
  }
  std::string DataDir(const std::string& name) const { return folder_.path() + "/" + name; }
  // kvorumutl's own hash of the restored keys.
  std::uint32_t HashOf(const std::string& name) {
    const ctl::Ended ended =
        ctl::RunLine(KvorumutlCommand(), {"hashkv", DataDir(name), "-w", "json"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    return nlohmann::json::parse(ended.out).at("hash").get<std::uint32_t>();
  }
  static std::string ClusterIdIn(const std::string& lines) {
    const std::size_t at = lines.find("\"cluster-id\": ");
    return at == std::string::npos ? "none" : lines.substr(at, 35);
  }

  server::TestFolder folder_;
  archive::StopSignal stop_;
  std::unique_ptr<archive::ObjectStore> store_;
  ArchivedSource source_;

 private:
  std::unique_ptr<archive::ObjectStore> OpenStore() {
    return std::move(archive::FolderStore::Open(PosixFileSystem(), SystemClock(), stop_,
                                                {.folder = folder_.path() + "/archive", .seed = 7}))
        .value();
  }
};

TEST_F(UtlArchiveTest, AMemberIsRestoredToARevision) {
  const std::int64_t revision = source_.StateAt(source_.last()).revision - 10;
  const raft::Index index = source_.FirstWith(revision);
  const ctl::Ended ended = Restore("m1", {"--to-revision", std::to_string(revision), "-w", "json"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json.at("history"), "00000000000000ab");
  EXPECT_EQ(json.at("index"), index.value());
  EXPECT_EQ(json.at("revision"), revision);
  EXPECT_TRUE(ParseTime(json.at("time").get<std::string>()).has_value());
  EXPECT_EQ(HashOf("m1"), source_.StateAt(index).hash);
  const auto origin = datadir::ReadArchiveOrigin(PosixFileSystem(), DataDir("m1"));
  ASSERT_TRUE(origin.has_value());
  EXPECT_EQ(*origin, (datadir::ArchiveOrigin{.reason = "restore",
                                             .history = ArchivedSource::kHistory.value(),
                                             .index = index,
                                             .revision = revision}));
  EXPECT_THAT(ended.err, HasSubstr("refuses to join the archived one"));
  const ctl::Ended verified =
      ctl::RunLine(KvorumutlCommand(), {"verify", "--data-dir", DataDir("m1")});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
}

TEST_F(UtlArchiveTest, IndexTimeAndTheLatestStateAreRestored) {
  const raft::Index index = source_.last() - 7;
  ASSERT_EQ(Restore("index", {"--to-index", std::to_string(index.value())}).code, 0);
  EXPECT_EQ(HashOf("index"), source_.StateAt(index).hash);
  const archive::UnixMillis time = source_.StateAt(index).time_ms;
  ASSERT_EQ(Restore("time", {"--to-time", TimeText(time)}).code, 0);
  EXPECT_EQ(HashOf("time"), source_.StateAt(source_.LastMarkAt(time)).hash);
  const ctl::Ended latest = Restore("latest", {"--latest"});
  ASSERT_EQ(latest.code, 0) << latest.err;
  EXPECT_EQ(HashOf("latest"), source_.StateAt(source_.last()).hash);
  EXPECT_THAT(latest.out, HasSubstr("00000000000000ab, "));
}

TEST_F(UtlArchiveTest, AWarningTellsWhatTheMarkKnowsOfAndTheObjectsDoNot) {
  const archive::UnixMillis end = source_.StateAt(source_.last()).time_ms;
  archive::Mark mark = {
      .time_ms = end + 5'000, .index = source_.last(), .revision = 1, .member = 1};
  const auto put_mark = [&] {
    const std::string key =
        archive::KeyText({.history = ArchivedSource::kHistory, .name = archive::MarkName{}});
    ASSERT_TRUE(store_->Put(key, ToJson(mark), {}).has_value());
  };
  put_mark();
  const std::string missing = "newer changes were archived, and their objects are missing";
  const std::string unknown = "does not say what was changed before the time";
  EXPECT_THAT(Restore("a", {"--latest"}).err, Not(HasSubstr(missing)));
  EXPECT_THAT(Restore("b", {"--to-time", TimeText(end + 4'000)}).err, Not(HasSubstr(unknown)));
  EXPECT_THAT(Restore("c", {"--to-time", TimeText(end + 6'000)}).err, HasSubstr(unknown));
  ++mark.index;
  put_mark();
  EXPECT_THAT(Restore("d", {"--latest"}).err, HasSubstr(missing));
  EXPECT_THAT(Restore("e", {"--to-time", TimeText(end + 4'000)}).err, HasSubstr(unknown));
  EXPECT_THAT(Run({"show", "--key", "none"}).err, HasSubstr(missing));
  EXPECT_THAT(Restore("f", {"--to-time", TimeText(end - 1)}).err, Not(HasSubstr(unknown)));
}

TEST_F(UtlArchiveTest, MembersOfOneStateAreOfOneCluster) {
  const std::string cluster = "a=http://localhost:2380,b=http://localhost:2381";
  const std::string last = std::to_string(source_.last().value());
  const auto restore = [&](const std::string& name, const std::string& url,
                           const std::string& index) {
    const ctl::Ended ended =
        Restore(name + index, {"--to-index", index, "--name", name, "--initial-cluster", cluster,
                               "--initial-advertise-peer-urls", url});
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ClusterIdIn(ended.err);
  };
  const std::string a = restore("a", "http://localhost:2380", last);
  EXPECT_EQ(restore("b", "http://localhost:2381", last), a);
  const std::string before = std::to_string(source_.last().value() - 1);
  EXPECT_NE(restore("b", "http://localhost:2381", before), a);
  EXPECT_EQ(HashOf("a" + last), HashOf("b" + last));
}

TEST_F(UtlArchiveTest, AlarmsStayWithTheMemberOfTheSameName) {
  source_.Raise(server::AlarmType::kNoSpace);
  source_.Ship();
  const ctl::Ended ended =
      Restore("alarmed", {"--latest", "--initial-cluster",
                          "zero=http://localhost:2379,default=http://localhost:2380"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto backend = mvcc::OpenLmdbBackend(
      {.path = DataDir("alarmed") + "/member/snap/db", .must_exist = true, .read_only = true});
  ASSERT_TRUE(backend.has_value()) << backend.error().message;
  const auto reader = (*backend)->NewReader();
  ASSERT_TRUE(reader.has_value());
  raft::MemberId heir = raft::kNone;
  const auto members =
      (*reader)->Scan(mvcc::Bucket::kMembers, {}, {}, [&](std::string_view, std::string_view json) {
        const auto member = server::DecodeMemberJson(json);
        if (member.has_value() && member->peer_urls.front().ends_with("2380")) heir = member->id;
        return true;
      });
  ASSERT_TRUE(members.has_value());
  std::vector<server::Alarm> alarms;
  const auto scanned =
      (*reader)->Scan(mvcc::Bucket::kAlarm, {}, {}, [&](std::string_view key, std::string_view) {
        alarms.push_back(server::DecodeAlarm(key).value_or(server::Alarm{}));
        return true;
      });
  ASSERT_TRUE(scanned.has_value());
  ASSERT_EQ(alarms.size(), 1U);
  EXPECT_EQ(alarms[0], (server::Alarm{.member = heir, .type = server::AlarmType::kNoSpace}));
  EXPECT_NE(heir, ArchivedSource::kMember);
}

TEST_F(UtlArchiveTest, ADamagedObjectIsNamedAndNothingIsLeftBehind) {
  ASSERT_TRUE(store_->Put(source_.logs()[1], "damage", {}).has_value());
  const ctl::Ended ended = Restore("damaged", {"--latest"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("Error: " + source_.logs()[1]));
  EXPECT_THAT(ended.err, HasSubstr("can be restored"));
  EXPECT_FALSE(std::filesystem::exists(DataDir("damaged")));
  const raft::Index base = source_.bases().front().index;
  EXPECT_EQ(Restore("base", {"--to-index", std::to_string(base.value())}).code, 0);
}

TEST_F(UtlArchiveTest, WhatTheArchiveDoesNotHoldIsSaid) {
  const ctl::Ended ended = Restore("absent", {"--to-revision", "1000000"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("the archive does not hold revision 1000000"));
  EXPECT_THAT(ended.err, HasSubstr("what can be restored: revisions"));
  EXPECT_FALSE(std::filesystem::exists(DataDir("absent")));
}

TEST_F(UtlArchiveTest, ALineThatCannotBeMeantIsRefused) {
  EXPECT_THAT(Restore("x", {}).err, HasSubstr("exactly one of --to-revision"));
  EXPECT_THAT(Restore("x", {"--latest", "--to-index", "5"}).err, HasSubstr("exactly one of"));
  EXPECT_THAT(Restore("x", {"--to-time", "yesterday"}).err, HasSubstr("neither a time"));
  EXPECT_THAT(Restore("x", {"--latest", "--history", "xyz"}).err, HasSubstr("16 lower-case"));
  EXPECT_THAT(Restore("x", {"--latest", "--path-style", "no"}).err, HasSubstr("--path-style"));
  EXPECT_EQ(ctl::RunLine(KvorumutlCommand(), {"archive", "restore", "--latest"}).err,
            "Error: --url is required\n");
  EXPECT_THAT(Run({"show", "--key", "a", "--prefix", "b"}).err, HasSubstr("exactly one of --key"));
}

TEST_F(UtlArchiveTest, AKeyIsShownAsItWas) {
  source_.Add(server::RequestKind::kPut, server::PutBody("shown", "before"));
  const std::int64_t before = source_.StateAt(source_.last()).revision;
  source_.Add(server::RequestKind::kPut, server::PutBody("shown", "after"));
  source_.Add(server::RequestKind::kCompaction, server::CompactBody(before + 1));
  source_.Ship();
  server::TestFolder scratch;
  const char* set = std::getenv("TMPDIR");
  const std::string kept = set == nullptr ? "" : set;
  ::setenv("TMPDIR", scratch.path().c_str(), 1);
  const ctl::Ended then = Run({"show", "--key", "shown", "--revision", std::to_string(before)});
  const ctl::Ended now = Run({"show", "--key", "shown"});
  const ctl::Ended json = Run({"show", "--prefix", "show", "-w", "json"});
  if (set == nullptr) {
    ::unsetenv("TMPDIR");
  } else {
    ::setenv("TMPDIR", kept.c_str(), 1);
  }
  EXPECT_EQ(then.out, "shown\nbefore\n") << then.err;
  EXPECT_EQ(now.out, "shown\nafter\n") << now.err;
  EXPECT_THAT(json.out, HasSubstr("\"value\":\"YWZ0ZXI=\"")) << json.err;
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path())) << "the state is removed";
}

// Compacted revisions are among them: the log has every change.
TEST_F(UtlArchiveTest, EveryChangeSinceARevisionIsExported) {
  const std::int64_t since = source_.bases().front().revision;
  const std::int64_t last = source_.StateAt(source_.last()).revision;
  const ctl::Ended ended = Run({"export", "--since", std::to_string(since)});
  ASSERT_EQ(ended.code, 0) << ended.err;
  std::set<std::int64_t> revisions;
  std::istringstream lines(ended.out);
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    revisions.insert(json.at("revision").get<std::int64_t>());
    EXPECT_EQ(json.contains("value"), json.at("type") == "put");
  }
  EXPECT_EQ(*revisions.begin(), since + 1);
  EXPECT_EQ(*revisions.rbegin(), last);
  EXPECT_EQ(revisions.size(), static_cast<std::size_t>(last - since));
  const ctl::Ended later = Run({"export", "--since", std::to_string(last - 1)});
  EXPECT_THAT(later.out, HasSubstr("{\"revision\":" + std::to_string(last)));
  EXPECT_THAT(later.out, Not(HasSubstr("{\"revision\":" + std::to_string(last - 1) + ",")));
}

TEST(UtlArchiveTimeTest, TimesAreThoseOfRfc3339AndUnixSeconds) {
  EXPECT_EQ(ParseTime("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(ParseTime("2026-11-28T10:00:00Z"), 1'795'860'000'000);
  EXPECT_EQ(ParseTime("2026-11-28T10:00:00.1239Z"), 1'795'860'000'123);
  EXPECT_EQ(ParseTime("2026-11-28T12:00:00.5+02:00"), 1'795'860'000'500);
  EXPECT_EQ(ParseTime("2026-11-28t04:30:00-05:30"), 1'795'860'000'000);
  EXPECT_EQ(ParseTime("1795860000"), 1'795'860'000'000);
  EXPECT_EQ(ParseTime("1795860000.25"), 1'795'860'000'250);
  for (const char* text : {"", "now", "2026-11-28", "2026-11-28T10:00:00", "2026-13-28T10:00:00Z",
                           "2026-02-30T10:00:00Z", "2026-11-28T24:00:00Z", "2026-11-28T10:00:00.Z",
                           "2026-11-28T10:00:00Z ", "2026-11-28T10:00:00+2:00", "-5", "12.",
                           "99999999999999999999", "1969-12-31T23:59:59Z"})
    EXPECT_FALSE(ParseTime(text).has_value()) << text;
  EXPECT_EQ(TimeText(1'795'860'000'007), "2026-11-28T10:00:00.007Z");
  EXPECT_EQ(ParseTime(TimeText(1'795'860'000'007)), 1'795'860'000'007);
}

}  // namespace
}  // namespace kvorum::utl

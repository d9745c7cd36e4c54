// A folder of definitions: files of our own form beside files of Consul's.
#include "tools/sync/service_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "consul/model/definitions.h"
#include "tests/sync/fake_store.h"
#include "tests/sync/manual_executor.h"

namespace kvorum::ctl {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

class ServiceFolderTest : public testing::Test {
 protected:
  ServiceFolderTest() { std::filesystem::create_directory(folder_); }
  ~ServiceFolderTest() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  ServiceFolder Read() const { return ReadServiceFolder(folder_.string(), "10.0.0.9").value(); }
  FolderChanges Apply() { return ApplyServiceFolder(Read(), syncer_); }
  std::vector<std::string> Ids() {
    std::vector<std::string> ids;
    for (const auto& listed : syncer_.List(sync::Registry::Which::kVisible))
      ids.push_back(listed.entry.id);
    return ids;
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      ("service-folder-" +
       std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
  sync::FakeStore store_;
  sync::ManualExecutor executor_;
  sync::Syncer syncer_{store_, executor_, {.node = "n1", .seed = 3}};
};

TEST_F(ServiceFolderTest, AFileOfOurOwnFormIsOneEntry) {
  Write("a.json", R"({"id":"a","name":"web","value":"10.0.0.1:80","checks":[
      {"id":"up","kind":"tcp","target":"10.0.0.1:80","interval":"5s","timeout_ns":1000000000}]})");
  const ServiceFolder folder = Read();
  EXPECT_THAT(folder.bad, IsEmpty());
  ASSERT_THAT(folder.entries, SizeIs(1));
  EXPECT_EQ(folder.entries[0].source, "a.json");
  const sync::CheckDefinition& check = folder.entries[0].checks.at(0).definition;
  EXPECT_EQ(check.interval, 5s);
  EXPECT_EQ(check.timeout, 1s);
}

TEST_F(ServiceFolderTest, AFileOfConsulsFormHoldsServicesAndChecks) {
  Write("consul.json", R"({
      "services": [
        {"name":"web","port":80,"tags":["a"],"check":{"http":"http://10.0.0.1/","interval":"10s"}},
        {"id":"db-1","name":"db","address":"10.0.0.2","port":5432,"meta":{"k":"v"}}],
      "check": {"name":"disk","args":["/bin/true"],"interval":"1m"}})");
  const ServiceFolder folder = Read();
  ASSERT_THAT(folder.bad, IsEmpty()) << folder.bad[0].problem;
  ASSERT_THAT(folder.entries, SizeIs(3));
  EXPECT_EQ(folder.entries[0].id, "web");
  EXPECT_EQ(folder.entries[0].value, "10.0.0.9:80") << "the node's address";
  EXPECT_EQ(folder.entries[0].checks.at(0).definition.id, "service:web");
  EXPECT_EQ(folder.entries[1].id, "db-1");
  EXPECT_EQ(folder.entries[1].value, "10.0.0.2:5432");
  EXPECT_EQ(folder.entries[2].kind, sync::EntryKind::kNode);
  for (const sync::Entry& entry : folder.entries) EXPECT_EQ(entry.source, "consul.json");
}

TEST_F(ServiceFolderTest, AServiceStaysInMaintenanceWhenItsFileChanges) {
  Write("web.json", R"({"service":{"name":"web","port":80}})");
  EXPECT_EQ(Apply().registered, 1U);
  sync::Entry entry = syncer_.List(sync::Registry::Which::kVisible).at(0).entry;
  entry.checks.push_back(consul::MaintenanceCheck("web", "work"));
  ASSERT_TRUE(syncer_.Register(entry).has_value());
  EXPECT_EQ(Apply().registered, 0U) << "the file is as it was";
  Write("web.json", R"({"service":{"name":"web","port":81}})");
  EXPECT_EQ(Apply().registered, 1U);
  const sync::Entry after = syncer_.List(sync::Registry::Which::kVisible).at(0).entry;
  EXPECT_EQ(after.value, "10.0.0.9:81");
  ASSERT_THAT(after.checks, SizeIs(1));
  EXPECT_EQ(after.checks[0].health, sync::Health::kCritical);
}

TEST_F(ServiceFolderTest, HclIsRefusedByName) {
  Write("web.hcl", "service { name = \"web\" }");
  Write("a.json", R"({"id":"a","name":"web","value":""})");
  Write("notes.txt", "not a definition");
  const ServiceFolder folder = Read();
  EXPECT_THAT(folder.entries, SizeIs(1));
  ASSERT_THAT(folder.bad, SizeIs(1));
  EXPECT_EQ(folder.bad[0].name, "web.hcl");
  EXPECT_THAT(folder.bad[0].problem, AllOf(StartsWith(folder_.string()), HasSubstr("web.hcl"),
                                           HasSubstr("HCL is not read")));
}

TEST_F(ServiceFolderTest, ABadFileIsNamedAndTheOthersCount) {
  Write("a.json", R"({"service":{"name":"web","grpc":true}})");
  Write("b.json", R"({"service":{"name":"db","check":{"ttl":"x"}}})");
  Write("c.json", R"({"services":[{"name":"ok"}]})");
  Write("d.json", "{");
  const ServiceFolder folder = Read();
  EXPECT_THAT(folder.entries, SizeIs(1));
  ASSERT_THAT(folder.bad, SizeIs(3));
  for (const auto& bad : folder.bad) EXPECT_THAT(bad.problem, HasSubstr("/" + bad.name + ": "));
}

// In either form, with one form's members in the other's place among them.
TEST_F(ServiceFolderTest, AMemberThatIsNotKnownIsNamed) {
  const auto why = [&](const std::string& text) {
    Write("a.json", text);
    const ServiceFolder folder = Read();
    return folder.bad.empty() ? std::string() : folder.bad[0].problem;
  };
  EXPECT_THAT(why(R"({"name":"web","port":80,"checks":[{"ttl":"10s"}]})"),
              EndsWith("a.json: \"port\" is not a member of an entry"));
  EXPECT_THAT(why(R"({"id":"web","name":"web","checks":[{"id":"up","ttl":"10s"}]})"),
              EndsWith("a.json: \"ttl\" is not a member of a check"));
  EXPECT_THAT(why(R"({"id":"web","name":"web","tags":["a"]})"),
              EndsWith("a.json: \"tags\" is not a member of an entry"));
  EXPECT_THAT(why(R"({"service":{"name":"web","value":"10.0.0.1:80"}})"),
              EndsWith("a.json: invalid config key value"));
  EXPECT_THAT(why(R"({"service":{"name":"web","weights":{"passing":2,"failing":1}}})"),
              EndsWith("a.json: invalid config key weights.failing"));
  EXPECT_THAT(why(R"({"service":{"name":"web","tagged_addresses":{"lan":{"addr":"10.0.0.1"}}}})"),
              EndsWith("a.json: invalid config key tagged_addresses.lan.addr"));
  EXPECT_THAT(why(R"({"service":{"name":"web"},"name":"web"})"),
              EndsWith("a.json: \"service\" is not a member of an entry"));
  EXPECT_EQ(why(R"({"service":{"name":"web","weights":{"passing":2,"warning":1},
                    "tagged_addresses":{"lan":{"address":"10.0.0.1","port":80}}}})"),
            "");
}

TEST_F(ServiceFolderTest, AFileThatOthersMayHaveWrittenIsBad) {
  Write("a.json", R"({"service":{"name":"web"}})");
  Write("b.json", R"({"service":{"name":"db"}})");
  std::filesystem::permissions(folder_ / "a.json", std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  const ServiceFolder folder = Read();
  EXPECT_THAT(folder.entries, SizeIs(1));
  ASSERT_THAT(folder.bad, SizeIs(1));
  EXPECT_THAT(folder.bad[0].problem, HasSubstr("a.json: others may write it"));
}

TEST_F(ServiceFolderTest, AFolderThatOthersMayWriteIsNotRead) {
  Write("a.json", R"({"service":{"name":"web"}})");
  std::filesystem::permissions(folder_, std::filesystem::perms::group_write,
                               std::filesystem::perm_options::add);
  const auto read = ReadServiceFolder(folder_.string());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(read.error().message, StartsWith(folder_.string() + ": others may write it"));
}

TEST_F(ServiceFolderTest, OfTwoFilesWithOneIdTheFirstCounts) {
  Write("a.json", R"({"id":"web","name":"web","value":""})");
  Write("b.json", R"({"services":[{"name":"db"},{"name":"web"}]})");
  Write("c.json", R"({"service":{"name":"db"}})");
  const ServiceFolder folder = Read();
  ASSERT_THAT(folder.bad, SizeIs(1));
  EXPECT_THAT(folder.bad[0].problem, HasSubstr("b.json: another file has the id web"));
  EXPECT_THAT(folder.entries, SizeIs(2)) << "nothing of the bad file takes an id";
}

TEST_F(ServiceFolderTest, WhatWasRaisedToItsLeastIsToldWithTheFile) {
  Write("a.json",
        R"({"service":{"name":"web","check":{"http":"http://10.0.0.1/","interval":"10ms"}}})");
  const ServiceFolder folder = Read();
  EXPECT_THAT(folder.bad, IsEmpty());
  EXPECT_THAT(folder.warnings, ElementsAre(HasSubstr("a.json: ")));
}

TEST_F(ServiceFolderTest, TheSyncersEntriesFollowTheFolder) {
  Write("a.json",
        R"({"services":[{"name":"web"},{"name":"db"}],"check":{"name":"up","ttl":"10s"}})");
  Write("b.json", R"({"id":"own","name":"own","value":""})");
  EXPECT_EQ(Apply().registered, 4);
  EXPECT_THAT(Ids(), UnorderedElementsAre("web", "db", "own", sync::NodeCheckId("up")));
  EXPECT_EQ(Apply().registered, 0) << "nothing has changed";
  Write("a.json", R"({"services":[{"name":"web","tags":["new"]}]})");
  const FolderChanges changes = Apply();
  EXPECT_EQ(changes.registered, 1) << "other tags are another definition";
  EXPECT_EQ(changes.deregistered, 2);
  Write("a.json", "{");
  std::filesystem::remove(folder_ / "b.json");
  EXPECT_EQ(Apply().deregistered, 1);
  EXPECT_THAT(Ids(), ElementsAre("web")) << "the entries of a bad file stay";
}

TEST_F(ServiceFolderTest, AFileTakesTheIdOfWhatWasRegisteredOtherwise) {
  ASSERT_TRUE(syncer_.Register({.id = "web", .name = "old", .value = ""}));
  ASSERT_TRUE(syncer_.Register({.id = "other", .name = "other", .value = ""}));
  Write("a.json", R"({"service":{"name":"web"}})");
  EXPECT_EQ(Apply().registered, 1);
  EXPECT_THAT(Ids(), UnorderedElementsAre("other", "web"));
  std::filesystem::remove(folder_ / "a.json");
  EXPECT_EQ(Apply().deregistered, 1);
  EXPECT_THAT(Ids(), ElementsAre("other"));
}

}  // namespace
}  // namespace kvorum::ctl

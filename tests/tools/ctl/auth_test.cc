// The commands auth, user and role, as far as they need no server: refusals, prompts, secrets kept
// back, and the formats that scripts/*.txt can't show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "proto/rpc.pb.h"
#include "tests/tools/run_line.h"
#include "tools/ctl/commands.h"
#include "tools/session/printer.h"
#include "tools/shell/completion.h"
#include "tools/shell/password.h"

namespace kvorum::ctl {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Without a server, in case it gets that far.
Ended RunOffline(std::vector<std::string> line, const std::string& input = "",
                 std::vector<std::string> environment = {}) {
  line.insert(line.end(), {"--endpoints=127.0.0.1:1", "--dial-timeout=50ms"});
  return RunLine(KvorumctlCommand(), line, std::move(environment), input);
}

TEST(UserCommandTest, ANewPasswordIsAskedForTwice) {
  const Ended ended = RunOffline({"user", "add", "ann"}, "one\ntwo\n");
  EXPECT_EQ(ended.code, 128);
  EXPECT_EQ(ended.out, "Password of ann: \nType password of ann again for confirmation: \n");
  EXPECT_EQ(ended.err, "Error: given passwords are different\n");
}

TEST(UserCommandTest, AnEmptyPasswordIsRefusedHoweverItIsRead) {
  for (const std::string command : {"add", "passwd"}) {
    EXPECT_EQ(RunOffline({"user", command, "ann"}, "\n").err, "Error: empty password\n");
    for (const std::string input : {"", "\n", " \t\r\n", "\nsecret\n"}) {
      const Ended ended = RunOffline({"user", command, "ann", "--interactive=false"}, input);
      EXPECT_EQ(ended.code, 128);
      EXPECT_EQ(ended.out, "");
      EXPECT_EQ(ended.err, "Error: empty password\n");
    }
  }
}

TEST(UserCommandTest, APasswordThatWouldBeCutAtASpaceIsRefused) {
  const Ended ended = RunOffline({"user", "passwd", "ann", "--interactive=false"}, "two words\n");
  EXPECT_EQ(ended.code, 128);
  EXPECT_EQ(ended.err, "Error: the password read has white space in it\n");
}

TEST(UserCommandTest, APasswordIsReadWithoutTheWhiteSpaceAroundIt) {
  std::istringstream in(" secret \r\nrest\n");
  std::ostringstream out;
  World world{in, out, out, {}};
  EXPECT_EQ(ReadPassword(world), "secret");
  EXPECT_EQ(AskPassword("? ", world), "rest");
  EXPECT_EQ(out.str(), "? \n");
}

TEST(SecretsTest, NoPasswordIsShown) {
  const std::vector<std::string> environment = {"ETCDCTL_PASSWROD=hunter2"};
  for (const std::vector<std::string>& flags : std::initializer_list<std::vector<std::string>>{
           {"--user=ann:hunter2"},
           {"--user=ann", "--password=hunter2"},
           {"--auth-jwt-token=hunter2", "--command-timeout=50ms"}}) {
    std::vector<std::string> line = {"get", "a", "--debug"};
    line.insert(line.end(), flags.begin(), flags.end());
    const Ended ended = RunOffline(line, "", environment);
    EXPECT_THAT(ended.out + ended.err, Not(HasSubstr("hunter2")));
    EXPECT_THAT(ended.err, HasSubstr("***\n"));
    EXPECT_THAT(ended.err, HasSubstr("Error: context deadline exceeded\n"));
  }
  EXPECT_THAT(RunOffline({"get", "a", "--debug", "--user=ann:hunter2"}).err,
              HasSubstr("ETCDCTL_USER=ann:***\n"));
}

TEST(SecretsTest, WhyNobodyIsReachedIsLogged) {
  const Ended ended = RunOffline({"get", "a", "--user=ann:secret", "--dial-timeout=500ms"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr(R"("msg":"no endpoint can be connected to",)"
                                   R"("error":"127.0.0.1:1: )"));
}

TEST(RoleCommandTest, ThePermissionTypesAreOfferedInTheirPlace) {
  const auto completed = [](std::vector<std::string> words) {
    std::vector<std::string> candidates;
    for (const Candidate& candidate : CompleteLine(KvorumctlCommand(), words))
      candidates.push_back(candidate.word);
    return candidates;
  };
  EXPECT_THAT(completed({"role", "grant-permission", ""}), ElementsAre());
  EXPECT_THAT(completed({"role", "grant-permission", "r", "re"}), ElementsAre("read", "readwrite"));
  EXPECT_THAT(completed({"role", "grant-permission", "r", "read", ""}), ElementsAre());
  EXPECT_THAT(completed({"user", "g"}), ElementsAre("get", "grant-role"));
  EXPECT_THAT(completed({"auth", ""}), ElementsAre("enable", "disable", "status"));
}

template <class Print>
std::string Protobuf(const Print& print) {
  std::ostringstream out;
  const auto printer = MakePrinter("protobuf", {}, out, out);
  EXPECT_TRUE(print(*printer));
  return out.str();
}

TEST(AuthPrintersTest, ProtobufIsTheWholeAnswer) {
  etcdserverpb::AuthStatusResponse status;
  status.set_enabled(true);
  status.set_authrevision(7);
  EXPECT_EQ(Protobuf([&](Printer& p) { return p.AuthStatus(status); }), "\x10\x01\x18\x07"s);
  etcdserverpb::AuthUserGetResponse user;
  user.add_roles("r");
  EXPECT_EQ(Protobuf([&](Printer& p) { return p.UserGet("ann", user); }), "\x12\x01r"s);
  etcdserverpb::AuthUserListResponse users;
  users.add_users("u");
  EXPECT_EQ(Protobuf([&](Printer& p) { return p.UserList(users); }), "\x12\x01u"s);
  etcdserverpb::AuthRoleGetResponse role;
  role.add_perm()->set_key("k");
  EXPECT_EQ(Protobuf([&](Printer& p) { return p.RoleGet("r", role); }), "\x12\x03\x12\x01k"s);
  etcdserverpb::AuthRoleListResponse roles;
  roles.add_roles("r");
  EXPECT_EQ(Protobuf([&](Printer& p) { return p.RoleList(roles); }), "\x12\x01r"s);
  etcdserverpb::AuthUserAddResponse added;
  added.mutable_header()->set_raft_term(2);
  EXPECT_EQ(Protobuf([&](Printer& p) { return p.AuthChanged("", added.header(), added); }),
            "\x0a\x02\x20\x02"s);
}

TEST(AuthPrintersTest, ARangeThatIsAPrefixIsCalledSo) {
  etcdserverpb::AuthRoleGetResponse role;
  const auto add = [&](authpb::Permission::Type type, const std::string& key,
                       const std::string& end) {
    auto& permission = *role.add_perm();
    permission.set_permtype(type);
    permission.set_key(key);
    permission.set_range_end(end);
  };
  add(authpb::Permission::READ, "\xff", "\0"s);
  add(authpb::Permission::WRITE, "", "\0"s);
  add(authpb::Permission::READWRITE, "a", "b");
  std::ostringstream out;
  ASSERT_TRUE(MakePrinter("simple", {}, out, out)->RoleGet("r", role));
  EXPECT_EQ(out.str(),
            "Role r\nKV Read:\n\t[\xff, <open ended> (prefix \xff)\n\t[a, b) (prefix a)\n"
            "KV Write:\n\t[, <open ended>\n\t[a, b) (prefix a)\n");
}

}  // namespace
}  // namespace kvorum::ctl

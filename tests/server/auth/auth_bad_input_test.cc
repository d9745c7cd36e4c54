// Bad requests about users and roles: names that are empty, huge or not text, passwords that cannot
// be hashed. Each gets the API's error, and changes nothing.
//
// The errors are those of etcd 3.7.1, except for names that are too long (they crash its process)
// and passwords with a zero byte (docs/compatibility.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/kv_decode.h"
#include "auth/auth_record.h"
#include "base/api_errors.h"
#include "base/base64.h"
#include "proto/wire.h"
#include "tests/server/auth/auth_fixture.h"

namespace kvorum::server {
namespace {

constexpr std::size_t kMegabyte = 1 << 20;

// Fields 1, 2, ... as bytes; those that are empty are left out.
std::string Body(std::initializer_list<std::string_view> fields) {
  std::string body;
  std::uint32_t number = 0;
  for (const std::string_view field : fields) wire::AppendBytes(body, ++number, field);
  return body;
}

class AuthBadInputTest : public AuthTest {
 protected:
  Error Ask(std::string_view method, const std::string& body) {
    return ErrorOf(CallAs(root_, "/etcdserverpb.Auth/" + std::string(method), body));
  }
  // Everything that is known of users and roles, and how often it was changed.
  std::string Everything() {
    std::string all = "revision " + std::to_string(served_.store().revision());
    const auto state = served_.access().state();
    all += ", auth revision " + std::to_string(state->revision());
    for (const std::string& name : state->UserNames()) {
      all += ", " + name;
      for (const std::string& role : state->FindUser(name)->roles()) all += " " + role;
      all += " " + state->FindUser(name)->password_hash();
    }
    for (const std::string& name : state->RoleNames())
      all += ", " + EncodeRole(state->FindRole(name)->record());
    return all;
  }
  void ExpectRefused(std::string_view method, const std::string& body, const Error& error) {
    const std::string before = Everything();
    EXPECT_EQ(Ask(method, body), error) << method;
    EXPECT_EQ(Everything(), before) << method;
  }
  void ExpectRefused(std::string_view method, const std::string& body, const ApiError& error) {
    ExpectRefused(method, body, error.ToError());
  }
};

TEST_F(AuthBadInputTest, NamesThatAreEmpty) {
  ExpectRefused("UserAdd", Body({"", "pw"}), kErrUserEmpty);
  ExpectRefused("UserAdd", "", kErrUserEmpty);
  ExpectRefused("UserChangePassword", Body({"", "pw"}), kErrUserNotFound);
  ExpectRefused("UserGet", "", kErrUserNotFound);
  ExpectRefused("UserDelete", "", kErrUserNotFound);
  ExpectRefused("UserGrantRole", "", kErrUserNotFound);
  ExpectRefused("UserGrantRole", Body({"alice"}), kErrRoleNotFound);
  ExpectRefused("UserRevokeRole", "", kErrUserNotFound);
  ExpectRefused("UserRevokeRole", Body({"alice"}), kErrRoleNotGranted);
  ExpectRefused("RoleAdd", "", kErrRoleEmpty);
  ExpectRefused("RoleGet", "", kErrRoleNotFound);
  ExpectRefused("RoleDelete", "", kErrRoleNotFound);
  ExpectRefused("RoleGrantPermission", "", kErrPermissionNotGiven);
  ExpectRefused("RoleGrantPermission", Body({"", Body({"", "k"})}), kErrRoleNotFound);
  ExpectRefused("RoleRevokePermission", "", kErrRoleNotFound);
  EXPECT_EQ(ErrorOf(Login("", "pw")), kErrAuthFailed);
}

// A megabyte as a user's name ends etcd: its database takes no such key.
TEST_F(AuthBadInputTest, NamesThatAreHuge) {
  const std::string longest(auth::kMaxNameSizeBytes, 'n');
  for (const std::size_t size : {auth::kMaxNameSizeBytes + 1, kMegabyte}) {
    const std::string name(size, 'n');
    ExpectRefused("UserAdd", Body({name, "pw"}), kErrNameTooLong);
    ExpectRefused("RoleAdd", Body({name}), kErrNameTooLong);
    ExpectRefused("UserChangePassword", Body({name, "pw"}), kErrUserNotFound);
    ExpectRefused("UserGet", Body({name}), kErrUserNotFound);
    ExpectRefused("UserDelete", Body({name}), kErrUserNotFound);
    ExpectRefused("UserGrantRole", Body({name, "reader"}), kErrUserNotFound);
    ExpectRefused("UserGrantRole", Body({"alice", name}), kErrRoleNotFound);
    ExpectRefused("UserRevokeRole", Body({"alice", name}), kErrRoleNotGranted);
    ExpectRefused("RoleGet", Body({name}), kErrRoleNotFound);
    ExpectRefused("RoleDelete", Body({name}), kErrRoleNotFound);
    ExpectRefused("RoleGrantPermission", Body({name, Body({"", "k"})}), kErrRoleNotFound);
    ExpectRefused("RoleRevokePermission", Body({name, "k"}), kErrRoleNotFound);
    EXPECT_EQ(ErrorOf(Login(name, "pw")), kErrAuthFailed);
  }
  const std::string larger_than_a_request(2 * kMegabyte, 'n');
  for (const char* method : {"UserGet", "RoleGet", "UserDelete"})
    ExpectRefused(method, Body({larger_than_a_request}), kErrRequestTooLarge);
  EXPECT_EQ(Ask("UserAdd", Body({longest, "pw"})), kNone);
  EXPECT_EQ(Ask("RoleAdd", Body({longest})), kNone);
  EXPECT_EQ(Ask("UserGrantRole", Body({longest, longest})), kNone);
  EXPECT_TRUE(Login(longest, "pw").has_value());
  EXPECT_EQ(Ask("RoleGrantPermission", Body({longest, Body({"", "k"})})), kNone);
  EXPECT_EQ(Ask("UserDelete", Body({longest})), kNone);
  EXPECT_EQ(Ask("RoleDelete", Body({longest})), kNone);
}

// Strings of the protocol are UTF-8; keys are any bytes.
TEST_F(AuthBadInputTest, NamesAndPasswordsThatAreNoText) {
  const Error refused = InvalidUtf8Request().error();
  EXPECT_EQ(refused.message,
            "grpc: error unmarshalling request: string field contains invalid UTF-8");
  for (const std::string_view bad : {"\xff\xfe", "a\xc0\x80", "\xed\xa0\x80", "cut\xe2\x82"}) {
    for (const std::string_view method :
         {"UserAdd", "UserChangePassword", "UserGet", "UserDelete", "UserGrantRole",
          "UserRevokeRole", "RoleAdd", "RoleGet", "RoleDelete", "RoleGrantPermission",
          "RoleRevokePermission"})
      ExpectRefused(method, Body({bad}), refused);
    for (const std::string_view method :
         {"UserAdd", "UserChangePassword", "UserGrantRole", "UserRevokeRole"})
      ExpectRefused(method, Body({"alice", bad}), refused);
    EXPECT_EQ(ErrorOf(served_.Call("/etcdserverpb.Auth/Authenticate", Body({bad, "pw"}))), refused);
    EXPECT_EQ(ErrorOf(served_.Call("/etcdserverpb.Auth/Authenticate", Body({"alice", bad}))),
              refused);
    // The first fault is reported.
    ExpectRefused("UserGet", Body({bad}) + "\xff", refused);
    ExpectRefused("UserGet", "\xff" + Body({bad}), MalformedRequest().error());
  }
  EXPECT_EQ(Ask("RoleGrantPermission", Body({"reader", Body({"", "\xff\xfe"})})), kNone);
  EXPECT_EQ(RangeAs(bob_, "\xff\xfe"), kNone);
  EXPECT_EQ(Ask("UserAdd", Body({"j\xc3\xb6rg", "p\xc3\xa4ss"})), kNone);
  EXPECT_TRUE(Login("j\xc3\xb6rg", "p\xc3\xa4ss").has_value());
}

// bcrypt has 72 bytes. etcd judges the password before the name.
TEST_F(AuthBadInputTest, PasswordsThatCannotBeHashed) {
  EXPECT_EQ(kErrPasswordTooLong.message, "bcrypt: password length exceeds 72 bytes");
  for (const std::size_t size : {std::size_t{73}, kMegabyte}) {
    const std::string password(size, 'p');
    ExpectRefused("UserAdd", Body({"carol", password}), kErrPasswordTooLong);
    ExpectRefused("UserAdd", Body({"alice", password}), kErrPasswordTooLong);
    ExpectRefused("UserAdd", Body({"", password}), kErrPasswordTooLong);
    ExpectRefused("UserChangePassword", Body({"alice", password}), kErrPasswordTooLong);
    ExpectRefused("UserChangePassword", Body({"nobody", password}), kErrPasswordTooLong);
    EXPECT_EQ(ErrorOf(Login("alice", password)), kErrAuthFailed);
  }
  const std::string_view zero("of alice\0more", 13);
  ExpectRefused("UserAdd", Body({"carol", zero}), kErrPasswordHasZeroByte);
  ExpectRefused("UserChangePassword", Body({"alice", zero}), kErrPasswordHasZeroByte);
  EXPECT_EQ(ErrorOf(Login("alice", zero)), kErrAuthFailed);
  EXPECT_TRUE(Login("alice", "of alice").has_value());

  const std::string longest(72, 'p');
  EXPECT_EQ(AddUser(root_, "carol", longest), kNone);
  EXPECT_TRUE(Login("carol", longest).has_value());
  EXPECT_EQ(ErrorOf(Login("carol", longest + "p")), kErrAuthFailed) << "no more counts";
  EXPECT_EQ(ErrorOf(Login("carol", longest.substr(1))), kErrAuthFailed);
}

// It is a password like others, as in etcd. kvorumctl asks for another one.
TEST_F(AuthBadInputTest, APasswordThatIsEmptyIsOne) {
  EXPECT_EQ(AddUser(root_, "carol", ""), kNone);
  EXPECT_TRUE(Login("carol", "").has_value());
  EXPECT_EQ(ErrorOf(Login("carol", "x")), kErrAuthFailed);
}

TEST_F(AuthBadInputTest, HashesThatAreNone) {
  // A client may send one; it is made here all the same.
  etcdserverpb::AuthUserAddRequest add;
  add.set_name("carol");
  add.set_password("pw");
  add.set_hashedpassword("garbage");
  EXPECT_EQ(AskAs(root_, "UserAdd", add), kNone);
  EXPECT_TRUE(Login("carol", "pw").has_value());
  EXPECT_EQ(ErrorOf(Login("carol", "garbage")), kErrAuthFailed);
  add.set_name("dave");
  add.mutable_options()->set_no_password(true);
  EXPECT_EQ(AskAs(root_, "UserAdd", add), kNone);
  EXPECT_EQ(ErrorOf(Login("dave", "pw")), kErrNoPasswordUser);
}

// Without a password, the client's hash counts, if it is base64 at all: all members decode it.
TEST_F(AuthBadInputTest, APasswordMayBeChangedByItsHashAlone) {
  const std::string hash = served_.access().state()->FindUser("alice")->password_hash();
  const auto change = [&](std::string_view user, std::string_view hashed) {
    return Ask("UserChangePassword", Body({user, "", hashed}));
  };
  EXPECT_EQ(change("bob", EncodeBase64(Base64::kStandard, hash)), kNone);
  EXPECT_TRUE(Login("bob", "of alice").has_value());
  EXPECT_EQ(ErrorOf(Login("bob", "of bob")), kErrAuthFailed);
  EXPECT_EQ(change("bob", "bm90\r\nIGEgaGFzaB=="), kNone);  // some bytes that are not a hash
  EXPECT_EQ(served_.access().state()->FindUser("bob")->password_hash(), "not a hash");
  EXPECT_EQ(ErrorOf(Login("bob", "of alice")), kErrAuthFailed);
  ExpectRefused("UserChangePassword", Body({"bob", "", "no base64"}), kErrNoPasswordUser);
  // A password counts more.
  EXPECT_EQ(Ask("UserChangePassword", Body({"bob", "pw", "bm90IGEgaGFzaA=="})), kNone);
  EXPECT_TRUE(Login("bob", "pw").has_value());
}

TEST_F(AuthBadInputTest, PermissionsThatCannotBe) {
  for (const std::string& permission :
       {Body({}), Body({"", "", "z"}), Body({"", "b", "b"}), Body({"", "b", "a"})}) {
    std::string body = Body({"reader"});
    wire::AppendBytesAlways(body, 2, permission);
    ExpectRefused("RoleGrantPermission", body, kErrInvalidAuthMgmt);
  }
  ExpectRefused("RoleRevokePermission", Body({"reader", "k"}), kErrPermissionNotGranted);
}

// Kept, as etcd keeps it, and permits nothing.
TEST_F(AuthBadInputTest, APermissionOfAnUnknownType) {
  std::string unknown_type;
  wire::AppendUint(unknown_type, 1, 7);
  wire::AppendBytes(unknown_type, 2, "k");
  EXPECT_EQ(Ask("RoleGrantPermission", Body({"reader", unknown_type})), kNone);
  EXPECT_EQ(Ask("RoleRevokePermission", Body({"reader", "k"})), kNone);
}

TEST_F(AuthBadInputTest, BytesThatAreNoMessage) {
  for (const std::string_view method :
       {"UserAdd", "UserChangePassword", "UserGet", "UserDelete", "UserGrantRole", "UserRevokeRole",
        "RoleAdd", "RoleGet", "RoleDelete", "RoleGrantPermission", "RoleRevokePermission"}) {
    for (const std::string_view bytes : {"\xff\xff\xff", "\x0a",
                                         "\x0a\x05"
                                         "ab"})
      ExpectRefused(method, std::string(bytes), MalformedRequest().error());
  }
  EXPECT_EQ(ErrorOf(served_.Call("/etcdserverpb.Auth/Authenticate", "\xff")),
            MalformedRequest().error());
}

}  // namespace
}  // namespace kvorum::server

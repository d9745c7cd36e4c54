// The bytes of users, roles and revisions, and malformed ones.
#include "auth/auth_record.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/damage.h"

namespace kvorum::auth {
namespace {

using namespace std::string_view_literals;

const UserRecord kAnn{"ann", "hash", {"a", "b"}, true};
const RoleRecord kRole{"r",
                       {{PermissionType::kWrite, "a", "b"},
                        {PermissionType::kReadWrite, "a", std::string(1, '\0')},
                        {PermissionType::kRead, "c", ""}}};

TEST(AuthRecordTest, GoldenBytes) {
  EXPECT_EQ(EncodeUser(kAnn), "\x0a\3ann\x12\4hash\x1a\1a\x1a\1b\x22\2\x08\1"sv);
  EXPECT_EQ(EncodeUser({"ann", "", {}, std::nullopt}), "\x0a\3ann"sv);
  EXPECT_EQ(EncodeUser({"ann", "", {}, false}), "\x0a\3ann\x22\0"sv);
  EXPECT_EQ(EncodeRole(kRole),
            "\x0a\1r"
            "\x12\x08\x08\1\x12\1a\x1a\1b"
            "\x12\x08\x08\2\x12\1a\x1a\1\0"
            "\x12\3\x12\1c"sv);
  EXPECT_EQ(EncodeRevision(0x0102030405060708), "\1\2\3\4\5\6\7\x08"sv);
  EXPECT_EQ(EncodeEnabled(true), "\1"sv);
  EXPECT_EQ(EncodeEnabled(false), "\0"sv);
}

TEST(AuthRecordTest, WhatIsWrittenIsRead) {
  EXPECT_EQ(DecodeUser(EncodeUser(kAnn)).value(), kAnn);
  for (const auto no_password :
       {std::optional<bool>(), std::optional(false), std::optional(true)}) {
    const UserRecord user{"u", "", {}, no_password};
    EXPECT_EQ(DecodeUser(EncodeUser(user)).value(), user);
  }
  EXPECT_EQ(DecodeRole(EncodeRole(kRole)).value(), kRole);
  EXPECT_EQ(DecodeRevision(EncodeRevision(UINT64_MAX - 1)).value(), UINT64_MAX - 1);
  EXPECT_TRUE(DecodeEnabled(EncodeEnabled(true)).value());
  EXPECT_FALSE(DecodeEnabled(EncodeEnabled(false)).value());
}

TEST(AuthRecordTest, FieldsOfLaterVersionsArePassedOver) {
  EXPECT_EQ(DecodeUser(EncodeUser(kAnn) + "\x2a\2xx").value(), kAnn);
  EXPECT_EQ(DecodeRole(EncodeRole(kRole) + "\x18\5").value(), kRole);
}

TEST(AuthRecordTest, EveryCutOfARecordIsRefusedOrLess) {
  const std::string user = EncodeUser(kAnn);
  ForEachCut(user, [](std::string_view bytes) {
    const auto cut = DecodeUser(bytes);
    if (cut) {
      EXPECT_NE(*cut, kAnn);
    } else {
      EXPECT_EQ(cut.error().code, Code::kDataLoss);
    }
  });
  const std::string role = EncodeRole(kRole);
  ForEachCut(role, [](std::string_view bytes) {
    const auto cut = DecodeRole(bytes);
    if (cut) {
      EXPECT_NE(*cut, kRole);
    } else {
      EXPECT_EQ(cut.error().code, Code::kDataLoss);
    }
  });
}

TEST(AuthRecordTest, WhatNobodyWroteIsRefused) {
  EXPECT_FALSE(DecodeUser("").has_value());
  EXPECT_FALSE(DecodeUser(EncodeUser({"", "h", {}, false})).has_value());
  EXPECT_FALSE(DecodeUser(EncodeUser({"u", "h", {"b", "a"}, false})).has_value());
  EXPECT_FALSE(DecodeUser(EncodeUser({"u", "h", {"a", "a"}, false})).has_value());
  EXPECT_FALSE(DecodeUser("\x0a\xff"sv).has_value());
  EXPECT_FALSE(DecodeUser("\x0a\1u\x22\1\xff"sv).has_value());  // of the options
  EXPECT_FALSE(DecodeRole("").has_value());
  EXPECT_FALSE(DecodeRole(EncodeRole({"", {}})).has_value());
  EXPECT_FALSE(
      DecodeRole(
          EncodeRole({"r", {{PermissionType::kRead, "b", ""}, {PermissionType::kRead, "a", ""}}}))
          .has_value());
  EXPECT_FALSE(DecodeRole("\x0a\1r\x12\1\xff"sv).has_value());  // of a permission
  EXPECT_FALSE(DecodeRevision("").has_value());
  EXPECT_FALSE(DecodeRevision("1234567").has_value());
  EXPECT_FALSE(DecodeRevision("123456789").has_value());
  EXPECT_FALSE(DecodeEnabled("").has_value());
  EXPECT_FALSE(DecodeEnabled("\2").has_value());
  EXPECT_FALSE(DecodeEnabled("\0\0"sv).has_value());
}

}  // namespace
}  // namespace kvorum::auth

#include "auth/permission_order.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace kvorum::auth {
namespace {

// Each line has the keys of grants, a letter each, on separate ranges, and the resulting order of a
// role's permissions in etcd 3.7.1, by number.
TEST(PermissionOrderTest, IsThatOfEtcd) {
  std::ifstream table(KVORUM_AUTH_TABLES "/permission_order_table.txt");
  std::size_t rows = 0;
  for (std::string line; std::getline(table, line); ++rows) {
    const std::string keys = line.substr(0, line.find(' '));
    std::vector<Permission> permissions;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      SetPermission(permissions,
                    {PermissionType::kRead, std::string(1, keys[i]), "~" + std::to_string(i)});
    }
    std::string order = keys;
    for (const Permission& permission : permissions) order += " " + permission.range_end.substr(1);
    EXPECT_EQ(order, line);
  }
  EXPECT_GE(rows, 50);
}

TEST(PermissionOrderTest, OnlyTheFirstOfItsKeyIsChanged) {
  std::vector<Permission> permissions;
  SetPermission(permissions, {PermissionType::kRead, "k", "m"});
  SetPermission(permissions, {PermissionType::kRead, "k", "l"});
  SetPermission(permissions, {PermissionType::kWrite, "k", "m"});
  SetPermission(permissions, {PermissionType::kWrite, "k", "l"});
  const std::vector<Permission> expected = {{PermissionType::kWrite, "k", "m"},
                                            {PermissionType::kRead, "k", "l"},
                                            {PermissionType::kWrite, "k", "l"}};
  EXPECT_EQ(permissions, expected);
}

}  // namespace
}  // namespace kvorum::auth

// Any bytes as the stored records of users, roles and revisions. They load or are refused; what
// loads is consistent, and is the same again after each record was written out once more.
//
// The input: records one after another, each a byte for the table (and for kAuth the key's kind), a
// byte for the length of the key and one for that of the value, then both.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "auth/auth_content.h"

namespace {

using namespace kvorum::auth;

void Require(bool condition) {
  if (!condition) std::abort();
}

constexpr std::string_view kPrefixes[] = {
    "", kEnabledKey, kRevisionKey, kTokenRevisionKey, kUserRevisionPrefix, kRoleRevisionPrefix};

std::string_view Take(std::string_view& bytes, std::size_t size) {
  const std::string_view taken = bytes.substr(0, size);
  bytes.remove_prefix(taken.size());
  return taken;
}

std::vector<Record> Read(std::string_view bytes) {
  std::vector<Record> records;
  while (bytes.size() >= 3) {
    const std::string_view head = Take(bytes, 3);
    const auto kind = static_cast<std::uint8_t>(head[0]);
    Record record{static_cast<Table>(kind % 3), {}, {}};
    if (record.table == Table::kAuth) record.key = kPrefixes[kind / 3 % std::size(kPrefixes)];
    record.key += Take(bytes, static_cast<std::uint8_t>(head[1]));
    record.value = Take(bytes, static_cast<std::uint8_t>(head[2]));
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<Record> records = Read({reinterpret_cast<const char*>(data), size});
  const auto content = AuthContent::Load(records);
  if (!content) {
    Require(content.error().code == kvorum::Code::kDataLoss);
    return 0;
  }
  content->CheckInvariants();
  const AuthState& state = *content->state();
  for (Record& record : records) {
    if (record.table == Table::kUsers)
      record.value = EncodeUser(*state.FindUser(record.key)->record());
    if (record.table == Table::kRoles)
      record.value = EncodeRole(state.FindRole(record.key)->record());
  }
  const auto again = AuthContent::Load(records);
  Require(again.has_value());
  for (const std::string& name : state.UserNames()) {
    Require(*again->state()->FindUser(name)->record() == *state.FindUser(name)->record());
    Require(again->state()->RequiredRevision(name) == state.RequiredRevision(name));
  }
  return 0;
}

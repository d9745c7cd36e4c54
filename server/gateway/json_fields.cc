#include "server/gateway/json_fields.h"

#include <algorithm>

#include "base/letter_case.h"

namespace kvorum::server::gateway {
namespace {

// The spelling without underscores: the letter that follows one is a capital.
template <class Take>
void SpellForJson(std::string_view name, Take&& take) {
  bool capital = false;
  for (const char c : name) {
    if (c == '_') {
      capital = true;
      continue;
    }
    take(capital ? UpperCase(c) : c);
    capital = false;
  }
}

bool IsJsonNameOf(std::string_view name, std::string_view spelled) {
  std::size_t at = 0;
  bool equal = true;
  SpellForJson(name, [&](char c) {
    equal = equal && at < spelled.size() && spelled[at] == c;
    ++at;
  });
  return equal && at == spelled.size();
}

}  // namespace

std::string JsonName(std::string_view name) {
  std::string spelled;
  SpellForJson(name, [&spelled](char c) { spelled += c; });
  return spelled;
}

const wire::Row* FieldNamed(const wire::Table& table, std::string_view name) {
  const auto found = std::ranges::find_if(table.rows, [name](const wire::Row& row) {
    return row.name == name || IsJsonNameOf(row.name, name);
  });
  return found == table.rows.end() ? nullptr : &*found;
}

const wire::Row* FieldNumbered(const wire::Table& table, std::uint32_t number) {
  const auto found = std::ranges::lower_bound(table.rows, number, {}, &wire::Row::number);
  return found == table.rows.end() || found->number != number ? nullptr : &*found;
}

}  // namespace kvorum::server::gateway

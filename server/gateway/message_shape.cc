#include "server/gateway/message_shape.h"

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

std::string FieldShape::JsonName() const {
  std::string spelled;
  SpellForJson(name, [&spelled](char c) { spelled += c; });
  return spelled;
}

const FieldShape* MessageShape::Named(std::string_view name) const {
  const auto found = std::ranges::find_if(fields, [name](const FieldShape& field) {
    return field.name == name || IsJsonNameOf(field.name, name);
  });
  return found == fields.end() ? nullptr : &*found;
}

const FieldShape* MessageShape::Numbered(std::uint32_t number) const {
  const auto found = std::ranges::lower_bound(fields, number, {}, &FieldShape::number);
  return found == fields.end() || found->number != number ? nullptr : &*found;
}

}  // namespace kvorum::server::gateway

#include "consul/model/ids.h"

#include "base/text/percent.h"
#include "base/utf8.h"
#include "sync/agent/entry.h"

namespace kvorum::consul {
namespace {

Result<std::string> Encode(std::string_view part, std::string_view also_coded) {
  const auto refuse = [](std::string_view why) {
    return Fail(Code::kInvalidArgument, std::string(why));
  };
  if (part.empty()) return refuse("the name is empty");
  std::string encoded;
  while (!part.empty() && encoded.size() <= sync::kMaxNameBytes) {
    const Utf8Character c = ReadUtf8(part);
    const char first = part.front();
    const bool is_coded = !c.valid || c.code_point < 0x20 || c.code_point == 0x7f || first == '%' ||
                          first == '/' || also_coded.contains(first);
    if (is_coded)
      AppendPercentEscape(encoded, first);
    else
      encoded += part.substr(0, c.size_bytes);
    part.remove_prefix(is_coded ? 1 : c.size_bytes);
  }
  if (encoded.size() > sync::kMaxNameBytes) return refuse("the name is longer than 255 bytes");
  return encoded;
}

}  // namespace

Result<std::string> EncodeName(std::string_view name) { return Encode(name, ""); }

Result<std::string> EncodeId(std::string_view id) { return Encode(id, "."); }

std::string DecodePart(std::string_view part) { return PercentDecode(part); }

}  // namespace kvorum::consul

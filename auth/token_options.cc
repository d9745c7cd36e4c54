#include "auth/token_options.h"

#include <map>
#include <utility>

#include "base/api_errors.h"
#include "base/text/duration_text.h"

namespace kvorum::auth {
namespace {

constexpr std::uint64_t kMaxKeyFileSizeBytes = 1 << 20;

std::unexpected<Error> Invalid(std::string_view why) {
  return Fail(Code::kInvalidArgument, std::string(kInvalidAuthOptsText).append(": ").append(why));
}

// Returns the text before the separator and keeps the rest.
std::string_view TakeUntil(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return taken;
}

using Pairs = std::map<std::string, std::string, std::less<>>;

Result<Pairs> ParsePairs(std::string_view text, bool are_there) {
  Pairs pairs;
  while (are_there) {
    are_there = text.find(',') != std::string_view::npos;
    std::string_view value = TakeUntil(text, ',');
    const bool has_one_sign =
        value.find('=') != std::string_view::npos && value.find('=') == value.rfind('=');
    if (!has_one_sign) return Invalid("an option is not of the form name=value");
    const std::string_view name = TakeUntil(value, '=');
    if (!pairs.emplace(name, value).second)
      return Invalid("the option " + std::string(name) + " is given twice");
  }
  return pairs;
}

Result<void> ReadKey(FileSystem& fs, const std::string& path, std::string& key) {
  if (path.empty()) return {};
  auto content = ReadWholeFile(fs, path, kMaxKeyFileSizeBytes);
  if (!content) return Invalid(content.error().message);
  key = *std::move(content);
  return {};
}

Result<void> ParseJwtOptions(const Pairs& pairs, FileSystem& fs, TokenOptions& options) {
  JwtOptions& jwt = options.jwt;
  for (const auto& [name, value] : pairs) {
    if (name == "sign-method") {
      jwt.sign_method = value;
    } else if (name == "pub-key") {
      KV_RETURN_IF_ERROR(ReadKey(fs, value, jwt.public_key));
    } else if (name == "priv-key") {
      KV_RETURN_IF_ERROR(ReadKey(fs, value, jwt.private_key));
    } else if (name == "ttl") {
      if (value.empty()) continue;  // the default
      auto ttl = ParseDuration(value);
      if (!ttl) return Invalid(ttl.error().message);
      if (*ttl <= std::chrono::nanoseconds(0)) return Invalid("ttl must be positive");
      jwt.ttl = *ttl;
    } else {
      options.unknown.push_back(name);
    }
  }
  return {};
}

}  // namespace

Result<TokenOptions> ParseTokenOptions(std::string_view text, FileSystem& fs) {
  const bool has_pairs = text.find(',') != std::string_view::npos;
  const std::string_view kind = TakeUntil(text, ',');
  KV_TRY(const Pairs pairs, ParsePairs(text, has_pairs));
  TokenOptions options;
  if (kind.empty()) {
    options.kind = TokenOptions::Kind::kNone;
  } else if (kind == "simple") {
    options.kind = TokenOptions::Kind::kSimple;
  } else if (kind == "jwt") {
    options.kind = TokenOptions::Kind::kJwt;
    KV_RETURN_IF_ERROR(ParseJwtOptions(pairs, fs, options));
  } else {
    return Invalid("there are no tokens of kind \"" + std::string(kind) + "\"");
  }
  return options;
}

}  // namespace kvorum::auth

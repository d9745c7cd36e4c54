#include "server/process/settings/secret_flags.h"

#include <algorithm>
#include <utility>

namespace kvorum::server {
namespace {

constexpr std::string_view kSchemeEnd = "://";

// "https://user:password@host" in any place of the text.
void HideUsersOfUrls(std::string& text) {
  for (std::size_t at = text.find(kSchemeEnd); at != std::string::npos;
       at = text.find(kSchemeEnd, at)) {
    at += kSchemeEnd.size();
    const std::size_t end = std::min(text.find_first_of("/?#,", at), text.size());
    const std::size_t sign = std::string_view(text).substr(0, end).rfind('@');
    if (sign == std::string::npos || sign < at) continue;
    text.replace(at, sign - at, kHiddenValue);
  }
}

}  // namespace

bool IsSecretFlag(std::string_view flag) {
  return flag == "discovery-password" || flag == "discovery-user";  // user:password
}

std::vector<std::string> WithoutSecrets(std::vector<std::string> arguments) {
  bool is_value = false;  // of a secret flag
  for (std::string& argument : arguments) {
    if (std::exchange(is_value, false)) {
      argument = kHiddenValue;
      continue;
    }
    const std::size_t name = std::min(argument.find_first_not_of('-'), argument.size());
    const std::size_t equals = std::min(argument.find('=', name), argument.size());
    const bool is_secret =
        name > 0 && IsSecretFlag(std::string_view(argument).substr(name, equals - name));
    if (is_secret && equals < argument.size())
      argument.replace(equals + 1, std::string::npos, kHiddenValue);
    is_value = is_secret && equals == argument.size();
    HideUsersOfUrls(argument);
  }
  return arguments;
}

}  // namespace kvorum::server

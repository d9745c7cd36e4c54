#include "server/process/settings/flag_docs.h"

#include <fmt/format.h>

#include <string_view>

#include "base/text/duration_text.h"
#include "server/process/settings/config_keys.h"
#include "server/process/settings/flag_table.h"

namespace kvorum::server {
namespace {

// The default as the file has it.
std::string DefaultOf(const ConfigKey& key, const Flag& flag) {
  std::string text(flag.default_text);
  switch (key.type) {
    case ConfigType::kString:
      return text.empty() ? "" : "'" + text + "'";
    case ConfigType::kNanoseconds: {
      const auto duration = ParseDuration(text);
      return duration.has_value() ? std::to_string(duration->count()) : text;
    }
    case ConfigType::kStrings:
      return "[" + text + "]";
    case ConfigType::kBool:
    case ConfigType::kUnsigned:
    case ConfigType::kSigned:
    case ConfigType::kNoEffect:
      return text;
  }
  return text;
}

void AppendKey(std::string& text, std::string_view indent, const ConfigKey& key) {
  const Flag* const flag = FindFlag(key.flag);
  if (flag == nullptr || flag->support != Support::kEffective) return;
  const std::string value = DefaultOf(key, *flag);
  text += fmt::format("\n#{} {}\n#{}{}:{}{}\n", indent, flag->help, indent, key.key,
                      value.empty() ? "" : " ", value);
}

}  // namespace

std::string ConfigSample() {
  std::string text =
      "# A configuration file for kvorum: kvorum --config-file FILE, or ETCD_CONFIG_FILE=FILE.\n"
      "#\n"
      "# Other flags and the environment do not count then. Every key has its default here; remove "
      "the\n"
      "# mark before a line to change it. Durations are numbers of nanoseconds. kvorum "
      "--config-check\n"
      "# --config-file FILE says what would run. Made by kvorum --config-sample.\n";
  std::string_view section;
  for (const ConfigKey& key : ConfigKeys()) {
    const Flag* const flag = FindFlag(key.flag);
    if (!key.section.empty() || flag == nullptr || flag->support != Support::kEffective) continue;
    if (flag->section != section) {
      section = flag->section;
      text += fmt::format("\n# --- {} ---\n", section);
    }
    AppendKey(text, "", key);
  }
  std::string_view last;
  for (const ConfigKey& key : ConfigKeys()) {
    const Flag* const flag = FindFlag(key.flag);
    const bool is_nested = key.section.find('.') != std::string_view::npos;
    if (key.section.empty() || is_nested || flag == nullptr ||
        flag->support != Support::kEffective) {
      continue;
    }
    if (key.section != last) {
      last = key.section;
      text += fmt::format("\n#{}:\n", last);
    }
    AppendKey(text, "  ", key);
  }
  return text;
}

}  // namespace kvorum::server

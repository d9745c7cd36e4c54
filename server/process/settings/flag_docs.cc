#include "server/process/settings/flag_docs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text/duration_text.h"
#include "server/process/settings/config_keys.h"
#include "server/process/settings/feature_gates.h"
#include "server/process/settings/flag_table.h"
#include "server/process/settings/old_spellings.h"
#include "server/process/settings/settings_reader.h"

namespace kvorum::server {
namespace {

constexpr char kFlagsIntroduction[] = R"(# Flags

This page is made from the server's table of flags. A test compares them, and writes the page with
`KVORUM_REWRITE=1 build/release/bin/server_settings_test`. A flag with "no effect" is accepted, and a
start with another value than its default logs the reason. A key is that of `--config-file`: durations
are numbers of nanoseconds there, and lists of URLs are texts with commas.

`kvorum --config-check` prints every setting with its value and its source:

```console
$ ETCD_MAX_TXN_OPS=256 kvorum --config-check --name n1 \
>   --listen-client-urls http://localhost:12379 --advertise-client-urls http://localhost:12379 \
>   --listen-peer-urls http://localhost:12380 --initial-advertise-peer-urls http://localhost:12380 \
>   --initial-cluster n1=http://localhost:12380 | grep -E ' (name|max-txn-ops|snapshot-count) '
  name = n1  [flag]
  snapshot-count = 10000  [default]
  max-txn-ops = 256  [environment (ETCD_MAX_TXN_OPS)]
```
)";

const ConfigKey* KeyOf(std::string_view flag) {
  const auto keys = ConfigKeys();
  const auto it = std::ranges::find(keys, flag, &ConfigKey::flag);
  return it == keys.end() ? nullptr : &*it;
}

std::string KeyText(std::string_view flag) {
  const ConfigKey* const key = KeyOf(flag);
  if (key == nullptr) return "";
  const std::string section = key->section.empty() ? "" : std::string(key->section) + ".";
  return "`" + section + std::string(key->key) + "`";
}

std::string_view StateOf(Support support) {
  switch (support) {
    case Support::kEffective:
      return "works";
    case Support::kIgnored:
      return "no effect";
  }
  return "";
}

std::string Code(std::string_view text) {
  return text.empty() ? std::string() : "`" + std::string(text) + "`";
}

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

std::string FlagsPage() {
  std::string page = kFlagsIntroduction;
  std::string_view section;
  for (const Flag& flag : Flags()) {
    if (flag.section != section) {
      section = flag.section;
      page += fmt::format(
          "\n## {}\n\n| flag | variable | key | default | state | |\n| --- | --- | --- | --- | --- "
          "| --- |\n",
          section);
    }
    page += fmt::format("| `--{}` | `{}` | {} | {} | {} | {} |\n", flag.name,
                        EnvironmentName(flag.name), KeyText(flag.name), Code(flag.default_text),
                        StateOf(flag.support), flag.help);
  }
  page += "\n## Feature gates\n\n| gate | stage | default | state |\n| --- | --- | --- | --- |\n";
  for (const GateDescription& gate : DescribeGates()) {
    page += fmt::format("| `{}` | {} | {} | {} |\n", gate.name, gate.stage,
                        gate.by_default ? "on" : "off",
                        gate.has_effect ? "works" : "no effect: " + std::string(gate.reason));
  }
  page +=
      "\n## Old spellings\n\nTaken with a warning, as flags, as variables and, where they stand "
      "for "
      "something, as keys.\n\n| flag of 3.4 to 3.6 | stands for |\n| --- | --- |\n";
  for (const OldSpelling& old : OldSpellings()) {
    std::string meaning = "nothing: " + std::string(old.reason);
    if (!old.flag.empty()) meaning = "`--" + std::string(old.flag) + "`";
    if (!old.gate.empty()) meaning = "`--feature-gates=" + std::string(old.gate) + "=…`";
    page += fmt::format("| `--{}` | {} |\n", old.name, meaning);
  }
  return page;
}

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

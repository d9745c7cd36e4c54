#include "server/process/settings/config_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/letter_case.h"
#include "base/text/duration_text.h"
#include "base/text/go_number.h"
#include "base/text/go_quote.h"
#include "server/process/settings/config_keys.h"
#include "server/process/settings/yaml_tree.h"

namespace kvorum::server {
namespace {

using Kind = YamlNode::Kind;

std::string_view ExpectationOf(ConfigType type) {
  switch (type) {
    case ConfigType::kString:
    case ConfigType::kNoEffect:
      return "a string";
    case ConfigType::kBool:
      return "true or false";
    case ConfigType::kUnsigned:
      return "a whole number without a sign";
    case ConfigType::kSigned:
      return "a whole number";
    case ConfigType::kNanoseconds:
      return "a number of nanoseconds (5000000000 for 5s)";
    case ConfigType::kStrings:
      return "a list of strings";
  }
  return "";
}

Kind KindOf(ConfigType type) {
  switch (type) {
    case ConfigType::kString:
    case ConfigType::kNoEffect:
      return Kind::kString;
    case ConfigType::kBool:
      return Kind::kBool;
    case ConfigType::kUnsigned:
    case ConfigType::kSigned:
    case ConfigType::kNanoseconds:
      return Kind::kNumber;
    case ConfigType::kStrings:
      return Kind::kList;
  }
  return Kind::kString;
}

// The value as its flag would have it; nothing if the type is another.
std::optional<std::string> FlagText(ConfigType type, const YamlNode& node) {
  if (node.kind != KindOf(type)) return std::nullopt;
  if (type == ConfigType::kUnsigned && !ParseUint(node.text, 10)) return std::nullopt;
  if (type == ConfigType::kSigned && !ParseInt(node.text, 10)) return std::nullopt;
  if (type == ConfigType::kNanoseconds) {
    const auto count = ParseInt(node.text, 10);
    if (!count) return std::nullopt;
    return FormatDuration(std::chrono::nanoseconds(*count));
  }
  if (type != ConfigType::kStrings) return node.text;
  std::string list;
  for (const YamlPointer& item : node.items) {
    if (item->kind != Kind::kString) return std::nullopt;
    list += (list.empty() ? "" : ",") + item->text;
  }
  return list;
}

class Walker {
 public:
  explicit Walker(SettingsReader& reader) : reader_(reader) {}

  void Section(const std::string& path, const YamlNode& node) {
    if (node.kind != Kind::kMap) {
      reader_.FileFault(
          node.line, path + " must be a map of settings, not " + std::string(KindName(node.kind)));
      return;
    }
    for (const auto& [key, value] : node.members) {
      std::string below = path;
      if (!below.empty()) below += '.';
      below += key;
      if (IsConfigSection(below)) {
        // etcd takes an empty section, but for this one.
        if (value->kind != Kind::kNull || below == "peer-transport-security")
          Section(below, *value);
      } else if (const ConfigKey* known = FindConfigKey(path, key); known != nullptr) {
        Setting(below, *known, *value);
      } else {
        const std::string_view near = NearConfigKey(path, key);
        reader_.FileWarning(value->line,
                            "the unknown key " + GoQuote(below) + " is ignored" +
                                (near.empty() ? "" : "; did you mean " + GoQuote(near) + "?"));
      }
    }
  }

 private:
  void Setting(const std::string& path, const ConfigKey& key, const YamlNode& value) {
    if (value.kind == Kind::kNull || key.type == ConfigType::kNoEffect) return;  // the default
    // An empty list of names means no names, and an empty list of URLs keeps the default.
    if (key.type == ConfigType::kStrings && value.kind == Kind::kList && value.items.empty())
      return;
    const auto text = FlagText(key.type, value);
    if (!text.has_value()) {
      const std::string found = value.kind == Kind::kNumber || value.kind == Kind::kString
                                    ? GoQuote(value.text)
                                    : std::string(KindName(value.kind));
      reader_.FileFault(value.line, path + " must be " + std::string(ExpectationOf(key.type)) +
                                        ", not " + found +
                                        (value.kind == Kind::kString ? " (a string)" : ""));
      return;
    }
    reader_.SetFromFile(path, key.flag, *text, value.line);
  }

  SettingsReader& reader_;
};

}  // namespace

Result<std::string> ReadConfigText(const std::string& path) {
  const auto fail = [&path](const char* what, int error) {
    return Fail(Code::kInvalidArgument, fmt::format("{} {}: {}", what, path, GoErrnoText(error)));
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail("open", errno);
  std::string text;
  std::vector<char> piece(65'536);
  while (text.size() <= kMaxConfigBytes) {
    const ssize_t count = ::read(descriptor, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      ::close(descriptor);
      return fail("read", error);
    }
    if (count == 0) break;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
  ::close(descriptor);
  return text;
}

void ReadConfigFile(std::string_view text, SettingsReader& reader) {
  const auto tree = ParseYaml(text);
  if (!tree.has_value()) return reader.FileFault(0, tree.error().message);
  // An empty document is a file of defaults.
  if ((*tree)->kind == YamlNode::Kind::kNull) return;
  if ((*tree)->kind != YamlNode::Kind::kMap) {
    return reader.FileFault((*tree)->line, "the file must be a map of settings, not " +
                                               std::string(KindName((*tree)->kind)));
  }
  Walker(reader).Section("", **tree);
}

}  // namespace kvorum::server

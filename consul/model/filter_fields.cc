#include "consul/model/filter_fields.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace kvorum::consul {
namespace {

using enum FieldKind;

struct Field {
  std::string_view path;  // a part "*" is any key of a map
  FieldKind kind;
};

constexpr Field kNodeFields[] = {{"Address", kText},
                                 {"Datacenter", kText},
                                 {"ID", kText},
                                 {"Meta", kMap},
                                 {"Meta.*", kText},
                                 {"Node", kText},
                                 {"TaggedAddresses", kMap},
                                 {"TaggedAddresses.*", kText}};

constexpr Field kServiceFields[] = {{"Address", kText},
                                    {"Connect.Native", kBool},
                                    {"EnableTagOverride", kBool},
                                    {"ID", kText},
                                    {"Kind", kText},
                                    {"Meta", kMap},
                                    {"Meta.*", kText},
                                    {"Port", kNumber},
                                    {"Proxy.*", kText},
                                    {"Service", kText},
                                    {"SocketPath", kText},
                                    {"TaggedAddresses", kMap},
                                    {"TaggedAddresses.*.Address", kText},
                                    {"TaggedAddresses.*.Port", kNumber},
                                    {"Tags", kList},
                                    {"Weights.Passing", kNumber},
                                    {"Weights.Warning", kNumber}};

constexpr Field kCheckFields[] = {
    {"CheckID", kText},     {"Interval", kText}, {"Name", kText},      {"Node", kText},
    {"Notes", kText},       {"Output", kText},   {"ServiceID", kText}, {"ServiceName", kText},
    {"ServiceTags", kList}, {"Status", kText},   {"Timeout", kText},   {"Type", kText}};

constexpr Field kServiceNodeFields[] = {{"Address", kText},
                                        {"Datacenter", kText},
                                        {"ID", kText},
                                        {"Node", kText},
                                        {"NodeMeta", kMap},
                                        {"NodeMeta.*", kText},
                                        {"ServiceAddress", kText},
                                        {"ServiceEnableTagOverride", kBool},
                                        {"ServiceID", kText},
                                        {"ServiceKind", kText},
                                        {"ServiceMeta", kMap},
                                        {"ServiceMeta.*", kText},
                                        {"ServiceName", kText},
                                        {"ServicePort", kNumber},
                                        {"ServiceTags", kList},
                                        {"ServiceTaggedAddresses", kMap},
                                        {"ServiceTaggedAddresses.*.Address", kText},
                                        {"ServiceTaggedAddresses.*.Port", kNumber},
                                        {"ServiceWeights.Passing", kNumber},
                                        {"ServiceWeights.Warning", kNumber},
                                        {"TaggedAddresses", kMap},
                                        {"TaggedAddresses.*", kText}};

// True if the pattern names the path.
bool Fits(std::string_view pattern, std::span<const std::string> path) {
  for (const std::string& part : path) {
    if (pattern.empty()) return false;
    const std::size_t dot = std::min(pattern.find('.'), pattern.size());
    const std::string_view wanted = pattern.substr(0, dot);
    if (wanted != "*" && wanted != part) return false;
    pattern.remove_prefix(std::min(dot + 1, pattern.size()));
  }
  return pattern.empty();
}

std::optional<FieldType> Look(std::span<const Field> fields, std::span<const std::string> path) {
  const auto found =
      std::ranges::find_if(fields, [&](const Field& field) { return Fits(field.path, path); });
  if (found == fields.end() || path.empty()) return std::nullopt;
  return FieldType{.kind = found->kind, .is_of_map = found->path.contains('*')};
}

std::optional<FieldType> LookInInstance(std::span<const std::string> path) {
  if (path.empty()) return std::nullopt;
  const std::string& first = path.front();
  if (first == "Checks" && path.size() == 1) return FieldType{.kind = kRows};
  if (first == "Checks") return Look(kCheckFields, path.subspan(1));
  if (first == "Node") return Look(kNodeFields, path.subspan(1));
  if (first == "Service") return Look(kServiceFields, path.subspan(1));
  return std::nullopt;
}

}  // namespace

std::optional<FieldType> FieldTypeOf(FilterRows rows, std::span<const std::string> path) {
  switch (rows) {
    case FilterRows::kInstances:
      return LookInInstance(path);
    case FilterRows::kChecks:
      return Look(kCheckFields, path);
    case FilterRows::kNodes:
      return Look(kNodeFields, path);
    case FilterRows::kServiceNodes:
      return Look(kServiceNodeFields, path);
    case FilterRows::kNodeServices:
      return Look(kServiceFields, path);
  }
  return std::nullopt;
}

}  // namespace kvorum::consul

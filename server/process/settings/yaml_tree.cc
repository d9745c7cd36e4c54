#include "server/process/settings/yaml_tree.h"

#include <yaml.h>

#include <algorithm>
#include <map>
#include <optional>

#include "server/process/settings/yaml_scalar.h"

namespace kvorum::server {
namespace {

constexpr std::size_t kMaxNodes = 10'000;
constexpr std::size_t kMaxDepth = 32;

using Member = std::pair<std::string, YamlPointer>;

// One event of libyaml, freed with its scope.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(&event_); }
  yaml_event_t* operator->() { return &event_; }
  yaml_event_t* get() { return &event_; }

 private:
  yaml_event_t event_{};
};

// A list or a map that has not ended yet.
struct Open {
  std::shared_ptr<YamlNode> node;
  std::string anchor = {};
  std::optional<std::string> key = {};  // of a map: the key whose value comes next
  bool key_merges = false;              // that key is a plain <<
};

class TreeBuilder {
 public:
  explicit TreeBuilder(std::string_view text) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  TreeBuilder(const TreeBuilder&) = delete;
  TreeBuilder& operator=(const TreeBuilder&) = delete;
  ~TreeBuilder() { yaml_parser_delete(&parser_); }

  Result<YamlPointer> Build() {
    while (true) {
      Event event;
      if (yaml_parser_parse(&parser_, event.get()) == 0) return ParserFault();
      switch (event->type) {
        case YAML_STREAM_END_EVENT:
        case YAML_DOCUMENT_END_EVENT:
          if (root_ == nullptr) root_ = Empty();
          return root_;
        case YAML_ALIAS_EVENT:
          KV_RETURN_IF_ERROR(OnAlias(event));
          break;
        case YAML_SCALAR_EVENT:
          KV_RETURN_IF_ERROR(OnScalar(event));
          break;
        case YAML_SEQUENCE_START_EVENT:
          KV_RETURN_IF_ERROR(
              OnStart(YamlNode::Kind::kList, event, event->data.sequence_start.anchor));
          break;
        case YAML_MAPPING_START_EVENT:
          KV_RETURN_IF_ERROR(
              OnStart(YamlNode::Kind::kMap, event, event->data.mapping_start.anchor));
          break;
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
          KV_RETURN_IF_ERROR(OnEnd());
          break;
        case YAML_NO_EVENT:
        case YAML_STREAM_START_EVENT:
        case YAML_DOCUMENT_START_EVENT:
          break;
      }
    }
  }

 private:
  static YamlPointer Empty() {
    return std::make_shared<const YamlNode>(YamlNode{.kind = YamlNode::Kind::kMap, .line = 1});
  }

  static std::string Text(const yaml_char_t* text) {
    return text == nullptr ? std::string() : reinterpret_cast<const char*>(text);
  }

  static std::unexpected<Error> At(std::size_t line, const std::string& what) {
    return Fail(Code::kInvalidArgument, "line " + std::to_string(line) + ": " + what);
  }

  std::unexpected<Error> ParserFault() const {
    const std::string problem = parser_.problem == nullptr ? "no memory" : parser_.problem;
    return At(parser_.problem_mark.line + 1, problem);
  }

  static std::size_t LineOf(Event& event) { return event->start_mark.line + 1; }

  Result<void> Count(std::size_t line) {
    if (++nodes_ > kMaxNodes) return At(line, "more values than a configuration has");
    return {};
  }

  Result<void> OnAlias(Event& event) {
    const std::string anchor = Text(event->data.alias.anchor);
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end())
      return At(LineOf(event), "unknown anchor '" + anchor + "' referenced");
    return Add(known->second, LineOf(event), false);
  }

  Result<void> OnScalar(Event& event) {
    const auto& scalar = event->data.scalar;
    const std::size_t line = LineOf(event);
    auto node = std::make_shared<YamlNode>(YamlNode{.line = line});
    const std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
    const bool is_plain = scalar.style == YAML_PLAIN_SCALAR_STYLE && scalar.tag == nullptr;
    if (!is_plain) {
      node->kind = YamlNode::Kind::kString;
      node->text = text;
    } else if (const auto resolved = ResolvePlain(text, *node); !resolved.has_value()) {
      return At(line, resolved.error().message);
    }
    if (const std::string anchor = Text(scalar.anchor); !anchor.empty()) anchors_[anchor] = node;
    return Add(std::move(node), line, is_plain && text == "<<");
  }

  Result<void> OnStart(YamlNode::Kind kind, Event& event, const yaml_char_t* anchor) {
    const std::size_t line = LineOf(event);
    if (open_.size() >= kMaxDepth) return At(line, "nested more deeply than a configuration is");
    if (!open_.empty() && open_.back().node->kind == YamlNode::Kind::kMap && !open_.back().key)
      return At(line, "a key must be a word");
    open_.push_back({.node = std::make_shared<YamlNode>(YamlNode{.kind = kind, .line = line}),
                     .anchor = Text(anchor)});
    return {};
  }

  Result<void> OnEnd() {
    Open done = std::move(open_.back());
    open_.pop_back();
    const std::size_t line = done.node->line;
    if (!done.anchor.empty()) anchors_[done.anchor] = done.node;
    return Add(std::move(done.node), line, false);
  }

  // Gives a node to what is open: as a key, a value or an item.
  Result<void> Add(YamlPointer node, std::size_t line, bool is_merge_key) {
    KV_RETURN_IF_ERROR(Count(line));
    if (open_.empty()) {
      root_ = std::move(node);
      return {};
    }
    Open& parent = open_.back();
    parent.node->height = std::max(parent.node->height, node->height + 1);
    if (parent.node->height > kMaxDepth)
      return At(line, "nested more deeply than a configuration is");
    if (parent.node->kind == YamlNode::Kind::kList) {
      parent.node->items.push_back(std::move(node));
      return {};
    }
    if (!parent.key) {
      if (node->kind == YamlNode::Kind::kList || node->kind == YamlNode::Kind::kMap)
        return At(line, "a key must be a word");
      parent.key = node->text;
      parent.key_merges = is_merge_key;
      return {};
    }
    const std::string key = *std::exchange(parent.key, std::nullopt);
    if (parent.key_merges) return Merge(*parent.node, *node, line);
    auto& members = parent.node->members;
    const auto same = std::ranges::find(members, key, &Member::first);
    if (same != members.end()) members.erase(same);
    members.emplace_back(key, std::move(node));
    return {};
  }

  // Adds the members of another map, or of a list of maps, whose keys the map does not have yet.
  Result<void> Merge(YamlNode& map, const YamlNode& other, std::size_t line) {
    if (other.kind == YamlNode::Kind::kList) {
      for (const YamlPointer& item : other.items) {
        if (item->kind != YamlNode::Kind::kMap) return At(line, "map merge requires maps");
        KV_RETURN_IF_ERROR(Merge(map, *item, line));
      }
      return {};
    }
    if (other.kind != YamlNode::Kind::kMap) return At(line, "map merge requires maps");
    for (const auto& [key, value] : other.members) {
      KV_RETURN_IF_ERROR(Count(line));
      if (std::ranges::find(map.members, key, &Member::first) != map.members.end()) continue;
      map.height = std::max(map.height, value->height + 1);
      map.members.emplace_back(key, value);
    }
    return {};
  }

  yaml_parser_t parser_{};
  YamlPointer root_;
  std::vector<Open> open_;
  std::map<std::string, YamlPointer> anchors_;
  std::size_t nodes_ = 0;
};

}  // namespace

std::string_view KindName(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kBool:
      return "a boolean";
    case YamlNode::Kind::kNumber:
      return "a number";
    case YamlNode::Kind::kString:
      return "a string";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  return "";
}

Result<YamlPointer> ParseYaml(std::string_view text) {
  if (text.size() > kMaxConfigBytes) {
    return Fail(Code::kInvalidArgument,
                "larger than a configuration is: " + std::to_string(text.size()) + " bytes");
  }
  return TreeBuilder(text).Build();
}

}  // namespace kvorum::server

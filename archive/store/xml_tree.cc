#include "archive/store/xml_tree.h"

#include <expat.h>

#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

namespace kvorum::archive {
namespace {

// The handlers of one parse. The elements that are open are kept apart from the tree, since a
// vector moves its elements as it grows.
struct XmlBuilder {
  XML_Parser parser = nullptr;
  std::vector<XmlElement> open;
  XmlElement root;
  std::size_t elements = 0;

  void Refuse() const { XML_StopParser(parser, XML_FALSE); }
};

void OnXmlStart(void* data, const XML_Char* name, const XML_Char** /*attributes*/) {
  auto& builder = *static_cast<XmlBuilder*>(data);
  if (builder.open.size() >= kMaxXmlDepth || ++builder.elements > kMaxXmlElements) {
    return builder.Refuse();
  }
  builder.open.push_back({.name = name, .text = {}, .children = {}});
}

void OnXmlEnd(void* data, const XML_Char* /*name*/) {
  auto& builder = *static_cast<XmlBuilder*>(data);
  if (builder.open.empty()) return;
  XmlElement ended = std::move(builder.open.back());
  builder.open.pop_back();
  XmlElement* const parent = builder.open.empty() ? nullptr : &builder.open.back();
  if (parent == nullptr) {
    builder.root = std::move(ended);
  } else {
    parent->children.push_back(std::move(ended));
  }
}

void OnXmlText(void* data, const XML_Char* text, int size) {
  auto& builder = *static_cast<XmlBuilder*>(data);
  if (!builder.open.empty()) builder.open.back().text.append(text, static_cast<std::size_t>(size));
}

void OnXmlDoctype(void* data, const XML_Char* /*name*/, const XML_Char* /*system*/,
                  const XML_Char* /*public_id*/, int /*has_internal_subset*/) {
  static_cast<XmlBuilder*>(data)->Refuse();
}

}  // namespace

const XmlElement* XmlElement::Child(std::string_view wanted) const {
  for (const XmlElement& child : children) {
    if (child.name == wanted) return &child;
  }
  return nullptr;
}

std::string_view XmlElement::TextOf(std::string_view wanted) const {
  const XmlElement* const child = Child(wanted);
  return child == nullptr ? std::string_view() : child->text;
}

std::optional<XmlElement> ParseXml(std::string_view text) {
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return std::nullopt;
  const std::unique_ptr<std::remove_pointer_t<XML_Parser>, void (*)(XML_Parser)> parser(
      XML_ParserCreate("UTF-8"), &XML_ParserFree);
  if (parser == nullptr) return std::nullopt;
  XmlBuilder builder{.parser = parser.get(), .open = {}, .root = {}};
  XML_SetUserData(parser.get(), &builder);
  XML_SetElementHandler(parser.get(), &OnXmlStart, &OnXmlEnd);
  XML_SetCharacterDataHandler(parser.get(), &OnXmlText);
  XML_SetStartDoctypeDeclHandler(parser.get(), &OnXmlDoctype);
  const XML_Status status =
      XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), XML_TRUE);
  if (status != XML_STATUS_OK) return std::nullopt;
  return std::move(builder.root);
}

}  // namespace kvorum::archive

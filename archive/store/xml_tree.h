// An XML answer of a store as a tree, read by expat with bounds: of the text's size, by its caller;
// of depth and of the number of elements, here. A document type, and with it every entity of its
// own, is refused. Values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvorum::archive {

inline constexpr std::size_t kMaxXmlDepth = 16;
inline constexpr std::size_t kMaxXmlElements = 50'000;

struct XmlElement {
  std::string name;
  std::string text;  // what stands between its tags, without that of its children
  std::vector<XmlElement> children;

  // The first child of this name, or null.
  const XmlElement* Child(std::string_view wanted) const;
  // The text of the first child of this name; empty without one.
  std::string_view TextOf(std::string_view wanted) const;
};

// The root. Nothing if the text is not well-formed or breaks a bound.
std::optional<XmlElement> ParseXml(std::string_view text);

}  // namespace kvorum::archive

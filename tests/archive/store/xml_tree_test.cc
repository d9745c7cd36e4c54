#include "archive/store/xml_tree.h"

#include <gtest/gtest.h>

#include "base/text/escape_markup.h"

namespace kvorum::archive {
namespace {

TEST(XmlTreeTest, ReadsElementsTextAndReferences) {
  const auto root =
      ParseXml("<?xml version=\"1.0\"?><a x=\"1\">one<b>t&amp;wo</b><b/><c><d>4</d></c></a>");
  ASSERT_TRUE(root.has_value());
  EXPECT_EQ(root->name, "a");
  EXPECT_EQ(root->text, "one");
  EXPECT_EQ(root->TextOf("b"), "t&wo");
  EXPECT_EQ(root->children.size(), 3u);
  ASSERT_NE(root->Child("c"), nullptr);
  EXPECT_EQ(root->Child("c")->TextOf("d"), "4");
  EXPECT_EQ(root->Child("missing"), nullptr);
  EXPECT_EQ(root->TextOf("missing"), "");
}

TEST(XmlTreeTest, RefusesWhatIsCutAtAnyByte) {
  const std::string text = "<a><b>x</b></a>";
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(ParseXml(text.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(ParseXml(text + "<c/>").has_value());
}

TEST(XmlTreeTest, RefusesADocumentTypeWithItsEntities) {
  EXPECT_FALSE(ParseXml("<!DOCTYPE a [<!ENTITY b \"bbbb\">]><a>&b;</a>").has_value());
  EXPECT_FALSE(ParseXml("<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>").has_value());
}

TEST(XmlTreeTest, BoundsDepthAndNumberOfElements) {
  const auto nested = [](std::size_t depth) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += "<a>";
    for (std::size_t i = 0; i < depth; ++i) text += "</a>";
    return text;
  };
  EXPECT_TRUE(ParseXml(nested(kMaxXmlDepth)).has_value());
  EXPECT_FALSE(ParseXml(nested(kMaxXmlDepth + 1)).has_value());
  const auto wide = [](std::size_t count) {
    std::string text = "<a>";
    for (std::size_t i = 0; i < count; ++i) text += "<b/>";
    return text + "</a>";
  };
  EXPECT_TRUE(ParseXml(wide(kMaxXmlElements - 1)).has_value());
  EXPECT_FALSE(ParseXml(wide(kMaxXmlElements)).has_value());
}

TEST(XmlTreeTest, WhatIsEscapedReadsAsItWas) {
  const std::string text = "a<b>&\"c'";
  EXPECT_EQ(ParseXml("<a>" + EscapeMarkup(text) + "</a>")->text, text);
}

}  // namespace
}  // namespace kvorum::archive

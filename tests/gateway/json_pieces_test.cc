// A body in pieces holds the same values as the whole one, wherever it is cut.
#include "server/gateway/json_pieces.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "server/gateway/json_values.h"

namespace kvorum::server::gateway {
namespace {

constexpr std::size_t kMaxValueBytes = 1'000;

// The values, then the fault's text if there is one.
std::vector<std::string> ValuesOfWhole(std::string_view text) {
  std::vector<std::string> values;
  JsonValues whole(text);
  while (true) {
    const auto value = whole.Next();
    if (!value.has_value()) {
      values.push_back("fault");
      return values;
    }
    if (!value->has_value()) return values;
    values.emplace_back(**value);
  }
}

std::vector<std::string> ValuesOfPieces(std::string_view text, std::size_t piece_bytes) {
  std::vector<std::string> values;
  JsonPieces pieces(kMaxValueBytes);
  std::size_t at = 0;
  while (true) {
    if (!pieces.HasNext()) {
      if (at == text.size()) {
        pieces.End();
      } else {
        pieces.Put(text.substr(at, piece_bytes));
        at = std::min(at + piece_bytes, text.size());
      }
      continue;
    }
    const auto value = pieces.Next();
    if (!value.has_value()) {
      values.push_back("fault");
      return values;
    }
    if (!value->has_value()) return values;
    values.push_back(**value);
  }
}

TEST(JsonPieces, AnyCutsGiveTheSameValues) {
  for (const std::string_view text :
       {R"({"a":1}{"b":[2,{"c":"}]\"\\"}]} {} )", R"( [1,2] "x\"y" 5 -1.5e+3 null true{"k":"v"})",
        R"({"ID":"7"}{"ID":8} bad {"ID":9})", R"({"a":1)", R"({"a":"unended)", R"({]})", R"(}{})",
        R"(nullnull 12x {})", R"({"a":1},{"b":2})", "", " \n\t ", R"("text")", R"("\")", "\xff{}",
        R"([[[[]]]]{"deep":{"er":{}}})", ":", "1 2 3", "tru", R"({"k":"\u00e9"}"")"}) {
    const std::vector<std::string> whole = ValuesOfWhole(text);
    for (std::size_t piece_bytes = 1; piece_bytes <= text.size() + 1; ++piece_bytes)
      EXPECT_EQ(ValuesOfPieces(text, piece_bytes), whole) << text << " by " << piece_bytes;
  }
}

TEST(JsonPieces, AValueIsThereWithItsLastByte) {
  JsonPieces pieces(kMaxValueBytes);
  EXPECT_FALSE(pieces.HasNext());
  pieces.Put(R"({"a":)");
  EXPECT_FALSE(pieces.HasNext());
  pieces.Put(R"(1} {"b")");
  ASSERT_TRUE(pieces.HasNext());
  EXPECT_EQ(pieces.Next().value(), R"({"a":1})");
  EXPECT_FALSE(pieces.HasNext());
  pieces.Put(":2}");
  ASSERT_TRUE(pieces.HasNext());
  EXPECT_EQ(pieces.Next().value(), R"({"b":2})");
  pieces.End();
  ASSERT_TRUE(pieces.HasNext());
  EXPECT_EQ(pieces.Next().value(), std::nullopt);
}

TEST(JsonPieces, AValueHasABound) {
  JsonPieces pieces(kMaxValueBytes);
  pieces.Put("\"" + std::string(kMaxValueBytes - 1, 'x'));
  EXPECT_FALSE(pieces.HasNext());
  pieces.Put("x");
  EXPECT_TRUE(pieces.HasNext());
  EXPECT_TRUE(pieces.is_too_large());
  // Several that are more together are fine.
  JsonPieces many(kMaxValueBytes);
  for (std::size_t i = 0; i < kMaxValueBytes; ++i) many.Put("{}");
  for (std::size_t i = 0; i < kMaxValueBytes; ++i) {
    ASSERT_TRUE(many.HasNext());
    ASSERT_FALSE(many.is_too_large());
    ASSERT_EQ(many.Next().value(), "{}");
  }
}

}  // namespace
}  // namespace kvorum::server::gateway

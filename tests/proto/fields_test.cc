// A table applied to a struct: its bytes, and decoding bytes into it.
#include "proto/fields.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/rng.h"
#include "proto/inline_fields.h"

namespace kvorum::wire {
namespace {

using namespace std::string_view_literals;

enum class Color : std::int32_t { kRed = 0, kGreen = 1 };
enum class Size : std::uint8_t { kSmall = 0, kLarge = 1 };

struct Leaf {
  std::int64_t number = 0;
  std::string text{};

  friend bool operator==(const Leaf&, const Leaf&) = default;
};
constexpr auto kLeaf = Describe<Leaf, Field<1, &Leaf::number>, Text<2, &Leaf::text>>("Leaf");

constexpr auto kNumber = Describe<std::int64_t, Only<1, std::int64_t>>("Number");

struct Empty {
  friend bool operator==(const Empty&, const Empty&) = default;
};
constexpr auto kEmpty = Describe<Empty>("Empty");

struct Everything {
  std::int64_t i64 = 0;
  std::uint64_t u64 = 0;
  std::uint32_t u32 = 0;
  bool flag = false;
  Color color = Color::kRed;
  Size size = Size::kSmall;
  std::string_view view{};
  SharedBytes shared{};
  std::optional<std::int64_t> maybe{};
  std::vector<std::uint64_t> numbers{};
  std::vector<std::uint32_t> packed{};
  std::vector<std::string> texts{};
  std::optional<Leaf> leaf{};
  std::vector<Leaf> leaves{};
  std::variant<std::monostate, Leaf, Empty> kind{};
  std::optional<std::string_view> encoded{};
  std::vector<std::int64_t> ids{};

  friend bool operator==(const Everything&, const Everything&) = default;
};
constexpr auto kEverything =
    Describe<Everything, Field<1, &Everything::i64>, Field<2, &Everything::u64>,
             Field<3, &Everything::u32>, Field<4, &Everything::flag>, Field<5, &Everything::color>,
             ClosedEnum<6, &Everything::size, Size::kLarge>, Field<7, &Everything::view>,
             Field<8, &Everything::shared>, Field<9, &Everything::maybe>,
             Field<10, &Everything::numbers>, Packed<Field<11, &Everything::packed>>,
             UncheckedText<12, &Everything::texts>, Nested<13, &Everything::leaf, kLeaf>,
             Nested<14, &Everything::leaves, kLeaf>, OneOf<15, &Everything::kind, Leaf, kLeaf>,
             OneOf<16, &Everything::kind, Empty, kEmpty>, Encoded<17, &Everything::encoded>,
             Nested<18, &Everything::ids, kNumber>>("Everything");

struct Parts {
  std::int64_t zero = 0;
  std::string none{};
  Leaf leaf{};
};
constexpr auto kStrict =
    Describe<Parts, Always<Field<1, &Parts::zero>>, Always<Field<2, &Parts::none>>,
             Nested<3, &Parts::leaf, kLeaf>>("Strict", OtherTypes::kAreMalformed);

Everything Read(std::string_view bytes) {
  Everything message;
  EXPECT_EQ(Decode(kEverything, bytes, message), Decoded::kOk);
  return message;
}
Decoded OutcomeOf(std::string_view bytes) {
  Everything message;
  return Decode(kEverything, bytes, message);
}

TEST(FieldsTest, FieldsOfValueZeroAreLeftOut) {
  EXPECT_EQ(Encode(kEverything, {}), "");
  EXPECT_EQ(Read(""), Everything());
}

TEST(FieldsTest, EachKindHasItsBytes) {
  EXPECT_EQ(Encode(kEverything, {.i64 = -1}), "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  EXPECT_EQ(Encode(kEverything, {.u64 = 300}), "\x10\xac\x02");
  EXPECT_EQ(Encode(kEverything, {.u32 = UINT32_MAX}), "\x18\xff\xff\xff\xff\x0f");
  EXPECT_EQ(Encode(kEverything, {.flag = true}), "\x20\x01");
  EXPECT_EQ(Encode(kEverything, {.color = Color::kGreen}), "\x28\x01");
  EXPECT_EQ(Encode(kEverything, {.color = static_cast<Color>(-1)}),
            "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  EXPECT_EQ(Encode(kEverything, {.size = Size::kLarge}), "\x30\x01");
  EXPECT_EQ(Encode(kEverything, {.view = "v"}), "\x3a\x01v");
  EXPECT_EQ(Encode(kEverything, {.shared = SharedBytes::Copy("s")}), "\x42\x01s");
  EXPECT_EQ(Encode(kEverything, {.numbers = {0, 5}}), "\x50\x00\x50\x05"sv);
  EXPECT_EQ(Encode(kEverything, {.packed = {0, 300}}), "\x5a\x03\x00\xac\x02"sv);
  EXPECT_EQ(Encode(kEverything, {.texts = {"", "a"}}),
            "\x62\x00\x62\x01"
            "a"sv);
  EXPECT_EQ(Encode(kEverything, {.leaf = Leaf{}}), "\x6a\x00"sv);
  EXPECT_EQ(Encode(kEverything, {.leaves = {{.number = 1}, {}}}), "\x72\x02\x08\x01\x72\x00"sv);
  EXPECT_EQ(Encode(kEverything, {.kind = Leaf{.number = 2}}), "\x7a\x02\x08\x02");
  EXPECT_EQ(Encode(kEverything, {.kind = Empty()}), "\x82\x01\x00"sv);
  EXPECT_EQ(Encode(kEverything, {.encoded = "\x08\x01"}), "\x8a\x01\x02\x08\x01");
  EXPECT_EQ(Encode(kEverything, {.ids = {7, 0}}), "\x92\x01\x02\x08\x07\x92\x01\x00"sv);
}

TEST(FieldsTest, WhatIsSetIsWrittenEvenIfItIsZero) {
  EXPECT_EQ(Encode(kEverything, {.maybe = 0}), "\x48\x00"sv);
  EXPECT_EQ(Encode(kEverything, {.encoded = ""}), "\x8a\x01\x00"sv);
  EXPECT_EQ(Encode(kStrict, {}), "\x08\x00\x12\x00\x1a\x00"sv);
}

TEST(FieldsTest, SharedBytesAndStringsAreTheSame) {
  const Everything message{.u64 = 7, .view = "view", .leaves = {{}, {.text = "t"}}};
  EXPECT_EQ(EncodeShared(kEverything, message).view(), Encode(kEverything, message));
  EXPECT_EQ(EncodedSize(kEverything, &message), Encode(kEverything, message).size());
  std::string out = "before";
  AppendTo(out, kEverything, &message);
  EXPECT_EQ(out, "before" + Encode(kEverything, message));
}

TEST(FieldsTest, NumbersAreCutAsInProtobuf) {
  EXPECT_EQ(Read("\x18\xff\xff\xff\xff\x1f").u32, UINT32_MAX);
  EXPECT_EQ(Read("\x20\x80\x02").flag, true);
  EXPECT_EQ(Read("\x28\x81\x80\x80\x80\x10").color, Color::kGreen);
}

TEST(FieldsTest, RepeatedNumbersAreReadInBothSpellings) {
  EXPECT_EQ(Read("\x50\x01\x52\x02\x02\x03").numbers, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(Read("\x58\x01\x5a\x02\x02\x03").packed, (std::vector<std::uint32_t>{1, 2, 3}));
}

TEST(FieldsTest, AnEnumThatIsClosedRefusesOtherNumbers) {
  EXPECT_EQ(OutcomeOf("\x30\x02"), Decoded::kMalformed);
  EXPECT_EQ(Read("\x28\x02").color, static_cast<Color>(2));
}

TEST(FieldsTest, TheLastOfAFieldWinsAndPartsOfAMessageAreMerged) {
  EXPECT_EQ(Read("\x08\x01\x08\x02").i64, 2);
  EXPECT_EQ(Read("\x6a\x02\x08\x01\x6a\x03\x12\x01t").leaf, (Leaf{.number = 1, .text = "t"}));
  EXPECT_EQ(Read("\x72\x02\x08\x01\x72\x00"sv).leaves, (std::vector<Leaf>{{.number = 1}, {}}));
}

TEST(FieldsTest, AMessageMayBeItsOnlyFieldsValue) {
  EXPECT_EQ(Encode(kNumber, std::int64_t{5}), "\x08\x05");
  EXPECT_EQ(Encode(kNumber, std::int64_t{0}), "");
  EXPECT_EQ(Read("\x92\x01\x02\x08\x07\x92\x01\x00"sv).ids, (std::vector<std::int64_t>{7, 0}));
}

TEST(FieldsTest, TheLastKindOfAOneOfWins) {
  EXPECT_EQ(std::get<Leaf>(Read("\x7a\x02\x08\x01\x7a\x03\x12\x01t").kind),
            (Leaf{.number = 1, .text = "t"}));
  EXPECT_TRUE(std::holds_alternative<Empty>(Read("\x7a\x02\x08\x01\x82\x01\x00"sv).kind));
  EXPECT_EQ(std::get<Leaf>(Read("\x7a\x02\x08\x01\x82\x01\x00\x7a\x00"sv).kind), Leaf());
}

TEST(FieldsTest, UnknownFieldsAndOtherTypesAreSkipped) {
  EXPECT_EQ(Read("\xc0\x3e\x05\x08\x01").i64, 1);
  EXPECT_EQ(Read("\x0a\x01x\x10\x02"), (Everything{.u64 = 2}));
  EXPECT_EQ(Read("\x38\x01"), Everything());
  EXPECT_EQ(Read("\x0b\x08\x01\x0c\x08\x05").i64, 5);  // a group
}

TEST(FieldsTest, OtherTypesAreMalformedWhereTheTableSaysSo) {
  Parts parts;
  EXPECT_EQ(Decode(kStrict, "\x0a\x01x"sv, parts), Decoded::kMalformed);
  EXPECT_EQ(Decode(kStrict, "\x10\x01"sv, parts), Decoded::kMalformed);
  EXPECT_EQ(Decode(kStrict, "\x20\x01"sv, parts), Decoded::kOk);  // a number without a field
}

TEST(FieldsTest, TextIsUtf8WhereItIsChecked) {
  EXPECT_EQ(OutcomeOf("\x6a\x03\x12\x01\xff"), Decoded::kInvalidUtf8);
  EXPECT_EQ(OutcomeOf("\x62\x01\xff"), Decoded::kOk);
  EXPECT_EQ(OutcomeOf("\x3a\x01\xff"), Decoded::kOk);
  EXPECT_EQ(OutcomeOf("\x6a\x03\x12\x01\xff\x08"), Decoded::kInvalidUtf8);  // which came first
}

TEST(FieldsTest, MalformedBytesAreRefusedAtEachDepth) {
  EXPECT_EQ(OutcomeOf("\x08"), Decoded::kMalformed);
  EXPECT_EQ(OutcomeOf("\x3a\x05v"), Decoded::kMalformed);
  EXPECT_EQ(OutcomeOf("\x6a\x01\x08"), Decoded::kMalformed);
  EXPECT_EQ(OutcomeOf("\x7a\x01\x08"), Decoded::kMalformed);
  EXPECT_EQ(OutcomeOf("\x5a\x01\x80"), Decoded::kMalformed);
}

TEST(FieldsTest, SharedBytesAreSlicesOfTheirBlock) {
  const SharedBytes block = SharedBytes::Copy("\x42\x03put");
  Everything message;
  ASSERT_EQ(DecodeInto(&message, kEverything, block.view(), &block), Decoded::kOk);
  EXPECT_EQ(message.shared.data(), block.data() + 2);
  ASSERT_EQ(Decode(kEverything, block.view(), message), Decoded::kOk);
  EXPECT_EQ(message.shared.view(), "put");
  EXPECT_NE(message.shared.data(), block.data() + 2);
}

TEST(FieldsTest, RandomBytesAreReadAndWrittenAgain) {
  Rng rng(4);
  int read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(rng.Below(30), '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng.Below(rng.OneIn(2) ? 256 : 140));
    Everything message;
    if (Decode(kEverything, bytes, message) != Decoded::kOk) continue;
    ++read;
    const std::string again = Encode(kEverything, message);
    EXPECT_EQ(Read(again), message);
  }
  EXPECT_GT(read, 100);
}

// --- unrolled ----------------------------------------------------------------------------------

struct Hot {
  std::string_view view;
  std::int64_t i64 = 0;
  std::uint32_t u32 = 0;
  bool flag = false;
  Color color = Color::kRed;
  friend bool operator==(const Hot&, const Hot&) = default;
};
using HotFields = Fields<Field<1, &Hot::view>, Field<2, &Hot::i64>, Field<3, &Hot::u32>,
                         Field<4, &Hot::flag>, Field<20, &Hot::color>>;
constexpr auto kHot = DescribeFields<Hot>(HotFields(), "test.Hot");

TEST(InlineFieldsTest, AMessageIsReadAsByItsTable) {
  Rng rng(5);
  int read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = Encode(kHot, {.view = "view",
                                      .i64 = static_cast<std::int64_t>(rng() >> rng.Below(64)),
                                      .u32 = static_cast<std::uint32_t>(rng()),
                                      .flag = rng.OneIn(2),
                                      .color = static_cast<Color>(rng())});
    if (rng.OneIn(2)) bytes.resize(rng.Below(bytes.size() + 1));
    if (rng.OneIn(2) && !bytes.empty())
      bytes[rng.Below(bytes.size())] ^= static_cast<char>(1U << rng.Below(8));
    Hot by_table;
    Hot unrolled;
    const bool is_read = ReadInline(HotFields(), bytes, unrolled);
    ASSERT_EQ(Decode(kHot, bytes, by_table) == Decoded::kOk, is_read);
    if (!is_read) continue;
    ++read;
    ASSERT_EQ(unrolled, by_table);
  }
  EXPECT_GT(read, 5'000);
}

}  // namespace
}  // namespace kvorum::wire

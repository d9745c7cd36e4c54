// The KV service's requests, decoded by hand, compared with the protobuf library's reading of the
// same bytes.
//
// Both must accept the same bytes and see the same in them, with two exceptions that no client's
// encoder produces: a varint of more than 64 bits is refused here (as by Go's library) and cut
// there; a tag may have up to ten bytes here (as in Go) and five there.
#include "api/kv_decode.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/kv_request_encode.h"
#include "base/rng.h"
#include "proto/rpc.pb.h"
#include "proto/wire.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// --- one text for both sides -------------------------------------------------------------------

class TextBuilder {
 public:
  TextBuilder& Add(std::string_view name, std::string_view bytes) {
    text_.append(name).append("=").append(bytes).append(";");
    return *this;
  }
  TextBuilder& Add(std::string_view name, std::int64_t number) {
    return Add(name, std::to_string(number));
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string TextOf(const etcdserverpb::RangeRequest& r) {
  return TextBuilder()
      .Add("key", r.key())
      .Add("end", r.range_end())
      .Add("limit", r.limit())
      .Add("revision", r.revision())
      .Add("order", r.sort_order())
      .Add("target", r.sort_target())
      .Add("serializable", r.serializable())
      .Add("keys_only", r.keys_only())
      .Add("count_only", r.count_only())
      .Add("min_mod", r.min_mod_revision())
      .Add("max_mod", r.max_mod_revision())
      .Add("min_create", r.min_create_revision())
      .Add("max_create", r.max_create_revision())
      .Take();
}
std::string TextOf(const mvcc::RangeRequest& r) {
  return TextBuilder()
      .Add("key", r.key)
      .Add("end", r.range_end)
      .Add("limit", r.limit)
      .Add("revision", r.revision)
      .Add("order", static_cast<std::int32_t>(r.sort_order))
      .Add("target", static_cast<std::int32_t>(r.sort_target))
      .Add("serializable", r.serializable)
      .Add("keys_only", r.keys_only)
      .Add("count_only", r.count_only)
      .Add("min_mod", r.min_mod_revision)
      .Add("max_mod", r.max_mod_revision)
      .Add("min_create", r.min_create_revision)
      .Add("max_create", r.max_create_revision)
      .Take();
}

std::string TextOf(const etcdserverpb::PutRequest& r) {
  return TextBuilder()
      .Add("key", r.key())
      .Add("value", r.value())
      .Add("lease", r.lease())
      .Add("prev_kv", r.prev_kv())
      .Add("ignore_value", r.ignore_value())
      .Add("ignore_lease", r.ignore_lease())
      .Take();
}
std::string TextOf(const mvcc::PutRequest& r) {
  return TextBuilder()
      .Add("key", r.key)
      .Add("value", r.value)
      .Add("lease", r.lease)
      .Add("prev_kv", r.prev_kv)
      .Add("ignore_value", r.ignore_value)
      .Add("ignore_lease", r.ignore_lease)
      .Take();
}

std::string TextOf(const etcdserverpb::DeleteRangeRequest& r) {
  return TextBuilder()
      .Add("key", r.key())
      .Add("end", r.range_end())
      .Add("prev_kv", r.prev_kv())
      .Take();
}
std::string TextOf(const mvcc::DeleteRangeRequest& r) {
  return TextBuilder().Add("key", r.key).Add("end", r.range_end).Add("prev_kv", r.prev_kv).Take();
}

std::string TextOf(const etcdserverpb::CompactionRequest& r) {
  return TextBuilder().Add("revision", r.revision()).Add("physical", r.physical()).Take();
}
std::string TextOf(const CompactionRequest& r) {
  return TextBuilder().Add("revision", r.revision).Add("physical", r.physical).Take();
}

// The union's content for the target; anything else in it counts as nothing.
std::string TextOf(const etcdserverpb::Compare& c) {
  std::int64_t number = 0;
  std::string value;
  switch (c.target()) {
    case etcdserverpb::Compare::VERSION:
      number = c.version();
      break;
    case etcdserverpb::Compare::CREATE:
      number = c.create_revision();
      break;
    case etcdserverpb::Compare::MOD:
      number = c.mod_revision();
      break;
    case etcdserverpb::Compare::VALUE:
      value = c.value();
      break;
    case etcdserverpb::Compare::LEASE:
      number = c.lease();
      break;
    default:
      break;
  }
  return TextBuilder()
      .Add("result", c.result())
      .Add("target", c.target())
      .Add("key", c.key())
      .Add("end", c.range_end())
      .Add("number", number)
      .Add("value", value)
      .Take();
}
std::string TextOf(const mvcc::Compare& c) {
  return TextBuilder()
      .Add("result", static_cast<std::int32_t>(c.result))
      .Add("target", static_cast<std::int32_t>(c.target))
      .Add("key", c.key)
      .Add("end", c.range_end)
      .Add("number", c.number)
      .Add("value", c.value)
      .Take();
}

std::string TextOf(const etcdserverpb::TxnRequest& r);
std::string TextOf(const etcdserverpb::RequestOp& op) {
  switch (op.request_case()) {
    case etcdserverpb::RequestOp::kRequestRange:
      return "range(" + TextOf(op.request_range()) + ")";
    case etcdserverpb::RequestOp::kRequestPut:
      return "put(" + TextOf(op.request_put()) + ")";
    case etcdserverpb::RequestOp::kRequestDeleteRange:
      return "delete(" + TextOf(op.request_delete_range()) + ")";
    case etcdserverpb::RequestOp::kRequestTxn:
      return "txn(" + TextOf(op.request_txn()) + ")";
    case etcdserverpb::RequestOp::REQUEST_NOT_SET:
      break;
  }
  return "nothing";
}
std::string TextOf(const etcdserverpb::TxnRequest& r) {
  std::string text;
  for (const auto& compare : r.compare()) text += "if " + TextOf(compare);
  for (const auto& op : r.success()) text += " then " + TextOf(op);
  for (const auto& op : r.failure()) text += " else " + TextOf(op);
  return text;
}

std::string TextOf(const mvcc::TxnRequest& r);
struct OpText {
  std::string operator()(std::monostate) const { return "nothing"; }
  std::string operator()(const mvcc::RangeRequest& r) const { return "range(" + TextOf(r) + ")"; }
  std::string operator()(const mvcc::PutRequest& r) const { return "put(" + TextOf(r) + ")"; }
  std::string operator()(const mvcc::DeleteRangeRequest& r) const {
    return "delete(" + TextOf(r) + ")";
  }
  std::string operator()(const std::unique_ptr<mvcc::TxnRequest>& r) const {
    return "txn(" + TextOf(*r) + ")";
  }
};
std::string TextOf(const mvcc::TxnRequest& r) {
  std::string text;
  for (const mvcc::Compare& compare : r.compare) text += "if " + TextOf(compare);
  for (const mvcc::RequestOp& op : r.success) text += " then " + std::visit(OpText{}, op);
  for (const mvcc::RequestOp& op : r.failure) text += " else " + std::visit(OpText{}, op);
  return text;
}

// --- random bytes of a message -----------------------------------------------------------------

std::uint64_t RandomVarint(Rng& rng) { return rng.OneIn(4) ? rng() : rng() >> (1 + rng.Below(63)); }

void AppendUnknown(std::string& out, Rng& rng, int depth);

// The field in some wire type but the one that it has.
void AppendMistyped(std::string& out, Rng& rng, std::uint32_t field, wire::Type known,
                    int depth = 0) {
  switch (rng.Below(4)) {
    case 0:
      if (known == wire::Type::kVarint)
        return wire::AppendBytesAlways(out, field, std::string(rng.Below(20), 'u'));
      return wire::AppendUintAlways(out, field, RandomVarint(rng));
    case 1:
      wire::AppendVarint(out, wire::MakeTag(field, wire::Type::kFixed64));
      out.append("12345678");
      return;
    case 2:
      wire::AppendVarint(out, wire::MakeTag(field, wire::Type::kFixed32));
      out.append("1234");
      return;
    default:
      wire::AppendVarint(out, wire::MakeTag(field, wire::Type::kStartGroup));
      if (depth < 4) AppendUnknown(out, rng, depth + 1);
      wire::AppendVarint(out, wire::MakeTag(field, wire::Type::kEndGroup));
  }
}

void AppendUnknown(std::string& out, Rng& rng, int depth) {
  const std::uint32_t field = 100 + static_cast<std::uint32_t>(rng.Below(1 << 20));
  AppendMistyped(out, rng, field, rng.OneIn(2) ? wire::Type::kVarint : wire::Type::kLengthDelimited,
                 depth);
}

// Any fields of the message in any order, as often as it comes, unknown ones among them.
std::string RandomWire(const Descriptor& type, Rng& rng, int depth = 0) {
  std::string out;
  const std::uint64_t fields = rng.Below(depth < 4 ? 9 : 3);
  for (std::uint64_t i = 0; i < fields; ++i) {
    if (rng.OneIn(8)) {
      AppendUnknown(out, rng, 0);
      continue;
    }
    const FieldDescriptor& field =
        *type.field(static_cast<int>(rng.Below(static_cast<std::uint64_t>(type.field_count()))));
    const auto number = static_cast<std::uint32_t>(field.number());
    if (rng.OneIn(8)) {
      const bool is_bytes = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE ||
                            field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
      AppendMistyped(out, rng, number,
                     is_bytes ? wire::Type::kLengthDelimited : wire::Type::kVarint);
      continue;
    }
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        wire::AppendBytesAlways(out, number, RandomWire(*field.message_type(), rng, depth + 1));
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        wire::AppendBytesAlways(out, number,
                                std::string(rng.Below(6), static_cast<char>(rng.Below(256))));
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        wire::AppendUintAlways(out, number, rng.OneIn(4) ? RandomVarint(rng) : rng.Below(6));
        break;
      default:
        wire::AppendUintAlways(out, number, RandomVarint(rng));
    }
  }
  return out;
}

// --- the comparison ----------------------------------------------------------------------------

// Somewhere a varint is longer than a tag may be, or has more than 64 bits.
bool HasLongVarint(std::string_view bytes, std::size_t continued) {
  std::size_t run = 0;
  for (const char byte : bytes) {
    run = static_cast<signed char>(byte) < 0 ? run + 1 : 0;
    if (run >= continued) return true;
  }
  return false;
}

struct Outcomes {
  int accepted = 0;
  int refused = 0;
  int differences = 0;
};

template <class Proto, class Decode>
void CompareOne(std::string_view bytes, Decode decode, Outcomes& outcomes) {
  Proto expected;
  const bool library_accepts =
      expected.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  const auto decoded = decode(bytes);
  if (decoded.has_value() && library_accepts) {
    ++outcomes.accepted;
    ASSERT_EQ(TextOf(*decoded), TextOf(expected));
    return;
  }
  if (!decoded.has_value()) {
    ASSERT_EQ(decoded.error(), MalformedRequest().error());
    if (!library_accepts) {
      ++outcomes.refused;
      return;
    }
    ASSERT_TRUE(HasLongVarint(bytes, 4)) << "refused here only: " << expected.ShortDebugString();
  } else {
    ASSERT_TRUE(HasLongVarint(bytes, 5)) << "accepted here only: " << TextOf(*decoded);
  }
  ++outcomes.differences;
}

template <class Proto, class Decode>
void CompareValid(Decode decode) {
  Rng rng(1);
  Outcomes outcomes;
  for (int i = 0; i < 20'000; ++i) {
    const std::string bytes = RandomWire(*Proto::descriptor(), rng);
    SCOPED_TRACE("run " + std::to_string(i));
    CompareOne<Proto>(bytes, decode, outcomes);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_EQ(outcomes.accepted, 20'000);
}

template <class Proto, class Decode>
void CompareDamaged(Decode decode) {
  Rng rng(2);
  Outcomes outcomes;
  for (int i = 0; i < 60'000; ++i) {
    std::string bytes = RandomWire(*Proto::descriptor(), rng);
    if (bytes.empty()) continue;
    if (rng.OneIn(2)) bytes.resize(rng.Below(bytes.size()));
    if (bytes.empty()) continue;
    for (std::uint64_t flips = rng.Below(3); flips > 0; --flips) {
      char& byte = bytes[rng.Below(bytes.size())];
      byte = static_cast<char>(byte ^ (1 << rng.Below(8)));
    }
    SCOPED_TRACE("run " + std::to_string(i));
    CompareOne<Proto>(bytes, decode, outcomes);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(outcomes.accepted, 5'000);
  EXPECT_GT(outcomes.refused, 5'000);
  EXPECT_LT(outcomes.differences, 6'000);
}

TEST(KvDecodeTest, SeesWhatTheLibrarySees) {
  CompareValid<etcdserverpb::RangeRequest>(DecodeRange);
  CompareValid<etcdserverpb::PutRequest>(DecodePut);
  CompareValid<etcdserverpb::DeleteRangeRequest>(DecodeDeleteRange);
  CompareValid<etcdserverpb::CompactionRequest>(DecodeCompaction);
  CompareValid<etcdserverpb::TxnRequest>(DecodeTxn);
}

TEST(KvDecodeTest, RefusesWhatTheLibraryRefuses) {
  CompareDamaged<etcdserverpb::RangeRequest>(DecodeRange);
  CompareDamaged<etcdserverpb::PutRequest>(DecodePut);
  CompareDamaged<etcdserverpb::DeleteRangeRequest>(DecodeDeleteRange);
  CompareDamaged<etcdserverpb::CompactionRequest>(DecodeCompaction);
  CompareDamaged<etcdserverpb::TxnRequest>(DecodeTxn);
}

// --- requests that the server makes itself
// --------------------------------------------------------

template <class Proto, class Decode, class Encode>
void CompareWritten(Decode decode, Encode encode) {
  Rng rng(3);
  for (int i = 0; i < 20'000; ++i) {
    const std::string bytes = RandomWire(*Proto::descriptor(), rng);
    const auto request = decode(bytes);
    ASSERT_TRUE(request.has_value());
    const SharedBytes written = encode(*request);
    const auto read = decode(written.view());
    ASSERT_TRUE(read.has_value());
    ASSERT_EQ(TextOf(*read), TextOf(*request)) << "run " << i;
    ASSERT_EQ(encode(*read), written) << "run " << i;
  }
}

TEST(KvRequestEncodeTest, WhatIsWrittenIsReadAsItWasMeant) {
  CompareWritten<etcdserverpb::TxnRequest>(DecodeTxn, EncodeTxn);
  CompareWritten<etcdserverpb::DeleteRangeRequest>(DecodeDeleteRange, EncodeDeleteRange);
}

// --- the differences, and cases that random bytes are unlikely to hit ---------------------------

TEST(KvDecodeTest, ARefusalHasTheTextThatClientsSee) {
  EXPECT_EQ(DecodePut("\x0a").error(),
            (Error{Code::kInternal,
                   "grpc: error unmarshalling request: proto: cannot parse invalid wire-format "
                   "data"}));
}

TEST(KvDecodeTest, AnEmptyRequestIsOneOfDefaults) {
  EXPECT_EQ(TextOf(*DecodeRange("")), TextOf(mvcc::RangeRequest{}));
  EXPECT_EQ(TextOf(*DecodeTxn("")), "");
}

// Like an unknown one: its earlier value stays.
TEST(KvDecodeTest, AKnownFieldOfAnotherTypeIsPassedOver) {
  std::string bytes = PutBody("k", "v");
  wire::AppendUintAlways(bytes, 1, 5);
  wire::AppendBytesAlways(bytes, 3, "no lease");
  const auto put = DecodePut(bytes);
  ASSERT_TRUE(put.has_value());
  EXPECT_EQ(put->key, "k");
  EXPECT_EQ(put->value, "v");
  EXPECT_EQ(put->lease, 0);
}

TEST(KvDecodeTest, PartsOfOneOperationAreMergedAndAnotherReplacesIt) {
  const std::string key = OpBody(2, PutBody("k", ""));
  const std::string value = OpBody(2, PutBody("", "v"));
  const std::string range = OpBody(1, RangeBody({.key = "r"}));
  const std::string bytes = TxnBody({key + value, key + range + value});
  const auto txn = DecodeTxn(bytes);
  ASSERT_TRUE(txn.has_value());
  const auto& merged = std::get<mvcc::PutRequest>(txn->success[0]);
  EXPECT_EQ(merged.key, "k");
  EXPECT_EQ(merged.value, "v");
  const auto& replaced = std::get<mvcc::PutRequest>(txn->success[1]);
  EXPECT_EQ(replaced.key, "");
  EXPECT_EQ(replaced.value, "v");
}

TEST(KvDecodeTest, TxnsMayBeNestedAThousandDeep) {
  std::string txn;
  for (int depth = 0; depth < 1'000; ++depth) txn = TxnBody({OpBody(4, txn)});
  EXPECT_TRUE(DecodeTxn(txn).has_value());
  EXPECT_EQ(DecodeTxn(TxnBody({OpBody(4, txn)})).error(), MalformedRequest().error());
}

}  // namespace
}  // namespace kvorum::server

// The words of gRPC over HTTP/2, as tables.
#include "rpc/call/grpc_protocol.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

namespace kvorum::rpc {
namespace {

TEST(GrpcProtocolTest, ContentSubtypes) {
  EXPECT_EQ(ContentSubtype("application/grpc"), "");
  EXPECT_EQ(ContentSubtype("application/grpc+proto"), "proto");
  EXPECT_EQ(ContentSubtype("application/grpc;charset=x"), "charset=x");
  EXPECT_EQ(ContentSubtype("application/grpcx"), std::nullopt);
  EXPECT_EQ(ContentSubtype("application/grp"), std::nullopt);
  EXPECT_EQ(ContentSubtype(""), std::nullopt);
}

TEST(GrpcProtocolTest, Timeouts) {
  using std::chrono::nanoseconds;
  EXPECT_EQ(ParseTimeout("1H"), std::chrono::hours(1));
  EXPECT_EQ(ParseTimeout("2M"), std::chrono::minutes(2));
  EXPECT_EQ(ParseTimeout("3S"), std::chrono::seconds(3));
  EXPECT_EQ(ParseTimeout("4m"), std::chrono::milliseconds(4));
  EXPECT_EQ(ParseTimeout("5u"), std::chrono::microseconds(5));
  EXPECT_EQ(ParseTimeout("6n"), nanoseconds(6));
  EXPECT_EQ(ParseTimeout("00000000n"), nanoseconds(0));
  EXPECT_GT(*ParseTimeout("99999999H"), std::chrono::hours(100 * 365 * 24 / 2));
  for (const char* bad : {"", "S", "5", "5s", "+5S", " 5S", "123456789S", "1 S"})
    EXPECT_FALSE(ParseTimeout(bad).has_value()) << bad;
}

TEST(GrpcProtocolTest, BinaryMetadata) {
  EXPECT_EQ(DecodeBinaryMetadata("x-bin", ""), "");
  EXPECT_EQ(DecodeBinaryMetadata("x-bin", "Zg=="), "f");
  EXPECT_EQ(DecodeBinaryMetadata("x-bin", "Zg"), "f");
  EXPECT_EQ(DecodeBinaryMetadata("x-bin", "Zm8="), "fo");
  EXPECT_EQ(DecodeBinaryMetadata("x-bin", "Zm9v"), "foo");
  EXPECT_EQ(DecodeBinaryMetadata("x-bin", "+/+/"), "\xfb\xff\xbf");
  for (const char* bad : {"Z", "Zg=", "Z===", "Zm9v Zm9v", "=", "====", "Zg==Zg==", "Zm9v\n"})
    EXPECT_FALSE(DecodeBinaryMetadata("x-bin", bad).has_value()) << bad;
}

TEST(GrpcProtocolTest, PercentEncoding) {
  EXPECT_EQ(PercentEncode("plain text, all of it: ~!"), "plain text, all of it: ~!");
  EXPECT_EQ(PercentEncode("100%"), "100%25");
  EXPECT_EQ(PercentEncode(std::string_view("\0\n\x7f", 3)), "%00%0A%7F");
  EXPECT_EQ(PercentEncode("\xe2\x82\xac"), "%E2%82%AC");
  EXPECT_EQ(PercentEncode("\xe2\x82"), "%EF%BF%BD%EF%BF%BD");
}

TEST(GrpcProtocolTest, HeaderRules) {
  EXPECT_TRUE(IsValidHeaderName("client-api-version"));
  EXPECT_FALSE(IsValidHeaderName(""));
  EXPECT_FALSE(IsValidHeaderName("Upper"));
  EXPECT_FALSE(IsValidHeaderName("a b"));
  EXPECT_FALSE(IsValidHeaderName("a:b"));
  EXPECT_TRUE(IsValidHeaderValue("any \t text \xff"));
  EXPECT_FALSE(IsValidHeaderValue("a\nb"));
  EXPECT_FALSE(IsValidHeaderValue(std::string_view("a\0", 2)));
  EXPECT_FALSE(IsValidHeaderValue("\x7f"));
  // Every byte at every position of a value that is checked in words, with neighbours of all kinds.
  for (int byte = 0; byte < 256; ++byte) {
    const bool allowed = byte == '\t' || (byte >= 0x20 && byte != 0x7f);
    for (const std::size_t size : {1U, 7U, 8U, 9U, 16U, 19U}) {
      for (std::size_t at = 0; at < size; ++at) {
        for (const char beside : {' ', '\t', '~', '\x80', '\xff'}) {
          std::string value(size, beside);
          value[at] = static_cast<char>(byte);
          EXPECT_EQ(IsValidHeaderValue(value), allowed) << byte << " at " << at << " of " << size;
        }
      }
    }
  }
}

std::string Gzip(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

TEST(GrpcProtocolTest, GunzipStopsAtItsLimit) {
  const std::string bytes(100'000, 'g');
  const std::string packed = Gzip(bytes);
  EXPECT_EQ(Gunzip(packed, 100'000), bytes);
  EXPECT_EQ(Gunzip(packed, 99'999).error().code, Code::kResourceExhausted);
  EXPECT_EQ(Gunzip(Gzip(""), 0), "");
  EXPECT_EQ(Gunzip("", 10).error().code, Code::kInternal);
}

TEST(GrpcProtocolTest, BrokenGzipIsAnError) {
  const std::string packed = Gzip("some text to pack, some text to pack");
  for (std::size_t i = 0; i < packed.size(); ++i) {
    EXPECT_FALSE(Gunzip(packed.substr(0, i), 1000).has_value()) << i;
    std::string changed = packed;
    changed[i] = static_cast<char>(~changed[i]);
    (void)Gunzip(changed, 1000);  // the header has bytes that do not matter
  }
}

}  // namespace
}  // namespace kvorum::rpc

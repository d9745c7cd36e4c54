// Cookies: the bytes of RFC 9018's examples, and whose cookie is taken when.
#include "dns/cookie.h"

#include <gtest/gtest.h>

#include "tests/damage.h"

namespace kvorum::dns {
namespace {

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

constexpr Cookies::Secret kSecret = {0xe5, 0xe9, 0x73, 0xe5, 0xa6, 0xb2, 0xa4, 0x3f,
                                     0x48, 0xe7, 0xdc, 0x84, 0x9e, 0x37, 0xbf, 0xcf};
constexpr std::uint32_t kMade_s = 1559731985;
const std::string kAddress("\xc6\x33\x64\x64", 4);  // 198.51.100.100

// Appendix A.1.
TEST(DnsCookies, AreThoseOfTheStandardsExample) {
  EXPECT_EQ(Cookies(kSecret).Make(FromHex("2464c4abcf10c957"), kAddress, kMade_s),
            FromHex("2464c4abcf10c957010000005cf79f111f8130c3eee29480"));
}

TEST(DnsCookies, AreTakenForAnHourFromTheAddressThatGotThem) {
  const Cookies cookies(kSecret);
  const std::string cookie = cookies.Make(FromHex("2464c4abcf10c957"), kAddress, kMade_s);
  EXPECT_TRUE(cookies.Accepts(cookie, kAddress, kMade_s));
  EXPECT_TRUE(cookies.Accepts(cookie, kAddress, kMade_s + 3600));
  EXPECT_FALSE(cookies.Accepts(cookie, kAddress, kMade_s + 3601));
  EXPECT_FALSE(cookies.Accepts(cookie, kAddress, kMade_s - 301));
  EXPECT_FALSE(cookies.Accepts(cookie, std::string("\xc6\x33\x64\x65", 4), kMade_s));
  EXPECT_FALSE(Cookies({}).Accepts(cookie, kAddress, kMade_s));
  ForEachCut(cookie,
             [&](std::string_view cut) { EXPECT_FALSE(cookies.Accepts(cut, kAddress, kMade_s)); });
  ForEachFlip(cookie, [&](std::string_view flipped, std::size_t /*at*/) {
    EXPECT_FALSE(cookies.Accepts(flipped, kAddress, kMade_s));
  });
}

}  // namespace
}  // namespace kvorum::dns

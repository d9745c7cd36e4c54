// The part of a DNS message (RFC 1035) that questions about the catalog and their answers need, as
// values. Names are lists of labels, without the root's; labels are any bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace kvorum::dns {

using Name = std::vector<std::string>;
inline constexpr std::size_t kMaxLabelBytes = 63;
inline constexpr std::size_t kMaxNameBytes = 255;  // with the lengths of its labels and the root's

// Numbers of the wire. kBadVersion needs EDNS.
enum class Rcode : std::uint8_t {
  kNoError = 0,
  kFormatError = 1,
  kServerFailure = 2,
  kNameError = 3,  // NXDOMAIN
  kNotImplemented = 4,
  kRefused = 5,
  kBadVersion = 16,
};

inline constexpr std::uint16_t kTypeA = 1;
inline constexpr std::uint16_t kTypeNs = 2;
inline constexpr std::uint16_t kTypeCname = 5;
inline constexpr std::uint16_t kTypeSoa = 6;
inline constexpr std::uint16_t kTypePtr = 12;
inline constexpr std::uint16_t kTypeTxt = 16;
inline constexpr std::uint16_t kTypeAaaa = 28;
inline constexpr std::uint16_t kTypeSrv = 33;
inline constexpr std::uint16_t kTypeOpt = 41;
inline constexpr std::uint16_t kTypeTkey =
    249;  // from here on, up to kTypeAny, no data has the type
inline constexpr std::uint16_t kTypeAny = 255;
inline constexpr std::uint16_t kClassIn = 1;

struct Edns {
  std::uint16_t udp_bytes = 0;
  std::uint8_t version = 0;
  std::string cookie = {};  // the option's data, of a length that it may have; empty: none
};

// A message with one question.
struct Query {
  std::uint16_t id = 0;
  bool recursion_desired = false;
  Name name;  // as it was spelled
  std::uint16_t type = 0;
  std::uint16_t klass = 0;
  std::optional<Edns> edns;
};

using Ipv4 = std::array<std::uint8_t, 4>;
using Ipv6 = std::array<std::uint8_t, 16>;
using Host = std::variant<Ipv4, Ipv6, Name>;
struct Srv {
  std::uint16_t priority = 0;
  std::uint16_t weight = 1;
  std::uint16_t port = 0;
  Name target;
  friend auto operator<=>(const Srv&, const Srv&) = default;
};
struct Soa {
  std::uint32_t serial = 0;
  friend auto operator<=>(const Soa&, const Soa&) = default;
};
struct Ns {
  Name host;
  friend auto operator<=>(const Ns&, const Ns&) = default;
};
struct Cname {
  Name target;
  friend auto operator<=>(const Cname&, const Cname&) = default;
};
struct Ptr {
  Name name;
  friend auto operator<=>(const Ptr&, const Ptr&) = default;
};
struct Txt {
  std::string text;  // any bytes, of any length up to kMaxTextBytes
  friend auto operator<=>(const Txt&, const Txt&) = default;
};
inline constexpr std::size_t kMaxTextBytes = 4096;
using Data = std::variant<Ipv4, Ipv6, Srv, Soa, Ns, Cname, Txt, Ptr>;
std::uint16_t TypeOf(const Data& data);

struct Record {
  Name owner;
  Data data;
};

struct Reply {
  Rcode rcode = Rcode::kNoError;
  bool is_authoritative = false;
  bool is_truncated = false;
  std::vector<Record> answers = {};
  std::vector<Record> authority = {};
  std::vector<Record> additional = {};
  std::string cookie = {};  // the option's data, for a query with EDNS; empty: none
};

}  // namespace kvorum::dns

#include "dns/wire.h"

#include <ldns/ldns.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "dns/cookie.h"

namespace kvorum::dns {
namespace {

constexpr std::size_t kHeaderBytes = 12;
constexpr std::size_t kOptBytes = 11;  // a root's name, type, class, TTL, the data's length
constexpr std::uint16_t kCookieOption = 10;
constexpr std::uint8_t kResponseBit = 0x80;
constexpr std::uint8_t kRecursionBit = 0x01;
constexpr std::uint8_t kOpcodeMask = 0x78;
constexpr std::uint32_t kTtl_s = 0;
constexpr std::size_t kMaxStringBytes = 255;

using Packet = std::unique_ptr<ldns_pkt, decltype([](ldns_pkt* packet) { ldns_pkt_free(packet); })>;

std::uint8_t Byte(std::string_view packet, std::size_t at) {
  return static_cast<std::uint8_t>(packet[at]);
}
std::uint16_t Number(std::string_view packet, std::size_t at) {
  return static_cast<std::uint16_t>(Byte(packet, at) << 8U | Byte(packet, at + 1));
}

// A header alone, which fits every query that has one.
std::string Refuse(std::string_view packet, Rcode rcode) {
  std::string reply(packet.substr(0, 2));
  const std::uint8_t kept = Byte(packet, 2) & (kOpcodeMask | kRecursionBit);
  reply.push_back(static_cast<char>(kResponseBit | kept));
  reply.push_back(static_cast<char>(rcode));
  reply.append(kHeaderBytes - reply.size(), '\0');
  return reply;
}

// The byte behind the question; nothing if it has no such form.
std::optional<std::size_t> QuestionEnd(std::string_view packet) {
  std::size_t at = kHeaderBytes;
  while (at < packet.size()) {
    const std::size_t label = Byte(packet, at);
    if (label > kMaxLabelBytes) return std::nullopt;  // a compressed name too
    at += label + 1;
    if (at - kHeaderBytes > kMaxNameBytes) return std::nullopt;
    if (label > 0) continue;
    at += 4;  // type and class
    return at <= packet.size() ? std::optional(at) : std::nullopt;
  }
  return std::nullopt;
}

// One question, then nothing or an OPT record, whose data may be anything.
bool HasQueryForm(std::string_view packet) {
  const bool has_counts =
      Number(packet, 4) == 1 && Number(packet, 6) == 0 && Number(packet, 8) == 0;
  const std::uint16_t additional = Number(packet, 10);
  if (!has_counts || additional > 1) return false;
  const auto end = QuestionEnd(packet);
  if (!end) return false;
  if (additional == 0) return *end == packet.size();
  if (packet.size() - *end < kOptBytes || Byte(packet, *end) != 0 ||
      Number(packet, *end + 1) != kTypeOpt)
    return false;
  return *end + kOptBytes + Number(packet, *end + 9) == packet.size();
}

// The data of the cookie among the options of a packet that HasQueryForm; nothing: it has a length
// that no cookie has. Empty: there is none.
std::optional<std::string> CookieOf(std::string_view packet) {
  std::string_view options = packet.substr(*QuestionEnd(packet) + kOptBytes);
  constexpr std::size_t kHeadBytes = 4;
  while (options.size() >= kHeadBytes) {
    const std::size_t size = Number(options, 2);
    if (options.size() - kHeadBytes < size) break;
    const std::string_view data = options.substr(kHeadBytes, size);
    if (Number(options, 0) == kCookieOption) {
      const bool is_whole = size >= kClientCookieBytes + kLeastServerCookieBytes &&
                            size <= kClientCookieBytes + kMostServerCookieBytes;
      if (size != kClientCookieBytes && !is_whole) return std::nullopt;
      return std::string(data);
    }
    options.remove_prefix(kHeadBytes + size);
  }
  return std::string();
}

Name LabelsOf(const ldns_rdf& dname) {
  const std::string_view bytes(reinterpret_cast<const char*>(ldns_rdf_data(&dname)),
                               ldns_rdf_size(&dname));
  Name name;
  for (std::size_t at = 0; at < bytes.size() && bytes[at] != 0;) {
    const std::size_t label = Byte(bytes, at);
    name.emplace_back(bytes.substr(at + 1, label));
    at += label + 1;
  }
  return name;
}

ldns_rdf* Dname(const Name& name) {
  std::string bytes;
  for (const std::string& label : name) {
    bytes.push_back(static_cast<char>(label.size()));
    bytes += label;
  }
  bytes.push_back('\0');
  return ldns_rdf_new_frm_data(LDNS_RDF_TYPE_DNAME, bytes.size(), bytes.data());
}

ldns_rr* Start(const Name& owner, std::uint16_t type) {
  ldns_rr* const rr = ldns_rr_new();
  ldns_rr_set_owner(rr, Dname(owner));
  ldns_rr_set_type(rr, static_cast<ldns_rr_type>(type));
  ldns_rr_set_class(rr, LDNS_RR_CLASS_IN);
  ldns_rr_set_ttl(rr, kTtl_s);
  return rr;
}

void Push16(ldns_rr* rr, std::uint16_t value) {
  ldns_rr_push_rdf(rr, ldns_native2rdf_int16(LDNS_RDF_TYPE_INT16, value));
}
void Push32(ldns_rr* rr, std::uint32_t value, ldns_rdf_type type = LDNS_RDF_TYPE_PERIOD) {
  ldns_rr_push_rdf(rr, ldns_native2rdf_int32(type, value));
}

void PushData(ldns_rr* rr, const Record&, const Ipv4& address) {
  ldns_rr_push_rdf(rr, ldns_rdf_new_frm_data(LDNS_RDF_TYPE_A, address.size(), address.data()));
}
void PushData(ldns_rr* rr, const Record&, const Ipv6& address) {
  ldns_rr_push_rdf(rr, ldns_rdf_new_frm_data(LDNS_RDF_TYPE_AAAA, address.size(), address.data()));
}
void PushData(ldns_rr* rr, const Record&, const Srv& srv) {
  Push16(rr, srv.priority);
  Push16(rr, srv.weight);
  Push16(rr, srv.port);
  ldns_rr_push_rdf(rr, Dname(srv.target));
}
void PushData(ldns_rr* rr, const Record&, const Ns& ns) { ldns_rr_push_rdf(rr, Dname(ns.host)); }
void PushData(ldns_rr* rr, const Record&, const Cname& cname) {
  ldns_rr_push_rdf(rr, Dname(cname.target));
}
void PushData(ldns_rr* rr, const Record&, const Ptr& ptr) { ldns_rr_push_rdf(rr, Dname(ptr.name)); }
// A text longer than one string holds is several, which readers join.
void PushData(ldns_rr* rr, const Record&, const Txt& txt) {
  std::string_view rest = std::string_view(txt.text).substr(0, kMaxTextBytes);
  do {
    const std::string_view part = rest.substr(0, kMaxStringBytes);
    std::string bytes(1, static_cast<char>(part.size()));
    bytes += part;
    ldns_rr_push_rdf(rr, ldns_rdf_new_frm_data(LDNS_RDF_TYPE_STR, bytes.size(), bytes.data()));
    rest.remove_prefix(part.size());
  } while (!rest.empty());
}
// This zone is not transferred: only the last of the times, that of a negative answer, has a
// meaning.
void PushData(ldns_rr* rr, const Record& record, const Soa& soa) {
  for (const char* label : {"ns", "hostmaster"}) {
    Name name = record.owner;
    name.insert(name.begin(), label);
    ldns_rr_push_rdf(rr, Dname(name));
  }
  Push32(rr, soa.serial, LDNS_RDF_TYPE_INT32);
  for (const std::uint32_t seconds : {3600U, 600U, 86400U}) Push32(rr, seconds);
  Push32(rr, kTtl_s);
}

void Push(ldns_pkt* packet, ldns_pkt_section section, const std::vector<Record>& records) {
  for (const Record& record : records) {
    ldns_rr* const rr = Start(record.owner, TypeOf(record.data));
    std::visit([&](const auto& data) { PushData(rr, record, data); }, record.data);
    ldns_pkt_push_rr(packet, section, rr);
  }
}

void PushQuestion(ldns_pkt* packet, const Query& query) {
  ldns_rr* const question = Start(query.name, query.type);
  ldns_rr_set_question(question, true);
  ldns_rr_set_class(question, static_cast<ldns_rr_class>(query.klass));
  ldns_pkt_push_rr(packet, LDNS_SECTION_QUESTION, question);
}

void SetHeader(ldns_pkt* packet, const Query& query, const Reply& reply) {
  const auto rcode = static_cast<std::uint8_t>(reply.rcode);
  ldns_pkt_set_id(packet, query.id);
  ldns_pkt_set_qr(packet, true);
  ldns_pkt_set_rd(packet, query.recursion_desired);
  ldns_pkt_set_aa(packet, reply.is_authoritative);
  ldns_pkt_set_tc(packet, reply.is_truncated);
  ldns_pkt_set_rcode(packet, rcode & 0xfU);
  if (!query.edns) return;
  ldns_pkt_set_edns_udp_size(packet, kEdnsBytes);
  ldns_pkt_set_edns_extended_rcode(packet, rcode >> 4U);
}

void Append16(std::size_t number, std::string& bytes) {
  bytes += static_cast<char>(number >> 8U);
  bytes += static_cast<char>(number);
}

// The record of EDNS is a message's last, and had no data.
void AppendCookie(const std::string& cookie, std::string& packet) {
  packet.resize(packet.size() - 2);
  Append16(4 + cookie.size(), packet);
  Append16(kCookieOption, packet);
  Append16(cookie.size(), packet);
  packet += cookie;
}

}  // namespace

std::uint16_t TypeOf(const Data& data) {
  return std::visit(
      []<class T>(const T&) -> std::uint16_t {
        if constexpr (std::is_same_v<T, Ipv4>) return kTypeA;
        if constexpr (std::is_same_v<T, Ipv6>) return kTypeAaaa;
        if constexpr (std::is_same_v<T, Srv>) return kTypeSrv;
        if constexpr (std::is_same_v<T, Soa>) return kTypeSoa;
        if constexpr (std::is_same_v<T, Ns>) return kTypeNs;
        if constexpr (std::is_same_v<T, Cname>) return kTypeCname;
        if constexpr (std::is_same_v<T, Txt>) return kTypeTxt;
        if constexpr (std::is_same_v<T, Ptr>) return kTypePtr;
      },
      data);
}

std::expected<Query, std::string> ReadQuery(std::string_view packet) {
  if (packet.size() < kHeaderBytes || (Byte(packet, 2) & kResponseBit) != 0)
    return std::unexpected(std::string());
  if ((Byte(packet, 2) & kOpcodeMask) != 0)
    return std::unexpected(Refuse(packet, Rcode::kNotImplemented));
  const auto format_error = [&] { return std::unexpected(Refuse(packet, Rcode::kFormatError)); };
  if (packet.size() > kMaxQueryBytes || !HasQueryForm(packet)) return format_error();
  ldns_pkt* read = nullptr;
  const ldns_status status =
      ldns_wire2pkt(&read, reinterpret_cast<const std::uint8_t*>(packet.data()), packet.size());
  const Packet parsed(read);
  if (status != LDNS_STATUS_OK) return format_error();
  const ldns_rr* const question = ldns_rr_list_rr(ldns_pkt_question(parsed.get()), 0);
  Query query{.id = ldns_pkt_id(parsed.get()),
              .recursion_desired = ldns_pkt_rd(parsed.get()),
              .name = LabelsOf(*ldns_rr_owner(question)),
              .type = static_cast<std::uint16_t>(ldns_rr_get_type(question)),
              .klass = static_cast<std::uint16_t>(ldns_rr_get_class(question)),
              .edns = {}};
  if (Number(packet, 10) == 1) {
    auto cookie = CookieOf(packet);
    if (!cookie) return format_error();
    query.edns = Edns{.udp_bytes = ldns_pkt_edns_udp_size(parsed.get()),
                      .version = ldns_pkt_edns_version(parsed.get()),
                      .cookie = *std::move(cookie)};
  }
  return query;
}

std::string WriteReply(const Query& query, const Reply& reply) {
  const Packet packet(ldns_pkt_new());
  SetHeader(packet.get(), query, reply);
  PushQuestion(packet.get(), query);
  Push(packet.get(), LDNS_SECTION_ANSWER, reply.answers);
  Push(packet.get(), LDNS_SECTION_AUTHORITY, reply.authority);
  Push(packet.get(), LDNS_SECTION_ADDITIONAL, reply.additional);
  std::uint8_t* bytes = nullptr;
  std::size_t size = 0;
  const ldns_status status = ldns_pkt2wire(&bytes, packet.get(), &size);
  const std::unique_ptr<std::uint8_t, decltype([](std::uint8_t* held) { LDNS_FREE(held); })> owner(
      bytes);
  KV_CHECK(status == LDNS_STATUS_OK, "a DNS reply cannot be written");
  std::string text(reinterpret_cast<const char*>(bytes), size);
  if (query.edns && !reply.cookie.empty()) AppendCookie(reply.cookie, text);
  return text;
}

}  // namespace kvorum::dns

#include "dns/responder.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/letter_case.h"
#include "dns/wire.h"

namespace kvorum::dns {
namespace {

constexpr std::size_t kLeastUdpBytes = 512;    // that every resolver takes
constexpr std::size_t kLeastRecordBytes = 16;  // an A record whose name is compressed
constexpr std::string_view kHexDigits = "0123456789abcdef";

Name Apex() { return {"kvorum"}; }

// HEX.addr.kvorum
template <std::size_t kBytes>
Name AddressName(const std::array<std::uint8_t, kBytes>& address) {
  std::string hex;
  for (const std::uint8_t byte : address) {
    hex += kHexDigits[byte >> 4U];
    hex += kHexDigits[byte & 0xfU];
  }
  return {std::move(hex), "addr", "kvorum"};
}

template <class Address>
std::optional<Address> AddressOf(std::string_view hex) {
  Address address{};
  if (hex.size() != address.size() * 2) return std::nullopt;
  for (std::size_t at = 0; at < hex.size(); ++at) {
    const std::size_t digit = kHexDigits.find(hex[at]);
    if (digit == std::string_view::npos) return std::nullopt;
    address[at / 2] = static_cast<std::uint8_t>(std::size_t{address[at / 2]} << 4U | digit);
  }
  return address;
}

// The data at a name of the zone; nothing: there is no such name.
using Found = std::optional<std::vector<Data>>;

Found FindAddress(std::string_view hex) {
  if (const auto address = AddressOf<Ipv4>(hex)) return {{*address}};
  if (const auto address = AddressOf<Ipv6>(hex)) return {{*address}};
  return std::nullopt;
}

void AddAddress(const Instance& instance, std::vector<Data>& data) {
  if (const auto* v4 = std::get_if<Ipv4>(&instance.endpoint->host)) data.emplace_back(*v4);
  if (const auto* v6 = std::get_if<Ipv6>(&instance.endpoint->host)) data.emplace_back(*v6);
}

void AddSrv(const Instance& instance, std::vector<Data>& data) {
  if (instance.endpoint->port == 0) return;
  data.emplace_back(Srv{.port = instance.endpoint->port,
                        .target = std::visit(
                            []<class T>(const T& host) -> Name {
                              if constexpr (std::is_same_v<T, Name>)
                                return host;
                              else
                                return AddressName(host);
                            },
                            instance.endpoint->host)});
}

Found FindService(const Directory& directory, const std::string& name, bool srv_alone) {
  const std::vector<Instance> instances = directory.Find(name);
  if (instances.empty()) return std::nullopt;
  std::vector<Data> data;
  for (const Instance& instance : instances) {
    if (!instance.is_healthy || !instance.endpoint) continue;
    if (!srv_alone) AddAddress(instance, data);
    AddSrv(instance, data);
  }
  return data;
}

// Names between the zone and what it holds exist, without data.
Found FindServiceName(const Directory& directory, const Name& name) {
  const std::size_t labels = name.size() - 2;
  if (labels == 0) return std::vector<Data>();
  if (labels == 1) {
    auto found = FindService(directory, name[0], /*srv_alone=*/false);
    return !found && name[0] == "_tcp" ? std::vector<Data>() : found;
  }
  if (labels == 2 && name[1] == "_tcp" && name[0].starts_with('_'))
    return FindService(directory, name[0].substr(1), /*srv_alone=*/true);
  return std::nullopt;
}

// `name` in lower case, below kvorum.
Found Find(const Directory& directory, const Name& name) {
  if (name.size() == 1) return {{Soa{.serial = static_cast<std::uint32_t>(directory.revision())}}};
  const std::string& kind = name[name.size() - 2];
  if (kind == "service") return FindServiceName(directory, name);
  if (kind != "addr" || name.size() > 3) return std::nullopt;
  return name.size() == 2 ? std::vector<Data>() : FindAddress(name[0]);
}

bool IsBelow(const Name& name, const Name& apex) {
  return name.size() >= apex.size() && std::equal(apex.rbegin(), apex.rend(), name.rbegin());
}

// ANY is answered with one of the types there are (RFC 8482).
std::uint16_t TypeToAnswer(std::uint16_t asked, const std::vector<Data>& data) {
  return asked == kTypeAny && !data.empty() ? TypeOf(data.front()) : asked;
}

std::size_t MostBytes(const Query& query, Transport transport) {
  if (transport == Transport::kTcp) return std::numeric_limits<std::uint16_t>::max();
  if (!query.edns) return kLeastUdpBytes;
  return std::clamp<std::size_t>(query.edns->udp_bytes, kLeastUdpBytes, kEdnsBytes);
}

// Additional addresses are dropped first, since a client can ask for them; then answers, which sets
// TC over UDP.
std::string WriteWithin(std::size_t most_bytes, const Query& query, Reply reply,
                        Transport transport) {
  std::string packet = WriteReply(query, reply);
  if (packet.size() <= most_bytes) return packet;
  reply.additional.clear();
  packet = WriteReply(query, reply);
  if (packet.size() <= most_bytes) return packet;
  // An absence is one without the zone's record too, which tells for how long.
  if (reply.answers.empty()) {
    reply.authority.clear();
    return WriteReply(query, reply);
  }
  reply.is_truncated = transport == Transport::kUdp;
  const std::vector<Record> answers = std::exchange(reply.answers, {});
  std::size_t fitting = 0;
  std::size_t too_many = answers.size();
  while (true) {
    reply.answers.assign(answers.begin(), answers.begin() + static_cast<std::ptrdiff_t>(fitting));
    if (too_many - fitting <= 1) return WriteReply(query, reply);
    const std::size_t middle = fitting + (too_many - fitting) / 2;
    reply.answers.assign(answers.begin(), answers.begin() + static_cast<std::ptrdiff_t>(middle));
    (WriteReply(query, reply).size() <= most_bytes ? fitting : too_many) = middle;
  }
}

}  // namespace

std::string Responder::Answer(std::string_view packet, Transport transport, const Asker& asker) {
  const auto query = ReadQuery(packet);
  if (!query) {
    const std::string& refusal = query.error();
    if (!refusal.empty())
      Count(std::nullopt, static_cast<Rcode>(static_cast<unsigned>(refusal[3]) & 0xfU), refusal);
    return refusal;
  }
  const std::string_view cookie = query->edns ? query->edns->cookie : std::string_view();
  const bool is_proven = transport == Transport::kTcp || asker.is_local ||
                         cookies_.Accepts(cookie, asker.address, asker.unix_s);
  std::size_t most_bytes = MostBytes(*query, transport);
  if (!is_proven) most_bytes = std::min(most_bytes, kMostTimesTheQuestion * packet.size());
  // One more than can fit, so that what is cut is seen to be.
  const std::size_t most_answers = std::min(kMaxAnswers, most_bytes / kLeastRecordBytes + 1);
  Reply reply = ReplyTo(*query, most_answers);
  if (!cookie.empty())
    reply.cookie = cookies_.Make(cookie.substr(0, kClientCookieBytes), asker.address, asker.unix_s);
  const Rcode rcode = reply.rcode;
  std::string packet_of_reply = WriteWithin(most_bytes, *query, std::move(reply), transport);
  Count(query->type, rcode, packet_of_reply);
  return packet_of_reply;
}

void Responder::Count(std::optional<std::uint16_t> type, Rcode rcode,
                      std::string_view reply) const {
  constexpr unsigned kTruncated = 0x02;
  const bool is_truncated = (static_cast<unsigned>(reply[2]) & kTruncated) != 0;
  if (counts_ != nullptr) counts_->Answered(type, rcode, is_truncated);
}

Reply Responder::ReplyTo(const Query& query, std::size_t most_answers) {
  if (query.edns && query.edns->version > 0) return {.rcode = Rcode::kBadVersion};
  if (query.type == kTypeOpt) return {.rcode = Rcode::kFormatError};
  Name name;
  for (const std::string& label : query.name) name.push_back(LowerCase(label));
  const bool has_no_records = query.type >= kTypeTkey && query.type < kTypeAny;
  if (query.klass != kClassIn || has_no_records || !IsBelow(name, Apex()))
    return {.rcode = Rcode::kRefused};
  if (directory_.revision() == 0) return {.rcode = Rcode::kServerFailure};
  Found found = Find(directory_, name);
  Reply reply{.rcode = found ? Rcode::kNoError : Rcode::kNameError, .is_authoritative = true};
  if (found) AddAnswers(query, *std::move(found), most_answers, reply);
  if (reply.answers.empty())
    reply.authority.push_back(
        {.owner = Apex(),
         .data = Soa{.serial = static_cast<std::uint32_t>(directory_.revision())}});
  return reply;
}

void Responder::AddAnswers(const Query& query, std::vector<Data> data, std::size_t most_answers,
                           Reply& reply) {
  const std::uint16_t type = TypeToAnswer(query.type, data);
  std::erase_if(data, [type](const Data& each) { return TypeOf(each) != type; });
  std::ranges::sort(data);  // a set has each record once
  data.erase(std::ranges::unique(data).begin(), data.end());
  std::ranges::shuffle(data, rng_);
  if (data.size() > most_answers) data.resize(most_answers);
  std::vector<Name> targets;
  for (Data& each : data) {
    if (const auto* srv = std::get_if<Srv>(&each)) targets.push_back(srv->target);
    reply.answers.push_back({.owner = query.name, .data = std::move(each)});
  }
  std::ranges::sort(targets);
  targets.erase(std::ranges::unique(targets).begin(), targets.end());
  for (const Name& target : targets) {
    if (!IsBelow(target, {"addr", "kvorum"}) || target.size() != 3) continue;
    for (Data& address : FindAddress(target.front()).value_or(std::vector<Data>()))
      reply.additional.push_back({.owner = target, .data = std::move(address)});
  }
}

}  // namespace kvorum::dns

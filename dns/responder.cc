#include "dns/responder.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/letter_case.h"
#include "dns/address_name.h"
#include "dns/wire.h"

namespace kvorum::dns {
namespace {

constexpr std::size_t kLeastUdpBytes = 512;    // that every resolver takes
constexpr std::size_t kLeastRecordBytes = 16;  // an A record whose name is compressed

Name Apex() { return {"kvorum"}; }

// HEX.addr.kvorum; a host name is itself.
Name TargetOf(const Host& host) {
  auto hex = HexOf(host);
  return hex ? Name{*std::move(hex), "addr", "kvorum"} : std::get<Name>(host);
}

// The data at a name of the zone; nothing: there is no such name.
using Found = std::optional<std::vector<Data>>;

Found FindAddress(std::string_view hex) {
  const auto address = AddressOf(hex);
  return address ? Found({*address}) : std::nullopt;
}

void AddAddress(const Instance& instance, std::vector<Data>& data) {
  if (const auto* v4 = std::get_if<Ipv4>(&instance.endpoint->host)) data.emplace_back(*v4);
  if (const auto* v6 = std::get_if<Ipv6>(&instance.endpoint->host)) data.emplace_back(*v6);
}

void AddSrv(const Instance& instance, std::vector<Data>& data) {
  if (instance.endpoint->port == 0) return;
  data.emplace_back(
      Srv{.port = instance.endpoint->port, .target = TargetOf(instance.endpoint->host)});
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

// The hosts that the answers name, each once.
std::vector<Name> TargetsOf(const Reply& reply) {
  std::vector<Name> targets;
  for (const Record& record : reply.answers) {
    if (const auto* srv = std::get_if<Srv>(&record.data)) targets.push_back(srv->target);
    if (const auto* ns = std::get_if<Ns>(&record.data)) targets.push_back(ns->host);
  }
  std::ranges::sort(targets);
  targets.erase(std::ranges::unique(targets).begin(), targets.end());
  return targets;
}

// A reply without answers says of which state of the zone that is true.
void AddAbsence(const Name& apex, std::int64_t revision, Reply& reply) {
  if (reply.answers.empty())
    reply.authority.push_back(
        {.owner = apex, .data = Soa{.serial = static_cast<std::uint32_t>(revision)}});
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
  Reply reply = ReplyTo(*query, MostAnswers(*query, transport, most_bytes));
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

Responder::Most Responder::MostAnswers(const Query& query, Transport transport,
                                       std::size_t most_bytes) {
  // One more than can fit, so that what is cut is seen to be.
  const std::size_t fitting = std::min(kMaxAnswers, most_bytes / kLeastRecordBytes + 1);
  const bool is_small = MostBytes(query, transport) == kLeastUdpBytes;
  return {.own = fitting, .consul = is_small ? std::min(fitting, kMostSmallAnswers) : fitting};
}

Reply Responder::ReplyTo(const Query& query, const Most& most) {
  if (query.edns && query.edns->version > 0) return {.rcode = Rcode::kBadVersion};
  if (query.type == kTypeOpt) return {.rcode = Rcode::kFormatError};
  Name name;
  for (const std::string& label : query.name) name.push_back(LowerCase(label));
  const bool has_no_records = query.type >= kTypeTkey && query.type < kTypeAny;
  if (query.klass != kClassIn || has_no_records) return {.rcode = Rcode::kRefused};
  if (IsBelow(name, Apex())) return OfOwnZone(query, name, most.own);
  if (consul_ && IsBelow(name, consul_->apex())) return OfConsulZone(query, name, most.consul);
  if (consul_ && query.type == kTypePtr) return OfAddress(query, name);
  return {.rcode = Rcode::kRefused};
}

Reply Responder::OfAddress(const Query& query, const Name& name) const {
  if (consul_->revision() == 0) return {.rcode = Rcode::kServerFailure};
  auto found = consul_->FindPtr(name);
  if (!found) return {.rcode = Rcode::kRefused};
  Reply reply{.is_authoritative = true};
  reply.answers.push_back({.owner = query.name, .data = *std::move(found)});
  return reply;
}

Reply Responder::OfOwnZone(const Query& query, const Name& name, std::size_t most_answers) {
  const std::int64_t revision = directory_.revision();
  if (revision == 0) return {.rcode = Rcode::kServerFailure};
  Found found = Find(directory_, name);
  Reply reply{.rcode = found ? Rcode::kNoError : Rcode::kNameError, .is_authoritative = true};
  if (found) AddAnswers(query, *std::move(found), most_answers, reply);
  for (const Name& target : TargetsOf(reply)) {
    if (!IsBelow(target, {"addr", "kvorum"}) || target.size() != 3) continue;
    for (Data& address : FindAddress(target.front()).value_or(std::vector<Data>()))
      reply.additional.push_back({.owner = target, .data = std::move(address)});
  }
  AddAbsence(Apex(), revision, reply);
  return reply;
}

Reply Responder::OfConsulZone(const Query& query, const Name& name, std::size_t most_answers) {
  const std::int64_t revision = consul_->revision();
  if (revision == 0) return {.rcode = Rcode::kServerFailure};
  std::optional<ZoneData> found = consul_->Find(name, query.type);
  Reply reply{.rcode = found ? Rcode::kNoError : Rcode::kNameError, .is_authoritative = true};
  if (found) {
    AddAnswers(query, std::move(found->data), most_answers, reply);
    for (const Name& target : TargetsOf(reply)) {
      const auto address = std::ranges::find(found->addresses, target, &Record::owner);
      if (address != found->addresses.end()) reply.additional.push_back(*address);
    }
  }
  AddAbsence(consul_->apex(), revision, reply);
  return reply;
}

void Responder::AddAnswers(const Query& query, std::vector<Data> data, std::size_t most_answers,
                           Reply& reply) {
  std::uint16_t type = TypeToAnswer(query.type, data);
  const bool is_there = std::ranges::find(data, type, TypeOf) != data.end();
  if (!is_there && (type == kTypeA || type == kTypeAaaa)) type = kTypeCname;
  if (type == kTypeCname) most_answers = std::min<std::size_t>(most_answers, 1);
  std::erase_if(data, [type](const Data& each) { return TypeOf(each) != type; });
  std::ranges::sort(data);  // a set has each record once
  data.erase(std::ranges::unique(data).begin(), data.end());
  std::ranges::shuffle(data, rng_);
  if (data.size() > most_answers) data.resize(most_answers);
  for (Data& each : data) reply.answers.push_back({.owner = query.name, .data = std::move(each)});
}

}  // namespace kvorum::dns

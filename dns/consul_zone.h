// The names of Consul's DNS interface, below a domain of one's own choice:
//
//   [TAG.]NAME.service[.DC].DOMAIN        A, AAAA and SRV of the service's living instances; TAG
//   may
//                                         have dots
//   _NAME._TAG[.service][.DC].DOMAIN      the same (RFC 2782); the tag tcp is any; `service` may be
//                                         left out in questions for SRV
//   NODE.node[.DC].DOMAIN                 A, AAAA and TXT (the node's meta); NODE may have dots
//   HEX.addr[.DC].DOMAIN                  the address of 4 or 16 bytes that is spelled
//   DOMAIN                                SOA and NS
//
// and outside of it, in questions for PTR alone, the addresses of nodes and services below
// in-addr.arpa and ip6.arpa: NODE.node.DC.DOMAIN, or else NAME.service.DC.DOMAIN. The zones there
// are not ours: other addresses are refused.
//
// A service without a living instance has no name, other than in our own zone (responder.h). A host
// name in place of an address is a CNAME, without its addresses: nothing is resolved here. The
// kinds query, connect, virtual and ingress have no names.
//
// Immutable; the discovery outlives it. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "dns/discovery.h"
#include "dns/message.h"

namespace kvorum::dns {

// A question over UDP whose answer must be small has so many records at most, as there.
inline constexpr std::size_t kMostSmallAnswers = 3;

// The data of a name, and what belongs beside it in an answer.
struct ZoneData {
  std::vector<Data> data = {};
  std::vector<Record> addresses = {};  // of the hosts that SRV and NS name
};

class ConsulZone {
 public:
  struct Options {
    std::string domain = "consul";
    std::string datacenter = "dc1";
    std::string node = {};  // that NS names; empty or unknown: ns.DOMAIN
  };
  // kInvalidArgument: the domain is not a name, or lies in our own zone, or has no room below it
  // for names of the datacenter.
  static Result<ConsulZone> Make(const Discovery& discovery, Options options);

  const Name& apex() const { return apex_; }
  std::int64_t revision() const { return discovery_->revision(); }
  // `name` in lower case, at or below the apex. Nothing: there is no such name.
  std::optional<ZoneData> Find(const Name& name, std::uint16_t type) const;
  // The name of the address that `name`, in lower case, spells. Nothing: there is none.
  std::optional<Ptr> FindPtr(const Name& name) const;

 private:
  struct Asked;
  ConsulZone(const Discovery& discovery, Options options, Name apex)
      : discovery_(&discovery), options_(std::move(options)), apex_(std::move(apex)) {}

  std::optional<Asked> Parse(const Name& name, std::uint16_t type) const;
  ZoneData Apex() const;
  std::optional<ZoneData> FindService(const Name& labels) const;
  std::optional<ZoneData> FindNode(const Name& labels) const;
  void AddSrv(const DiscoveredInstance& instance, ZoneData& found) const;
  std::optional<Name> NodeName(std::string_view node) const;
  // NAME.KIND.DC.DOMAIN; nothing if it cannot stand in DNS.
  std::optional<Name> NameBelow(std::string_view name, std::string_view kind) const;
  Name AddressName(std::string hex) const;
  Name Below(Name labels) const;

  const Discovery* discovery_;
  Options options_;
  Name apex_;
};

}  // namespace kvorum::dns

// Answers DNS questions about the catalog: a packet in, a packet out.
//
//   NAME.service.kvorum            A, AAAA and SRV of the service's healthy instances
//   _NAME._tcp.service.kvorum      SRV of the same
//   HEX.addr.kvorum                the address of 4 or 16 bytes that is spelled: the targets of SRV
//
// and, with a ConsulZone, the names below its domain and those of addresses (consul_zone.h).
//
// An instance whose value names a host is in SRV answers alone, without its address; one without a
// port is in A and AAAA alone. A service without a healthy instance exists, and has no data. Names
// outside of the zones are refused. Services whose names are not a single label have no name here.
//
// Pure but for the randomness that is passed in, and the counts; for one thread at a time. The
// directory and the counts outlive it. Cost: O(instances of the service), at most ten encodings of
// the reply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/rng.h"
#include "dns/consul_zone.h"
#include "dns/cookie.h"
#include "dns/counts.h"
#include "dns/directory.h"
#include "dns/message.h"

namespace kvorum::dns {

enum class Transport : std::uint8_t { kUdp, kTcp };

// The sender of a UDP question, as far as its packets identify it.
struct Asker {
  std::string_view address = {};  // in network order
  // This machine itself: other machines cannot send such packets, so answers flood no victim.
  bool is_local = true;
  std::uint32_t unix_s = 0;  // now
};

// An answer over UDP has at most so many times the bytes of its question, unless the asker is local
// or shows a cookie of ours: its address may be a victim's. The rest is to be asked for over TCP.
inline constexpr std::size_t kMostTimesTheQuestion = 3;

// A reply names so many instances at most, chosen at random.
inline constexpr std::size_t kMaxAnswers = 256;

class Responder {
 public:
  // Null: nothing is counted. The secret is the cookies'.
  Responder(const Directory& directory, std::uint64_t seed, Counts* counts = nullptr,
            const Cookies::Secret& secret = {}, std::optional<ConsulZone> consul = std::nullopt)
      : directory_(directory),
        cookies_(secret),
        counts_(counts),
        consul_(std::move(consul)),
        rng_(seed) {}

  // Empty: the packet gets no answer. Over UDP it has 512 bytes at most, or as many as the query
  // takes up to kEdnsBytes (wire.h), or less (kMostTimesTheQuestion), over TCP 65,535. A query with
  // a cookie gets one.
  std::string Answer(std::string_view packet, Transport transport, const Asker& asker = {});

 private:
  struct Most {
    std::size_t own = 0;
    std::size_t consul = 0;
  };
  static Most MostAnswers(const Query& query, Transport transport, std::size_t most_bytes);
  Reply ReplyTo(const Query& query, const Most& most);
  Reply OfOwnZone(const Query& query, const Name& name, std::size_t most_answers);
  Reply OfConsulZone(const Query& query, const Name& name, std::size_t most_answers);
  Reply OfAddress(const Query& query, const Name& name) const;
  void AddAnswers(const Query& query, std::vector<Data> data, std::size_t most_answers,
                  Reply& reply);

  void Count(std::optional<std::uint16_t> type, Rcode rcode, std::string_view reply) const;

  const Directory& directory_;
  const Cookies cookies_;
  Counts* const counts_;
  const std::optional<ConsulZone> consul_;
  Rng rng_;
};

}  // namespace kvorum::dns

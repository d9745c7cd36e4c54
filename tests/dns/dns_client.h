// A client's side of DNS for tests: packets by hand, and replies read by the C library's parser,
// which shares no code with ours.
#pragma once

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <gtest/gtest.h>
#include <resolv.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvorum::dns {

inline std::string Bytes16(unsigned value) {
  return {static_cast<char>(value >> 8U), static_cast<char>(value)};
}

// "web.service.kvorum"; no escapes.
inline std::string WireName(std::string_view text) {
  std::string name;
  while (!text.empty()) {
    const std::size_t label = std::min(text.find('.'), text.size());
    name += static_cast<char>(label);
    name += text.substr(0, label);
    text.remove_prefix(std::min(label + 1, text.size()));
  }
  return name + '\0';
}

struct Ask {
  std::string name = {};
  unsigned type = ns_t_a;
  unsigned klass = ns_c_in;
  unsigned id = 0x1234;
  unsigned flags = 0x0100;  // recursion desired
  unsigned questions = 1;
  int edns_bytes = -1;  // without EDNS
  unsigned edns_version = 0;
  std::string options = {};  // of EDNS
  std::string behind = {};
};

inline std::string PacketOf(const Ask& ask) {
  std::string packet = Bytes16(ask.id) + Bytes16(ask.flags) + Bytes16(ask.questions) + Bytes16(0) +
                       Bytes16(0) + Bytes16(ask.edns_bytes < 0 ? 0 : 1) + WireName(ask.name) +
                       Bytes16(ask.type) + Bytes16(ask.klass);
  if (ask.edns_bytes >= 0)
    packet += '\0' + Bytes16(ns_t_opt) + Bytes16(static_cast<unsigned>(ask.edns_bytes)) +
              Bytes16(ask.edns_version) + Bytes16(0) +
              Bytes16(static_cast<unsigned>(ask.options.size())) + ask.options;
  return packet + ask.behind;
}

struct Seen {
  int rcode = -1;  // without EDNS' part
  unsigned id = 0;
  bool is_response = false;
  bool is_authoritative = false;
  bool is_truncated = false;
  bool recursion_available = false;
  std::string question = {};
  std::vector<std::string> answers = {};
  std::vector<std::string> authority = {};
  std::vector<std::string> additional = {};
  int edns_bytes = -1;
  unsigned extended_rcode = 0;
};

inline std::string NameAt(const ns_msg& message, const std::uint8_t* at) {
  std::array<char, NS_MAXDNAME> name{};
  EXPECT_GE(
      ns_name_uncompress(ns_msg_base(message), ns_msg_end(message), at, name.data(), name.size()),
      0);
  return name.data();
}

// "web.service.kvorum 0 A 10.0.0.1"
inline std::string TextOf(const ns_msg& message, const ns_rr& rr) {
  const std::uint8_t* const data = ns_rr_rdata(rr);
  std::array<char, INET6_ADDRSTRLEN> address{};
  const std::string head = std::string(ns_rr_name(rr)) + " " + std::to_string(ns_rr_ttl(rr)) + " ";
  switch (static_cast<int>(ns_rr_type(rr))) {
    case ns_t_a:
      EXPECT_EQ(ns_rr_rdlen(rr), 4);
      return head + "A " + inet_ntop(AF_INET, data, address.data(), address.size());
    case ns_t_aaaa:
      EXPECT_EQ(ns_rr_rdlen(rr), 16);
      return head + "AAAA " + inet_ntop(AF_INET6, data, address.data(), address.size());
    case ns_t_srv:
      return head + "SRV " + std::to_string(ns_get16(data)) + " " +
             std::to_string(ns_get16(data + 2)) + " " + std::to_string(ns_get16(data + 4)) + " " +
             NameAt(message, data + 6);
    case ns_t_ns:
      return head + "NS " + NameAt(message, data);
    case ns_t_cname:
      return head + "CNAME " + NameAt(message, data);
    case ns_t_ptr:
      return head + "PTR " + NameAt(message, data);
    case ns_t_txt: {
      std::string text = head + "TXT";
      for (std::size_t at = 0; at < ns_rr_rdlen(rr); at += data[at] + std::size_t{1})
        text += " " + std::string(reinterpret_cast<const char*>(data + at + 1), data[at]);
      return text;
    }
    case ns_t_soa:
      return head + "SOA " + NameAt(message, data);
    default:
      return head + "type " + std::to_string(ns_rr_type(rr));
  }
}

inline std::vector<std::string> Section(ns_msg& message, ns_sect section, Seen& seen) {
  std::vector<std::string> texts;
  for (int i = 0; i < ns_msg_count(message, section); ++i) {
    ns_rr rr;
    if (ns_parserr(&message, section, i, &rr) != 0) {
      ADD_FAILURE() << "the reply's records cannot be read";
      break;
    }
    if (section == ns_s_ar && ns_rr_type(rr) == ns_t_opt) {
      seen.edns_bytes = ns_rr_class(rr);
      seen.extended_rcode = ns_rr_ttl(rr) >> 24U;
    } else {
      texts.push_back(TextOf(message, rr));
    }
  }
  return texts;
}

// Fails the test if the reply is not well-formed.
inline Seen Read(const std::string& reply) {
  Seen seen;
  ns_msg message;
  if (ns_initparse(reinterpret_cast<const std::uint8_t*>(reply.data()),
                   static_cast<int>(reply.size()), &message) != 0) {
    ADD_FAILURE() << "the reply cannot be read, of " << reply.size() << " bytes";
    return seen;
  }
  seen.rcode = ns_msg_getflag(message, ns_f_rcode);
  seen.id = ns_msg_id(message);
  seen.is_response = ns_msg_getflag(message, ns_f_qr) != 0;
  seen.is_authoritative = ns_msg_getflag(message, ns_f_aa) != 0;
  seen.is_truncated = ns_msg_getflag(message, ns_f_tc) != 0;
  seen.recursion_available = ns_msg_getflag(message, ns_f_ra) != 0;
  ns_rr question;
  if (ns_msg_count(message, ns_s_qd) == 1 && ns_parserr(&message, ns_s_qd, 0, &question) == 0)
    seen.question = ns_rr_name(question);
  seen.answers = Section(message, ns_s_an, seen);
  seen.authority = Section(message, ns_s_ns, seen);
  seen.additional = Section(message, ns_s_ar, seen);
  return seen;
}

}  // namespace kvorum::dns

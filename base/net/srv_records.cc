#include "base/net/srv_records.h"

#include <arpa/nameser.h>
#include <netdb.h>
#include <resolv.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace kvorum {

Result<std::vector<SrvRecord>> LookUpSrv(std::string_view service, std::string_view domain) {
  const std::string name = std::string("_").append(service).append("._tcp.").append(domain);
  struct __res_state resolver{};
  if (res_ninit(&resolver) != 0)
    return Fail(Code::kUnavailable, "lookup " + name + ": no resolver configuration");
  std::array<std::uint8_t, NS_MAXMSG> answer{};
  const int size = res_nquery(&resolver, name.c_str(), ns_c_in, ns_t_srv, answer.data(),
                              static_cast<int>(answer.size()));
  const std::string reason = size < 0 ? hstrerror(resolver.res_h_errno) : "";
  res_nclose(&resolver);
  if (size < 0) return Fail(Code::kUnavailable, "lookup " + name + ": " + reason);
  return ParseSrvAnswer(std::span(answer).first(static_cast<std::size_t>(size)));
}

Result<std::vector<SrvRecord>> ParseSrvAnswer(std::span<const std::uint8_t> message) {
  constexpr std::size_t kFixedSize = 6;  // priority, weight, port
  const auto malformed = [] { return Fail(Code::kDataLoss, "malformed DNS answer"); };
  ns_msg parsed{};
  if (ns_initparse(message.data(), static_cast<int>(message.size()), &parsed) != 0)
    return malformed();
  std::vector<SrvRecord> records;
  for (int i = 0; i < ns_msg_count(parsed, ns_s_an); ++i) {
    ns_rr record{};
    if (ns_parserr(&parsed, ns_s_an, i, &record) != 0) return malformed();
    if (ns_rr_type(record) != ns_t_srv) continue;
    if (ns_rr_rdlen(record) <= kFixedSize) return malformed();
    const std::uint8_t* data = ns_rr_rdata(record);
    std::array<char, NS_MAXDNAME> target{};
    if (ns_name_uncompress(ns_msg_base(parsed), ns_msg_end(parsed), data + kFixedSize,
                           target.data(), target.size()) < 0)
      return malformed();
    const auto number = [data](std::size_t at) {
      return static_cast<std::uint16_t>(data[at] << 8U | data[at + 1]);
    };
    records.push_back({number(0), number(2), number(4), target.data()});
  }
  std::ranges::stable_sort(records, {}, [](const SrvRecord& r) {
    return std::tuple(r.priority, -static_cast<int>(r.weight));
  });
  return records;
}

}  // namespace kvorum

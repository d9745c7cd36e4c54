#include "dns/counts.h"

#include <string>
#include <utility>

namespace kvorum::dns {
namespace {

using Named = std::pair<std::size_t, std::string_view>;  // its place among its like

// A small set, so that clients cannot fill the page with types.
Named NameOf(std::optional<std::uint16_t> type) {
  if (!type) return {0, "none"};
  switch (*type) {
    case kTypeA:
      return {1, "A"};
    case kTypeAaaa:
      return {2, "AAAA"};
    case kTypeSrv:
      return {3, "SRV"};
    case kTypeSoa:
      return {4, "SOA"};
    case kTypeAny:
      return {5, "ANY"};
    default:
      return {6, "other"};
  }
}

// The names in the registry of DNS parameters.
Named NameOf(Rcode rcode) {
  switch (rcode) {
    case Rcode::kNoError:
      return {0, "NOERROR"};
    case Rcode::kFormatError:
      return {1, "FORMERR"};
    case Rcode::kServerFailure:
      return {2, "SERVFAIL"};
    case Rcode::kNameError:
      return {3, "NXDOMAIN"};
    case Rcode::kNotImplemented:
      return {4, "NOTIMP"};
    case Rcode::kRefused:
      return {5, "REFUSED"};
    case Rcode::kBadVersion:
      return {6, "BADVERS"};
  }
  return {0, "NOERROR"};
}

}  // namespace

void Counts::Answered(std::optional<std::uint16_t> type, Rcode rcode, bool is_truncated) {
  if (metrics_ == nullptr) return;
  const auto [type_place, type_name] = NameOf(type);
  const auto [rcode_place, rcode_name] = NameOf(rcode);
  std::shared_ptr<Counter>& cell = answered_.at(type_place * kRcodes + rcode_place);
  if (cell == nullptr) {
    cell = metrics_->Get(sync::CounterName::kDnsQueries,
                         {std::string(type_name), std::string(rcode_name)});
  }
  cell->Add();
  if (!is_truncated) return;
  if (truncated_ == nullptr) truncated_ = metrics_->Get(sync::CounterName::kDnsTruncated);
  truncated_->Add();
}

void Counts::Dropped(std::size_t place, std::string_view reason) {
  if (metrics_ == nullptr) return;
  std::shared_ptr<Counter>& cell = dropped_.at(place);
  if (cell == nullptr) cell = metrics_->Get(sync::CounterName::kDnsDropped, {std::string(reason)});
  cell->Add();
}

}  // namespace kvorum::dns

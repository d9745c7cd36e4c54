// KV's pairs as the API writes them. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "consul/http/exchange.h"
#include "consul/kv/kv_form.h"

namespace kvorum::consul {

// The largest value that the API takes (kv_max_value_size), and the largest transaction's body: 64
// such values would not fit into one request of the store, of 1.5 MiB.
inline constexpr std::size_t kMaxValueBytes = 524'288;
inline constexpr std::size_t kMaxTransactionBytes = 1'048'576;

// Value is null if it is empty, or if it is not shown.
Json PairJson(const KvPair& pair, bool has_value = true);

// The names of the keys; with a separator they are cut behind the first one after the prefix, and
// what is doubled then is left out. The names are in order.
std::vector<std::string> KeyNames(const std::vector<KvPair>& pairs, std::string_view prefix,
                                  const std::optional<std::string>& separator);

// True if no more than one of the parameters is given; otherwise 400 has been answered.
bool HasOneOf(Exchange& exchange, const std::vector<std::string>& names);
// The parameter as a number; 0 if it is absent. Nothing: 500 has been answered, with strconv's
// text.
std::optional<std::uint64_t> NumberOf(Exchange& exchange, std::string_view name);

// The routes, and each of those that take what follows their path once more for when nothing does:
// without the slash at its end.
std::vector<Route> WithoutSlashes(std::vector<Route> routes);

}  // namespace kvorum::consul

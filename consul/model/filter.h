// ?filter: an expression over the fields of an answer's rows (selector == "v", "v" in selector,
// selector is empty, not, and, or, parentheses).
//
// Immutable once parsed, and thread-safe. `matches` is refused: a stranger's pattern may cost any
// time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "sync/kernel/json_bytes.h"

namespace kvorum::consul {

using sync::Json;

// The rows whose fields the selectors name.
enum class FilterRows : std::uint8_t {
  kInstances,     // health/service: {"Node","Service","Checks"}
  kChecks,        // health/node, checks and state, agent/checks
  kNodes,         // catalog/nodes
  kServiceNodes,  // catalog/service; catalog/services too, over the rows of its services
  kNodeServices,  // catalog/node and node-services, agent/services
};

inline constexpr std::size_t kMaxFilterBytes = 8192;
inline constexpr int kMaxFilterDepth = 64;

class Filter {
 public:
  // The filter of an empty text takes every row. kInvalidArgument, with a text for the client.
  static Result<Filter> Parse(std::string_view text, FilterRows rows);
  Filter(Filter&&) noexcept;
  Filter& operator=(Filter&&) noexcept;
  ~Filter();

  // The row as the API writes it.
  bool Takes(const Json& row) const;

  struct Expression;

 private:
  explicit Filter(std::unique_ptr<const Expression> root);
  std::unique_ptr<const Expression> root_;  // null: takes every row
};

}  // namespace kvorum::consul

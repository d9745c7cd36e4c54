// ?filter: an expression over the fields of an answer's rows (selector == "v", "v" in selector,
// selector is empty, not, and, or, parentheses).
//
// Immutable once parsed, and thread-safe. A pattern of `matches` is RE2's, whose syntax is Go's: it
// takes time in proportion to the text, and at most kMaxPatternMemoryBytes.
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
// The patterns of `matches` in one filter.
inline constexpr std::size_t kMaxPatterns = 16;
inline constexpr std::size_t kMaxPatternBytes = 1024;
inline constexpr std::size_t kMaxPatternMemoryBytes = std::size_t{512} << 10U;

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

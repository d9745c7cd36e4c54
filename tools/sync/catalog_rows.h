// The rows in which the catalog is shown: of nodes, of services, of a service's instances.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sync/agent/catalog.h"

namespace kvorum::ctl {

struct CatalogCell {
  std::string name;
  std::string text;
  bool is_number = false;

  std::string Json() const;
  friend bool operator==(const CatalogCell&, const CatalogCell&) = default;
};
using CatalogRow = std::vector<CatalogCell>;

// Between tabs, without control characters.
std::string RowText(const CatalogRow& row);
std::string RowJson(const CatalogRow& row);

// `rest` is the key behind the prefix of its kind.
CatalogRow NodeRow(std::string_view node, std::string_view value);
CatalogRow ServiceRow(std::string_view name, std::int64_t instances);
// The name of the service in a key behind ROOT/services/.
std::string_view ServiceOf(std::string_view rest);
// NODE.ID of an instance; kInvalidArgument if the record cannot be read.
Result<CatalogRow> InstanceRow(std::string_view rest, std::string_view record);
bool IsCritical(const CatalogRow& instance);

}  // namespace kvorum::ctl

// Makes a failing history shorter, for the reader of its failure.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace kvorum {

// Leaves out operations that the failure does not need. `goes_well` runs a history.
template <class Operation, class GoesWell>
std::vector<Operation> Shrink(std::vector<Operation> operations, const GoesWell& goes_well) {
  for (std::size_t length = operations.size() / 2; length > 0;) {
    bool shrunk = false;
    for (std::size_t at = 0; at + length <= operations.size();) {
      std::vector<Operation> fewer = operations;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at),
                  fewer.begin() + static_cast<std::ptrdiff_t>(at + length));
      if (goes_well(fewer)) {
        at += length;
      } else {
        operations = std::move(fewer);
        shrunk = true;
      }
    }
    if (!shrunk || length > operations.size()) length /= 2;
  }
  return operations;
}

}  // namespace kvorum

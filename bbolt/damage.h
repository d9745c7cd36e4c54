// The error of a damaged bbolt file, the same for every part of the reader.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "bbolt/format.h"

namespace kvorum::bbolt {

inline std::unexpected<Error> Damage(PageId page, std::string_view what) {
  return Fail(Code::kDataLoss, "bbolt: page " + std::to_string(page) + ": " + std::string(what));
}

}  // namespace kvorum::bbolt

#include "base/check.h"

#include <cstdlib>

#include "base/logging.h"

namespace kvorum {

void CheckFailed(const char* file, int line, const char* condition, std::string_view what) {
  WriteLogBeforeExit(LogLevel::kFatal, file, line, what, {{"condition", condition}});
  std::abort();
}

}  // namespace kvorum

// A line through a whole program, in this process.
#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tools/shell/command.h"

namespace kvorum::ctl {

struct Ended {
  int code = 0;
  std::string out;
  std::string err;
};

inline Ended RunLine(const Command& root, const std::vector<std::string>& line,
                     std::vector<std::string> environment = {}, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  World world{.in = in, .out = out, .err = err, .environment = std::move(environment)};
  const int code = Execute(root, line, world);
  return {.code = code, .out = out.str(), .err = err.str()};
}

}  // namespace kvorum::ctl

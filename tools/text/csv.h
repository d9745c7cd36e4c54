// One line of comma-separated values, the form in which a flag takes a list.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace kvorum::ctl {

// Fields may be in double quotes, with a quote inside doubled. An empty text is an empty list. The
// error says where the text is malformed.
std::expected<std::vector<std::string>, std::string> ParseCsv(std::string_view text);

std::string WriteCsv(const std::vector<std::string>& fields);

}  // namespace kvorum::ctl

// A flag's value, from text into its field of Options.
#pragma once

#include <string_view>

#include "server/process/settings/flag_table.h"

namespace kvorum::server {

// Stores the text in the flag's field; returns the reason if it does not fit.
ValueProblem Assign(const Flag& flag, std::string_view text, Options& options);

// True for a value equal to the default, however it is written.
bool EqualsDefault(const Flag& flag, std::string_view text);

}  // namespace kvorum::server

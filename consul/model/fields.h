// A JSON object that a client sent: its members are found without regard to case, with underscores
// (service_id) beside the plain form, which wins if both are given, and null is as good as absent.
//
// For one thread; the object outlives it. Errors are kInvalidArgument with the API's text.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "consul/model/durations.h"
#include "consul/model/records.h"

namespace kvorum::consul {

// The text as JSON: at most so deep, with at most so many members in an object, so that no text
// takes the stack or the square of its length.
inline constexpr std::size_t kMaxBodyDepth = 64;
inline constexpr std::size_t kMaxMembers = 512;
Result<Json> ParseBody(std::string_view text);
// The text as far as its first value goes, if that is an object or a list: of a request's body, the
// API takes one value and ignores what follows. The text may be any bytes.
std::string_view FirstValue(std::string_view text);

class Fields {
 public:
  // Anything but an object has no members.
  explicit Fields(const Json& object);

  // By its plain name ("ServiceID"); null: it is absent.
  const Json* Find(std::string_view name);
  // The readers replace `value` if the member is there, and fail if it is of another type.
  Result<void> Read(std::string_view name, std::string& value);
  Result<void> Read(std::string_view name, bool& value);
  Result<void> Read(std::string_view name, int& value);
  Result<void> Read(std::string_view name, std::uint64_t& value);
  Result<void> Read(std::string_view name, Duration& value);
  Result<void> Read(std::string_view name, std::vector<std::string>& value);
  Result<void> Read(std::string_view name, std::map<std::string, std::string>& value);
  Result<void> Read(std::string_view name, std::map<std::string, std::vector<std::string>>& value);
  Result<void> Read(std::string_view name, std::map<std::string, TaggedAddress>& value);
  // Members that were never asked for, as they are written.
  std::vector<std::string> Unknown() const;

 private:
  struct Member {
    std::string name;
    const Json* value;
  };
  std::map<std::string, Member> plain_;  // by their lower-case names
  std::map<std::string, Member> snake_;  // by these without underscores
  std::set<std::string> asked_;
};

// Go's words for a value of another type than the member's.
Error WrongType(std::string_view member, const Json& value, std::string_view wanted);

}  // namespace kvorum::consul

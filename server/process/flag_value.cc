#include "server/process/flag_value.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/duration_text.h"
#include "base/go_number.h"
#include "base/go_quote.h"
#include "base/url.h"
#include "base/words.h"
#include "server/process/feature_gates.h"

namespace kvorum::server {
namespace {

template <class T>
ValueProblem ProblemOf(const Result<T>& parsed) {
  if (parsed.has_value()) return std::nullopt;
  return parsed.error().message;
}

bool IsOneOf(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

constexpr auto kClusterStates = std::to_array<std::string_view>({"new", "existing"});
constexpr auto kDiscoveryFallbacks = std::to_array<std::string_view>({"exit", "proxy"});
constexpr auto kV2Deprecations = std::to_array<std::string_view>(
    {"write-only", "write-only-skip-check", "write-only-drop-data", "gone"});

}  // namespace

std::string NumberProblem(const Error& error) {
  return error.code == Code::kOutOfRange ? "value out of range" : "parse error";
}

ValueProblem CheckSigned(std::string_view text) {
  const auto parsed = ParseInt(text, 0);
  if (!parsed) return NumberProblem(parsed.error());
  return std::nullopt;
}

ValueProblem CheckUnsigned(std::string_view text) {
  const auto parsed = ParseUint(text, 0);
  if (!parsed) return NumberProblem(parsed.error());
  return std::nullopt;
}

ValueProblem CheckUnsigned32(std::string_view text) { return ProblemOf(ParseUint(text, 0, 32)); }

ValueProblem CheckDuration(std::string_view text) {
  if (ParseDuration(text).has_value()) return std::nullopt;
  return "parse error";
}

ValueProblem CheckUrls(std::string_view text) {
  if (text.empty()) return std::nullopt;
  return ProblemOf(ParseUrls(text));
}

ValueProblem CheckOrigins(std::string_view text) {
  if (text == "*") return std::nullopt;
  return ProblemOf(ParseUrls(text));
}

ValueProblem CheckFeatureGates(std::string_view text) {
  const auto gates = ParseFeatureGates(text);
  if (gates.has_value()) return std::nullopt;
  return gates.error();
}

ValueProblem CheckClusterState(std::string_view text) {
  if (IsOneOf(text, kClusterStates)) return std::nullopt;
  return "invalid value";
}

ValueProblem CheckDiscoveryFallback(std::string_view text) {
  if (IsOneOf(text, kDiscoveryFallbacks)) return std::nullopt;
  return "invalid value";
}

ValueProblem CheckV2Deprecation(std::string_view text) {
  for (const std::string_view word : Split(text, ','))
    if (!IsOneOf(word, kV2Deprecations)) return "invalid value " + GoQuote(word);
  return std::nullopt;
}

}  // namespace kvorum::server

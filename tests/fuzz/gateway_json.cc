// Any bytes as the body of a request to the gateway: each value is a message or an error, and a
// message that was read is shown and read again without a difference. Any bytes as an answer's
// message are shown as one JSON value.
//
// An input is one byte for the message (its place among the routes), and the body.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string>
#include <string_view>

#include "server/gateway/json_answer.h"
#include "server/gateway/json_request.h"
#include "server/gateway/json_values.h"
#include "server/gateway/routes.h"

namespace {

using namespace kvorum::server::gateway;

void Require(bool condition, std::source_location where = std::source_location::current()) {
  if (condition) return;
  std::fprintf(stderr, "line %u does not hold\n", static_cast<unsigned>(where.line()));
  std::abort();
}

bool IsOneValue(std::string_view json) {
  JsonValues values(json);
  const auto value = values.Next();
  const auto next = values.Next();
  return value.has_value() && *value == json && next.has_value() && !next->has_value();
}

void ReadBody(const kvorum::wire::Table& table, std::string_view body) {
  JsonValues values(body);
  for (;;) {
    const auto value = values.Next();
    if (!value.has_value() || !value->has_value()) return;
    const auto message = EncodeJsonRequest(table, **value);
    if (!message.has_value()) continue;
    const std::string shown = JsonAnswer(table, *message);
    Require(IsOneValue(shown));
    const auto again = EncodeJsonRequest(table, shown);
    Require(again.has_value());
    Require(JsonAnswer(table, *again) == shown);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Route& route = Routes()[data[0] % Routes().size()];
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  ReadBody(*route.request, rest);
  ReadBody(*route.response, rest);
  // Answers are our own: none nests deeper than a request may.
  Require(IsOneValue(JsonAnswer(*route.response, rest.substr(0, 1'000))));
  return 0;
}

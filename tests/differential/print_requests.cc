// The differential test's stream of requests as JSON, for servers that are asked by other means
// than gRPC: for each line of standard input, "NEWEST COMPACTED COUNT" (the servers' revisions, as
// far as the asker knows them, and a number of requests), at least that many lines "METHOD JSON",
// then an empty one.
#include <google/protobuf/util/json_util.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <variant>

#include "tests/differential/request_stream.h"

namespace kvorum::differential {
namespace {

std::string Json(const Request& request) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto printed = std::visit(
      [&](const auto& message) {
        return google::protobuf::util::MessageToJsonString(message, &json, options);
      },
      request);
  return printed.ok() ? json : "{}";
}

int PrintRequests(std::uint64_t seed) {
  RequestStream stream(seed);
  std::int64_t newest = 0;
  std::int64_t compacted = 0;
  std::size_t count = 0;
  while (std::cin >> newest >> compacted >> count) {
    stream.Observe(newest, compacted);
    for (const Request& request : stream.Next(count))
      std::cout << MethodOf(request) << ' ' << Json(request) << '\n';
    std::cout << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace kvorum::differential

int main(int argc, char** argv) {
  std::uint64_t seed = 0;
  const std::string text = argc == 2 ? argv[1] : "";
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    std::fputs("usage: kvorum_differential_requests SEED\n", stderr);
    return 2;
  }
  return kvorum::differential::PrintRequests(seed);
}

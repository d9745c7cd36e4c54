// The differential test as a program: exit 0 if kvorum answered every request as etcd did.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <string_view>

#include "tests/differential/session.h"

namespace kvorum::differential {
namespace {

constexpr char kUsage[] =
    "usage: kvorum_differential [--seed N] [--requests N] [--kvorum FILE] [--peer FILE]\n"
    "                           [--mover FILE]\n"
    "  without the files: $KVORUM_BIN_DIR/kvorum and $KVORUM_PEER_DIR/etcd; the mover is "
    "kvorumutl\n";

template <class Number>
bool ParseNumber(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

std::filesystem::path Binary(const char* folder_variable, const char* name) {
  const char* folder = std::getenv(folder_variable);
  return folder == nullptr ? std::filesystem::path() : std::filesystem::path(folder) / name;
}

bool ParseOptions(int argc, char** argv, SessionOptions& options) {
  options.kvorum = Binary("KVORUM_BIN_DIR", "kvorum");
  options.peer = Binary("KVORUM_PEER_DIR", "etcd");
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) return false;
    const std::string_view flag = argv[i];
    const std::string value = argv[i + 1];
    if (flag == "--seed") {
      if (!ParseNumber(value, options.seed)) return false;
    } else if (flag == "--requests") {
      if (!ParseNumber(value, options.requests)) return false;
    } else if (flag == "--kvorum") {
      options.kvorum = value;
    } else if (flag == "--peer") {
      options.peer = value;
    } else if (flag == "--mover") {
      options.mover = value;
    } else {
      return false;
    }
  }
  return !options.kvorum.empty() && !options.peer.empty();
}

int Main(int argc, char** argv) {
  SessionOptions options;
  if (!ParseOptions(argc, argv, options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  Session session(options);
  const Result<void> equal = session.Run();
  if (equal.has_value()) {
    std::puts("differential: equal");
    return 0;
  }
  std::fprintf(stderr, "differential: FAILED: %s\n", equal.error().message.c_str());
  return 1;
}

}  // namespace
}  // namespace kvorum::differential

int main(int argc, char** argv) { return kvorum::differential::Main(argc, argv); }

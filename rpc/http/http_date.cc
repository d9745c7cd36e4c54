#include "rpc/http/http_date.h"

#include <array>
#include <ctime>

namespace kvorum::rpc {

std::string HttpDate() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 64> text;
  const std::size_t length =
      std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text.data(), length};
}

}  // namespace kvorum::rpc

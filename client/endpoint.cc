#include "client/endpoint.h"

namespace kvorum::client {
namespace {

// Removes the prefix and returns whether it was there.
bool Consume(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string TcpTarget(std::string_view host_port) {
  return "dns:///" + std::string(host_port.substr(0, host_port.find('/')));
}

}  // namespace

Endpoint ParseEndpoint(std::string_view text) {
  using Security = Endpoint::Security;
  std::string_view rest = text;
  if (Consume(rest, "https://")) return {TcpTarget(rest), Security::kTls};
  if (Consume(rest, "http://")) return {TcpTarget(rest), Security::kPlain};
  // unix://name is a path relative to the working directory here, as it is for the Go client.
  if (Consume(rest, "unixs://") || Consume(rest, "unixs:"))
    return {"unix:" + std::string(rest), Security::kTls};
  if (Consume(rest, "unix://") || Consume(rest, "unix:"))
    return {"unix:" + std::string(rest), Security::kAsChosen};
  return {TcpTarget(rest), Security::kAsChosen};
}

}  // namespace kvorum::client

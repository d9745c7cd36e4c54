// The forms in which an endpoint may be given, and the parameters of a connection to it.
#pragma once

#include <string>
#include <string_view>

namespace kvorum::client {

struct Endpoint {
  enum class Security {
    kPlain,     // http://
    kTls,       // https:// and unixs://
    kAsChosen,  // no scheme, or unix://: TLS if the client has TLS options
  };
  std::string target;  // as gRPC names it: dns:///host:port or unix:path
  Security security = Security::kAsChosen;
};

// host:port, http://host:port, https://host:port, unix:path, unix://path, unixs://path.
Endpoint ParseEndpoint(std::string_view text);

}  // namespace kvorum::client

// The texts of errors in log lines. Etcd's layers word an error differently from the API that a
// client sees, and its lines about a request that was applied or read have the words of the layer.
#pragma once

#include <string_view>

namespace kvorum::server {

// By the API's text; any other text stays as it is. Valid as long as `message`.
std::string_view InnerText(std::string_view message);

}  // namespace kvorum::server

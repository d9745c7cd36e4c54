// Refusals over HTTP in the form of Go's http.Error, which clients of etcd know: a line of text
// that no browser takes for anything else.
#pragma once

#include <string_view>

#include "rpc/http/http.h"

namespace kvorum::rpc {

// Adds the line's end to the text.
HttpResponse HttpError(unsigned status, std::string_view text);
// 405, naming the only method that is allowed.
HttpResponse WrongMethod(std::string_view allowed);

}  // namespace kvorum::rpc

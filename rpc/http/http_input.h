// A request's body that its handler reads while it comes, for streams of requests.
//
// Belongs to the connection's loop.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"

namespace kvorum::rpc {

class HttpInput {
 public:
  // The next bytes; none: the body has ended; an error: the client has left.
  using Arrived = std::move_only_function<void(Result<std::string>)>;

  virtual ~HttpInput() = default;
  // One Read may be outstanding. `arrived` runs in a later wake-up. Unread bytes stay in the
  // socket, but for a bounded part.
  virtual void Read(Arrived arrived) = 0;
};

}  // namespace kvorum::rpc

// The address of this server that a call came to. Apart from CallContext, which is the same for all
// calls: few ask, and the answer costs a system call.
#pragma once

#include <string>

namespace kvorum::rpc {

class CallContext;

// "127.0.0.1:2379", "[::1]:2379", the path of a unix socket. Empty for a call that did not come
// over a connection. Ask on the call's loop.
std::string LocalAddressOf(const CallContext& call);

}  // namespace kvorum::rpc

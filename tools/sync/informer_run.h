// kvorumctl informer run: a copy of a prefix, whose changes are printed and whose content can be
// read through its control socket.
//
// Requests (control.h), of which `informer get`, `list` and `status` are the clients:
//   {"command":"get","key":K,"consistent":bool}        -> ok {"revision":N,"kv":OBJECT}, no kv:
//   none
//   {"command":"list","index":NAME,"value":V,"keys_only":bool} -> an item for each object; without
//                                                       an index all, in order of their keys
//   {"command":"status"}                               -> ok {"prefix":..,"listed":..,"objects":..}
// An OBJECT has key, value, create_revision, mod_revision, version and lease.
#pragma once

#include "tools/shell/command.h"

namespace kvorum::ctl {

Outcome<void> RunInformer(Invocation& invocation);
std::vector<Flag> InformerRunFlags();

}  // namespace kvorum::ctl

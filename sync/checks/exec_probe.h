// The probe of SystemProber that runs a program. On the thread of the io_context; Boost's headers,
// so only for the library's own sources.
#pragma once

#include <boost/asio/io_context.hpp>

#include "sync/checks/prober.h"

namespace kvorum::sync {

// A program that still runs when the io_context drops its handlers is killed.
void BeginExecProbe(boost::asio::io_context& io, const CheckDefinition& check,
                    Prober::OnEnd on_end);

}  // namespace kvorum::sync

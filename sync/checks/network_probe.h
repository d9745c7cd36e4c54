// The probes of SystemProber that make a connection. On the thread of the io_context; Boost's
// headers, so only for the library's own sources.
#pragma once

#include <boost/asio/io_context.hpp>

#include "sync/checks/name_lookups.h"
#include "sync/checks/prober.h"

namespace kvorum::sync {

// The lookups are of this io_context, and end before it.
void BeginTcpProbe(boost::asio::io_context& io, NameLookups& lookups, const CheckDefinition& check,
                   Prober::OnEnd on_end);
// An empty datagram. Passing if it is answered, and if nothing refuses it within the time-out.
void BeginUdpProbe(boost::asio::io_context& io, NameLookups& lookups, const CheckDefinition& check,
                   Prober::OnEnd on_end);
void BeginHttpProbe(boost::asio::io_context& io, NameLookups& lookups, const CheckDefinition& check,
                    Prober::OnEnd on_end);
// A PING of HTTP/2, or a call of gRPC's health service.
void BeginHttp2Probe(boost::asio::io_context& io, NameLookups& lookups,
                     const CheckDefinition& check, Prober::OnEnd on_end);

}  // namespace kvorum::sync

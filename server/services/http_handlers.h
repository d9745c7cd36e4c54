// The port's answers over HTTP/1.1: GET /health and GET /version.
#pragma once

#include "rpc/http.h"
#include "server/call/service_context.h"

namespace kvorum::server {

// True if it is a GET; otherwise it was answered with 405.
bool MethodIsGet(const rpc::HttpRequest& request, rpc::HttpReply& reply);

// GET /version, on the peer port too.
void ServeVersion(const ServiceContext& context, const rpc::HttpRequest& request,
                  rpc::HttpReply reply);

// The context outlives the handler.
rpc::HttpHandler MakeHttpHandler(ServiceContext& context);

}  // namespace kvorum::server

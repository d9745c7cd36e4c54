// The client port's own answers over HTTP: the version, and the health of the member (health.h).
#pragma once

#include <cstdint>

#include "rpc/http/http.h"

namespace kvorum::server {

class Health;
class Membership;

// True if it is a GET; otherwise it was answered with 405.
bool MethodIsGet(const rpc::HttpRequest& request, rpc::HttpReply& reply);

// GET /version. Peers, unlike clients, also learn that this is not etcd.
enum class VersionAsker : std::uint8_t { kClient, kPeer };
void ServeVersion(const Membership& membership, VersionAsker asker, const rpc::HttpRequest& request,
                  rpc::HttpReply reply);

// /version and those of Health; both arguments outlive the handlers.
rpc::HttpMux ClientRoutes(const Membership& membership, Health& health);

}  // namespace kvorum::server

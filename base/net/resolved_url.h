// URLs compared by what they resolve to: a name in one place and its address in another are the
// same peer.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace kvorum {

// The URL with its host as an address, IPv4 if it has one, and with its port; unchanged if it does
// not resolve, or names a socket. Blocks while the machine's resolver is asked.
std::string ResolvedUrl(const std::string& url);

// ResolvedUrl, or its place-holder in tests. With an empty one only texts are compared.
using UrlResolver = std::function<std::string(const std::string& url)>;

// Compares lists without regard to their order. Nothing is resolved if the texts are equal.
bool SameUrls(const UrlResolver& resolve, std::vector<std::string> a, std::vector<std::string> b);

}  // namespace kvorum

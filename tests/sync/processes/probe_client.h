// The client of a program that a process test starts, and what the program says.
#pragma once

#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>

#include "client/client.h"

namespace kvorum::sync {

// Endpoints with commas between them; an empty user logs in nowhere.
inline Result<std::unique_ptr<client::Client>> ConnectProbe(const std::string& endpoints,
                                                            const std::string& user = "",
                                                            const std::string& password = "") {
  client::Options options;
  std::istringstream list(endpoints);
  for (std::string endpoint; std::getline(list, endpoint, ',');)
    options.endpoints.push_back(endpoint);
  options.user = user;
  options.password = password;
  return client::Client::Connect(options);
}

// A line on standard output, whichever thread says it.
inline void Say(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::cout << line << '\n' << std::flush;
}

}  // namespace kvorum::sync

// The result of the global flags and the environment for one command's call: the client's options,
// the printer, the time-out. Used by the command's main thread, but for Call(), which any may use.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "client/client.h"
#include "tools/session/printer.h"
#include "tools/shell/command.h"

namespace kvorum::ctl {

// The flags that every command accepts. Each may also be given as ETCDCTL_ and its name.
std::vector<Flag> GlobalFlags();

// The user on whose behalf a command runs.
struct LogIn {
  std::string user;  // empty: no user
  std::string password;
};
// The flags for a second cluster: certificates and user. They begin with dest-.
std::vector<Flag> DestinationFlags();
// From --dest-user and --dest-password; asks for the password if neither has it.
Outcome<LogIn> DestinationLogIn(const Invocation& invocation);

class Session {
 public:
  // First takes the environment into the invocation's flags: a variable counts if the flag was not
  // given, and giving both is an error.
  static Outcome<Session> Open(Invocation& invocation);

  // A client of all endpoints, or of the one.
  Outcome<std::unique_ptr<client::Client>> Connect() const;
  Outcome<std::unique_ptr<client::Client>> ConnectTo(const std::string& endpoint) const;

  // A client with other options than the line's, which options() has.
  static Outcome<std::unique_ptr<client::Client>> ConnectWith(const client::Options& options);

  // The options for another cluster's endpoints, taken from the flags that begin with dest-.
  client::Options DestinationOptions(const Invocation& invocation,
                                     std::vector<std::string> endpoints, const LogIn& log_in) const;

  // The given endpoints, or with --cluster the client URLs of the members.
  Outcome<std::vector<std::string>> Endpoints() const;

  client::CallOptions Call() const { return client::CallOptions::Within(command_timeout_); }
  Printer& printer() const { return *printer_; }
  // The endpoints, TLS files and time-outs of the line.
  const client::Options& options() const { return options_; }

 private:
  Session() = default;

  client::Options options_;
  std::chrono::nanoseconds command_timeout_{};
  std::unique_ptr<Printer> printer_;
  bool whole_cluster_ = false;
};

struct Connected {
  Session session;
  std::unique_ptr<client::Client> client;
};
// The start of most commands: the session and a client of all its endpoints.
Outcome<Connected> Connect(Invocation& invocation);

// Sends a request that changes users or roles, and shows the sentence about it.
template <class Request, class Response>
Outcome<void> ChangeAuth(Invocation& invocation,
                         Result<Response> (client::Client::*method)(const Request&,
                                                                    const client::CallOptions&),
                         const Request& request, const std::string& sentence) {
  KV_TRY(const auto connected, Connect(invocation));
  KV_TRY(const Response response, (*connected.client.*method)(request, connected.session.Call()));
  return connected.session.printer().AuthChanged(sentence, response.header(), response);
}

// The flag used by Session::Endpoints, for commands that have it.
Flag ClusterFlag();

}  // namespace kvorum::ctl

#include "tools/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/letter_case.h"
#include "base/text/go_quote.h"
#include "base/words.h"
#include "client/discovery.h"
#include "client/error_text.h"
#include "proto/rpc.pb.h"
#include "tools/shell/password.h"
#include "tools/text/json.h"

namespace kvorum::ctl {
namespace {

constexpr std::string_view kEnvironmentPrefix = "ETCDCTL_";

std::string EnvironmentName(std::string_view flag) {
  std::string name(kEnvironmentPrefix);
  for (const char c : flag) name += c == '-' ? '_' : UpperCase(c);
  return name;
}

// Logs a line about the environment for a person; the command's own output is unchanged. Leaves out
// the variable's value: it may be a password under a misspelled name.
void LogVariable(World& world, std::string_view level, std::string_view message,
                 std::string_view variable) {
  world.err << JsonObject()
                   .Add("level", JsonString(level))
                   .Add("msg", JsonString(message))
                   .Add("environment-variable", JsonString(variable))
                   .Finish()
            << '\n';
}

Outcome<void> TakeEnvironment(Invocation& invocation) {
  for (const std::string& variable : invocation.world.environment) {
    if (!variable.starts_with(kEnvironmentPrefix)) continue;
    const std::size_t equals = std::min(variable.find('='), variable.size());
    const std::string_view name = std::string_view(variable).substr(0, equals);
    const std::string_view value =
        std::string_view(variable).substr(std::min(equals + 1, variable.size()));
    const Flag* flag = nullptr;
    for (const Command* ancestor : std::span(invocation.path).first(invocation.path.size() - 1))
      for (const Flag& candidate : ancestor->inherited_flags)
        if (EnvironmentName(candidate.name) == name) flag = &candidate;
    if (flag == nullptr) {
      LogVariable(invocation.world, "warn", "unrecognized environment variable", name);
    } else if (invocation.flags.IsSet(flag->name)) {
      LogVariable(
          invocation.world, "fatal",
          "conflicting environment variable is shadowed by corresponding command-line flag (either "
          "unset environment variable or disable flag))",
          name);
      return Fail(ExitCode::kError, "");
    } else if (!value.empty() && !invocation.flags.Set(flag->name, value)) {
      LogVariable(invocation.world, "warn", "ignored environment variable: its value is malformed",
                  name);
    }
  }
  return {};
}

// Values that must not appear on a screen or in a log are shown as "***".
std::string ShownValue(const FlagSet& flags, const Flag& flag) {
  constexpr std::string_view kSecret = "***";
  std::string value = flags.ValueText(flag.name);
  if (value.empty()) return value;
  if (flag.name == "user" || flag.name == "dest-user") {
    const std::size_t colon = value.find(':');
    return colon == std::string::npos ? value : value.substr(0, colon + 1).append(kSecret);
  }
  const bool is_secret = flag.name == "auth-jwt-token" || flag.name.ends_with("password");
  return is_secret && flag.type == FlagType::kString ? std::string(kSecret) : value;
}

void PrintFlags(const Invocation& invocation) {
  for (const Flag* flag : invocation.flags.Sorted())
    invocation.world.err << EnvironmentName(flag->name) << '='
                         << ShownValue(invocation.flags, *flag) << '\n';
}

// The endpoints from DNS, if a domain is given; else, and if DNS has none, those of the line.
Outcome<std::vector<std::string>> EndpointsFrom(const Invocation& invocation) {
  const FlagSet& flags = invocation.flags;
  std::vector<std::string> endpoints;
  if (const std::string& domain = flags.String("discovery-srv"); !domain.empty()) {
    const auto discovered = client::DiscoverEndpoints(domain, flags.String("discovery-srv-name"));
    if (!discovered) return Fail(ExitCode::kError, discovered.error().message);
    for (const std::string& endpoint : *discovered) {
      if (endpoint.starts_with("http://") && !flags.Switch("insecure-discovery"))
        invocation.world.err << "ignoring discovered insecure endpoint " << GoQuote(endpoint)
                             << '\n';
      else
        endpoints.push_back(endpoint);
    }
  }
  if (endpoints.empty())
    for (const std::string& endpoint : flags.Strings("endpoints"))
      endpoints.emplace_back(Trim(endpoint));
  return endpoints;
}

Outcome<client::TlsOptions> TlsFrom(const FlagSet& flags) {
  for (const std::string_view name : {"cert", "key", "cacert"})
    if (flags.IsSet(name) && flags.String(name).empty())
      return BadArguments(fmt::format("empty string is passed to --{} option", name));
  client::TlsOptions tls;
  tls.certificate_file = flags.String("cert");
  tls.key_file = flags.String("key");
  tls.ca_file = flags.String("cacert");
  if (!flags.Switch("insecure-discovery")) tls.server_name = flags.String("discovery-srv");
  tls.skip_verification = flags.Switch("insecure-skip-tls-verify");
  tls.enabled = !flags.Switch("insecure-transport") || tls.skip_verification ||
                !tls.certificate_file.empty() || !tls.key_file.empty() || !tls.ca_file.empty() ||
                !tls.server_name.empty();
  return tls;
}

// Takes NAME or NAME:PASSWORD, unless the password is given separately; asks for a missing
// password.
Outcome<LogIn> TakeLogIn(const std::string& user, const std::string& password,
                         std::string_view prompt, World& world) {
  if (user.empty()) return LogIn();
  if (!password.empty()) return LogIn{.user = user, .password = password};
  if (const std::size_t colon = user.find(':'); colon != std::string::npos)
    return LogIn{.user = user.substr(0, colon), .password = user.substr(colon + 1)};
  KV_TRY(auto asked, AskPassword(prompt, world));
  return LogIn{.user = user, .password = std::move(asked)};
}

Outcome<void> TakeCredentials(const Invocation& invocation, client::Options& options) {
  const FlagSet& flags = invocation.flags;
  options.token = flags.String("auth-jwt-token");
  if (!options.token.empty()) return {};
  KV_TRY(auto log_in,
         TakeLogIn(flags.String("user"), flags.String("password"), "Password: ", invocation.world));
  options.user = std::move(log_in.user);
  options.password = std::move(log_in.password);
  return {};
}

Outcome<std::unique_ptr<client::Client>> NewClient(const client::Options& options) {
  auto connected = client::Client::Connect(options);
  if (connected) return *std::move(connected);
  const Error& error = connected.error();
  if (client::IsApiError(error.message) || error.code == Code::kDeadlineExceeded)
    return Fail(ExitCode::kBadConnection, client::ErrorText(error));
  if (error.code == Code::kFailedPrecondition) return BadArguments(error.message);
  if (error.code == Code::kInvalidArgument) return Fail(ExitCode::kBadConnection, error.message);
  return Fail(ExitCode::kBadConnection, client::ErrorText(error));
}

std::vector<Flag> ConnectionFlags() {
  return {
      {"endpoints", FlagType::kStrings, "127.0.0.1:2379", "client addresses of the members"},
      {.name = "debug", .help = "print the settings that result from flags and environment"},
      {"write-out", FlagType::kString, "simple",
       "set the output format (fields, json, protobuf, simple, table)", PrinterFormats(), 'w'},
      {.name = "no-color", .help = "no colours, also on a terminal (as with NO_COLOR)"},
      {.name = "hex", .help = "print keys and values, or ids, in hexadecimal"},
      {"dial-timeout", FlagType::kDuration, "2s", "time for connecting and logging in"},
      {"command-timeout", FlagType::kDuration, "5s",
       "time for a short command, connecting not counted"},
      {"keepalive-time", FlagType::kDuration, "2s",
       "time without traffic after which the client pings the server"},
      {"keepalive-timeout", FlagType::kDuration, "6s",
       "time to wait for the answer to a ping before the connection is closed"},
      {"max-request-bytes", FlagType::kInt, "0", "maximum size of a request in bytes (0: 2 MiB)"},
      {"max-recv-bytes", FlagType::kInt, "0", "maximum size of an answer in bytes (0: 2 GiB)"},
      {.name = "insecure-transport",
       .default_value = "true",
       .help = "use no TLS unless the endpoint or another flag requires it"},
      {.name = "insecure-discovery",
       .default_value = "true",
       .help = "accept endpoints without TLS from DNS"},
      {.name = "insecure-skip-tls-verify",
       .help = "accept any server certificate (for tests only: the connection can be intercepted)"},
  };
}

std::vector<Flag> CredentialFlags() {
  return {
      {"cert", FlagType::kString, "", "file of the client TLS certificate"},
      {"key", FlagType::kString, "", "file of the client certificate's key"},
      {"cacert", FlagType::kString, "",
       "file of the CA certificates that server certificates are checked against"},
      {"auth-jwt-token", FlagType::kString, "",
       "authentication token (instead of --user and --password)"},
      {"user", FlagType::kString, "",
       "name[:password] to log in with (prompts for the password if it is missing)"},
      {"password", FlagType::kString, "",
       "password to log in with (--user is then the name alone)"},
      {"discovery-srv",
       FlagType::kString,
       "",
       "domain whose DNS SRV records name the endpoints",
       {},
       'd'},
      {"discovery-srv-name", FlagType::kString, "", "service name within the SRV records' name"},
  };
}

}  // namespace

std::vector<Flag> GlobalFlags() {
  std::vector<Flag> flags = ConnectionFlags();
  for (Flag& flag : CredentialFlags()) flags.push_back(std::move(flag));
  for (Flag& flag : flags) flag.hidden = true;
  return flags;
}

Flag ClusterFlag() {
  return {.name = "cluster", .help = "use the endpoints of every member of the cluster"};
}

Failure::Failure(const Error& error) : Failure(ExitCode::kError, client::ErrorText(error)) {}

Outcome<Session> Session::Open(Invocation& invocation) {
  KV_RETURN_IF_ERROR(TakeEnvironment(invocation));
  const FlagSet& flags = invocation.flags;
  if (flags.Switch("debug")) PrintFlags(invocation);

  Session session;
  client::Options& options = session.options_;
  KV_TRY(auto endpoints, EndpointsFrom(invocation));
  options.endpoints = std::move(endpoints);
  options.dial_timeout = flags.Duration("dial-timeout");
  options.keepalive_time = flags.Duration("keepalive-time");
  options.keepalive_timeout = flags.Duration("keepalive-timeout");
  constexpr std::int64_t kMost = 0x7fffffff;
  if (const std::int64_t limit = flags.Int("max-request-bytes"); limit > 0)
    options.max_send_bytes = static_cast<int>(std::min(limit, kMost));
  if (const std::int64_t limit = flags.Int("max-recv-bytes"); limit > 0)
    options.max_receive_bytes = static_cast<int>(std::min(limit, kMost));
  KV_TRY(auto tls, TlsFrom(flags));
  options.tls = std::move(tls);
  options.on_unreachable = [&err = invocation.world.err](const std::string& why) {
    const std::string line = JsonObject()
                                 .Add("level", JsonString("warn"))
                                 .Add("msg", JsonString("no endpoint can be connected to"))
                                 .Add("error", JsonString(why))
                                 .Finish() +
                             "\n";
    err << line << std::flush;
  };
  KV_RETURN_IF_ERROR(TakeCredentials(invocation, options));

  session.command_timeout_ = flags.Duration("command-timeout");
  session.whole_cluster_ = flags.Find("cluster") != nullptr && flags.Switch("cluster");
  const bool values_only =
      flags.Find("print-value-only") != nullptr && flags.Switch("print-value-only");
  session.printer_ = MakePrinter(flags.String("write-out"), {flags.Switch("hex"), values_only},
                                 invocation.world.out, invocation.world.err);
  if (session.printer_ == nullptr) return Fail(ExitCode::kBadFeature, "unsupported output format");
  return session;
}

Outcome<Connected> Connect(Invocation& invocation) {
  KV_TRY(auto session, Session::Open(invocation));
  KV_TRY(auto client, session.Connect());
  return Connected{.session = std::move(session), .client = std::move(client)};
}

Outcome<std::unique_ptr<client::Client>> Session::Connect() const { return NewClient(options_); }

Outcome<std::unique_ptr<client::Client>> Session::ConnectTo(const std::string& endpoint) const {
  client::Options options = options_;
  options.endpoints = {endpoint};
  return NewClient(options);
}

Outcome<LogIn> DestinationLogIn(const Invocation& invocation) {
  return TakeLogIn(invocation.flags.String("dest-user"), invocation.flags.String("dest-password"),
                   "Destination Password: ", invocation.world);
}

Outcome<std::unique_ptr<client::Client>> Session::ConnectWith(const client::Options& options) {
  return NewClient(options);
}

std::vector<Flag> DestinationFlags() {
  return {{"dest-cert", FlagType::kString, "",
           "file of the client TLS certificate for the destination"},
          {"dest-key", FlagType::kString, "", "file of that certificate's key"},
          {"dest-cacert", FlagType::kString, "",
           "file of the CA certificates that the destination's certificate is checked against"},
          {.name = "dest-insecure-transport",
           .default_value = "true",
           .help = "use no TLS to the destination unless another flag requires it"},
          {"dest-user", FlagType::kString, "", "name[:password] to log in with at the destination"},
          {"dest-password", FlagType::kString, "", "password to log in with at the destination"}};
}

client::Options Session::DestinationOptions(const Invocation& invocation,
                                            std::vector<std::string> endpoints,
                                            const LogIn& log_in) const {
  const FlagSet& flags = invocation.flags;
  client::Options options = options_;
  options.endpoints = std::move(endpoints);
  options.tls = {};
  options.tls.certificate_file = flags.String("dest-cert");
  options.tls.key_file = flags.String("dest-key");
  options.tls.ca_file = flags.String("dest-cacert");
  options.tls.enabled = !flags.Switch("dest-insecure-transport") ||
                        !options.tls.certificate_file.empty() || !options.tls.key_file.empty() ||
                        !options.tls.ca_file.empty();
  options.token.clear();
  options.user = log_in.user;
  options.password = log_in.password;
  return options;
}

Outcome<std::vector<std::string>> Session::Endpoints() const {
  if (!whole_cluster_) return options_.endpoints;
  const auto connected = Connect();
  if (!connected) return Fail(ExitCode::kError, connected.error().message);
  etcdserverpb::MemberListRequest request;
  request.set_linearizable(true);
  const auto members = (*connected)->MemberList(request, Call());
  if (!members)
    return Fail(ExitCode::kError, "failed to fetch endpoints from etcd cluster member list: " +
                                      client::ErrorText(members.error()));
  std::vector<std::string> endpoints;
  for (const etcdserverpb::Member& member : members->members())
    endpoints.insert(endpoints.end(), member.clienturls().begin(), member.clienturls().end());
  return endpoints;
}

}  // namespace kvorum::ctl

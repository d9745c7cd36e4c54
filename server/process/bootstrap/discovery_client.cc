#include "server/process/bootstrap/discovery_client.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "api/client_messages.h"
#include "base/words.h"

namespace kvorum::server {
namespace {

constexpr Duration kLeastPingInterval = std::chrono::seconds(10);  // as Go's client
constexpr Duration kBetweenEndpoints = std::chrono::milliseconds(100);
constexpr std::string_view kAuthNotEnabled = "etcdserver: authentication is not enabled";

constexpr std::string_view kRange = "/etcdserverpb.KV/Range";
constexpr std::string_view kPut = "/etcdserverpb.KV/Put";
constexpr std::string_view kWatch = "/etcdserverpb.Watch/Watch";
constexpr std::string_view kAuthenticate = "/etcdserverpb.Auth/Authenticate";

bool DiscoveryAsksForTls(const Options& options) {
  return !options.discovery_insecure_transport || options.discovery_insecure_skip_tls_verify ||
         !options.discovery_cert.empty() || !options.discovery_key.empty() ||
         !options.discovery_cacert.empty();
}

// "host:port" gets a scheme; a path, which some write behind the port, means nothing to gRPC.
Result<Url> ParseEndpoint(std::string_view text, bool asks_for_tls) {
  std::string url(Trim(text));
  if (url.starts_with("unix:") || url.starts_with("unixs:")) return Url::Parse(url);
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) url.insert(0, asks_for_tls ? "https://" : "http://");
  const std::size_t path = url.find('/', url.find("://") + 3);
  if (path != std::string::npos) url.erase(path);
  return Url::Parse(url);
}

Result<std::shared_ptr<rpc::TlsContext>> OpenTls(const Options& options) {
  rpc::TlsOptions tls;
  tls.certificate_file = options.discovery_cert;
  tls.key_file = options.discovery_key;
  tls.trusted_ca_file = options.discovery_cacert;
  tls.skip_server_verification = options.discovery_insecure_skip_tls_verify;
  tls.alpn = {"h2"};
  return rpc::TlsContext::Create(std::move(tls));
}

// Errors after which another endpoint, or the same one later, may do better.
bool IsPassing(const Error& error) { return error.code == Code::kUnavailable; }

}  // namespace

Result<std::unique_ptr<DiscoveryClient>> DiscoveryClient::Open(const Options& options) {
  Settings settings;
  const bool asks_for_tls = DiscoveryAsksForTls(options);
  for (const std::string& text : options.discovery_endpoints) {
    auto endpoint = ParseEndpoint(text, asks_for_tls);
    if (!endpoint.has_value())
      return Fail(endpoint.error().code, "--discovery-endpoints: " + endpoint.error().message);
    settings.endpoints.push_back(*std::move(endpoint));
  }
  if (asks_for_tls || std::ranges::any_of(settings.endpoints, &Url::tls)) {
    KV_TRY(settings.tls, OpenTls(options));
  }
  settings.user = options.discovery_user;
  settings.password = options.discovery_password;
  if (const auto [name, password] = Cut(options.discovery_user, ':');
      password.has_value() && options.discovery_password.empty()) {
    settings.user = name;
    settings.password = *password;
  }
  settings.request_timeout = options.discovery_request_timeout;
  settings.connection.dial_timeout = options.discovery_dial_timeout;
  settings.connection.ping_interval =
      std::max<Duration>(options.discovery_keepalive_time, kLeastPingInterval);
  settings.connection.ping_timeout = options.discovery_keepalive_timeout;
  return std::unique_ptr<DiscoveryClient>(new DiscoveryClient(std::move(settings)));
}

Result<void> DiscoveryClient::LogIn(Duration timeout) {
  token_.clear();
  if (settings_.user.empty() || settings_.password.empty()) return {};
  const auto answer = connection_->Call(
      {.path = kAuthenticate, .message = EncodeAuthenticate(settings_.user, settings_.password)},
      timeout);
  if (!answer.has_value()) {
    if (answer.error().message == kAuthNotEnabled) return {};
    return std::unexpected(answer.error());
  }
  KV_TRY(token_, DecodeToken(*answer));
  return {};
}

Result<void> DiscoveryClient::Connect(TimePoint deadline) {
  Result<void> last = Fail(Code::kDeadlineExceeded, "context deadline exceeded");
  if (connection_ != nullptr && connection_->is_usable()) return {};
  for (std::size_t tries = 1; SystemClock().Now() < deadline; ++tries) {
    const Url& endpoint = settings_.endpoints[next_];
    next_ = (next_ + 1) % settings_.endpoints.size();
    auto options = settings_.connection;
    options.dial_timeout = std::min(options.dial_timeout, deadline - SystemClock().Now());
    auto made = rpc::GrpcConnection::Dial(endpoint, endpoint.tls() ? settings_.tls.get() : nullptr,
                                          options);
    if (made.has_value()) {
      connection_ = *std::move(made);
      last = LogIn(deadline - SystemClock().Now());
      if (last.has_value()) return last;
      connection_.reset();
      if (!IsPassing(last.error())) return last;
    } else {
      last = Fail(made.error().code, endpoint.text() + ": " + made.error().message);
    }
    if (tries % settings_.endpoints.size() == 0) std::this_thread::sleep_for(kBetweenEndpoints);
  }
  return last;
}

Result<std::string> DiscoveryClient::Ask(std::string_view path, const std::string& message) {
  const TimePoint deadline = SystemClock().Now() + settings_.request_timeout;
  while (true) {
    KV_RETURN_IF_ERROR(Connect(deadline));
    auto answer = connection_->Call({.path = path, .message = message, .token = token_},
                                    deadline - SystemClock().Now());
    if (answer.has_value()) return answer;
    connection_.reset();  // a token may be too old, an endpoint without a leader
    if (!IsPassing(answer.error()) || SystemClock().Now() + kBetweenEndpoints >= deadline)
      return answer;
    std::this_thread::sleep_for(kBetweenEndpoints);
  }
}

Result<DiscoveryService::Listing> DiscoveryClient::Get(std::string_view key,
                                                       std::string_view range_end) {
  KV_TRY(const std::string bytes, Ask(kRange, EncodeRange(key, range_end)));
  KV_TRY(RangeAnswer answer, DecodeRangeAnswer(bytes));
  Listing listing{.rows = {}, .revision = answer.header.revision};
  for (ReceivedKeyValue& row : answer.rows)
    listing.rows.push_back({std::move(row.key), std::move(row.value), row.create_revision});
  return listing;
}

Result<void> DiscoveryClient::Put(std::string_view key, std::string_view value) {
  const auto answer = Ask(kPut, EncodePut(key, value));
  if (!answer.has_value()) return std::unexpected(answer.error());
  return {};
}

Result<void> DiscoveryClient::Watch(std::string_view key, std::string_view range_end,
                                    std::int64_t revision, const Take& take) {
  KV_RETURN_IF_ERROR(Connect(SystemClock().Now() + settings_.request_timeout));
  Result<void> outcome;
  const auto take_message = [&](std::string_view bytes) {
    const auto answer = DecodeWatchAnswer(bytes);
    if (!answer.has_value()) {
      outcome = std::unexpected(answer.error());
      return false;
    }
    for (const ReceivedEvent& event : answer->events) {
      if (!take({event.row.key, event.row.value, event.row.create_revision})) return false;
    }
    if (!answer->canceled) return true;
    outcome = Fail(Code::kUnavailable, "the watch was canceled: " + answer->cancel_reason);
    return false;
  };
  const std::string create = EncodeWatchCreate(key, range_end, revision);
  const auto ended =
      connection_->Stream({.path = kWatch, .message = create, .token = token_}, take_message);
  if (!outcome.has_value() || !ended.has_value()) connection_.reset();
  return outcome.has_value() ? ended : outcome;
}

}  // namespace kvorum::server

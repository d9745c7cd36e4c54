#include "archive/store/http_transport.h"

#include <curl/curl.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>

#include "archive/store/object_store.h"
#include "base/check.h"
#include "base/letter_case.h"
#include "base/words.h"

namespace kvorum::archive {
namespace {

// Headers are kept up to these.
constexpr std::size_t kMaxHeaders = 100;
constexpr std::size_t kMaxHeaderBytes = 8 << 10;
// A body that is larger waits for the server's word, so that a refusal costs no upload.
constexpr std::size_t kExpectFromBytes = std::size_t{1} << 20;
constexpr long kExpectTimeoutMs = 500;
constexpr long kStallBytesPerSecond = 1;

void StartCurl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

// curl_easy_setopt with options that this version has: a refusal is a mistake here.
template <class T>
void SetOption(CURL* easy, CURLoption option, T value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  KV_CHECK(code == CURLE_OK, "libcurl refuses option " + std::to_string(option));
}

struct HeaderLines {
  HeaderLines() = default;
  HeaderLines(const HeaderLines&) = delete;
  HeaderLines& operator=(const HeaderLines&) = delete;
  ~HeaderLines() { curl_slist_free_all(list); }

  void Add(const std::string& line) {
    curl_slist* const longer = curl_slist_append(list, line.c_str());
    KV_CHECK(longer != nullptr, "no memory for a header");
    list = longer;
  }

  curl_slist* list = nullptr;
};

// OpenSSL writes to a connection that the other side has closed as to any file, and the signal for
// that would end a program that does not ignore it. Blocked in this thread, and taken if it came.
class BlockedPipeSignal {
 public:
  BlockedPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~BlockedPipeSignal() {
    if (sigismember(&before_, SIGPIPE) == 1) return;
    const timespec at_once = {};
    while (sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  BlockedPipeSignal(const BlockedPipeSignal&) = delete;
  BlockedPipeSignal& operator=(const BlockedPipeSignal&) = delete;

 private:
  sigset_t pipe_ = {};
  sigset_t before_ = {};
};

CURLcode Perform(CURL* easy) {
  const BlockedPipeSignal blocked;
  return curl_easy_perform(easy);
}

StoreErrorKind KindOfCurlError(CURLcode code) {
  switch (static_cast<int>(code)) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
      return StoreErrorKind::kInvalid;
    default:
      return StoreErrorKind::kUnavailable;
  }
}

// The same for every request.
void SetRules(CURL* easy, const TransportOptions& options) {
  SetOption(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  SetOption(easy, CURLOPT_FOLLOWLOCATION, 0L);
  SetOption(easy, CURLOPT_PATH_AS_IS, 1L);
  SetOption(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  SetOption(easy, CURLOPT_NOSIGNAL, 1L);
  SetOption(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  SetOption(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  SetOption(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!options.ca_file.empty()) SetOption(easy, CURLOPT_CAINFO, options.ca_file.c_str());
  SetOption(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  SetOption(easy, CURLOPT_LOW_SPEED_LIMIT, kStallBytesPerSecond);
  SetOption(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall_timeout.count()));
  SetOption(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(options.whole_timeout.count()));
  SetOption(easy, CURLOPT_EXPECT_100_TIMEOUT_MS, kExpectTimeoutMs);
  // A name that is still being resolved when its time is over does not hold up the end of the call.
  SetOption(easy, CURLOPT_QUICK_EXIT, 1L);
}

}  // namespace

std::string_view HttpMethodName(HttpMethod method) {
  switch (method) {
    case HttpMethod::kGet:
      return "GET";
    case HttpMethod::kHead:
      return "HEAD";
    case HttpMethod::kPut:
      return "PUT";
    case HttpMethod::kPost:
      return "POST";
  }
  return "GET";
}

std::string_view HttpAnswer::Header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : found->second;
}

// One request under way, for libcurl's callbacks.
struct HttpTransport::Call {
  CURL* easy;
  const HttpRequest& request;
  const BodySink* sink;
  const StopSignal& stop;
  std::size_t sent = 0;
  HttpAnswer answer = {};
  std::optional<StoreError> error = {};

  static std::size_t OnBody(char* data, std::size_t one, std::size_t count, void* user) {
    return static_cast<Call*>(user)->TakeBody({data, one * count}) ? one * count : 0;
  }

  static std::size_t OnHeader(char* data, std::size_t one, std::size_t count, void* user) {
    static_cast<Call*>(user)->TakeHeader({data, one * count});
    return one * count;
  }

  static std::size_t OnUpload(char* out, std::size_t one, std::size_t count, void* user) {
    auto& call = *static_cast<Call*>(user);
    const std::string_view rest = call.request.body.substr(call.sent);
    const std::size_t size = std::min(one * count, rest.size());
    std::memcpy(out, rest.data(), size);
    call.sent += size;
    return size;
  }

  static int OnSeek(void* user, curl_off_t offset, int origin) {
    auto& call = *static_cast<Call*>(user);
    if (origin != SEEK_SET || offset < 0 ||
        static_cast<std::size_t>(offset) > call.request.body.size()) {
      return CURL_SEEKFUNC_FAIL;
    }
    call.sent = static_cast<std::size_t>(offset);
    return CURL_SEEKFUNC_OK;
  }

  static int OnProgress(void* user, curl_off_t /*to_get*/, curl_off_t /*got*/,
                        curl_off_t /*to_send*/, curl_off_t /*sent*/) {
    return static_cast<Call*>(user)->stop.stopped() ? 1 : 0;
  }

  void TakeHeader(std::string_view line) {
    if (line.starts_with("HTTP/")) {  // after a 100 Continue another set begins
      answer.headers.clear();
      return;
    }
    const auto [name, value] = Cut(line, ':');
    if (!value.has_value() || line.size() > kMaxHeaderBytes ||
        answer.headers.size() >= kMaxHeaders) {
      return;
    }
    answer.headers.insert_or_assign(LowerCase(std::string(name)), std::string(Trim(*value)));
  }

  bool TakeBody(std::string_view piece) {
    answer.status = Status();
    if (sink != nullptr && answer.status / 100 == 2) {
      for (; !piece.empty(); piece.remove_prefix(std::min(piece.size(), kMaxPieceBytes))) {
        const auto taken = (*sink)(answer, piece.substr(0, kMaxPieceBytes));
        if (!taken.has_value()) {
          error = taken.error();
          return false;
        }
      }
      return true;
    }
    if (piece.size() > request.limit_bytes - answer.body.size()) {
      error = {StoreErrorKind::kDamaged, "an answer of more than " +
                                             std::to_string(request.limit_bytes) +
                                             " bytes, which no such answer has"};
      return false;
    }
    answer.body.append(piece);
    return true;
  }

  // The request's method and body, and this as the receiver of its answer.
  void SetCallbacks() {
    SetOption(easy, CURLOPT_HEADERFUNCTION, &OnHeader);
    SetOption(easy, CURLOPT_HEADERDATA, static_cast<void*>(this));
    SetOption(easy, CURLOPT_WRITEFUNCTION, &OnBody);
    SetOption(easy, CURLOPT_WRITEDATA, static_cast<void*>(this));
    SetOption(easy, CURLOPT_NOPROGRESS, 0L);
    SetOption(easy, CURLOPT_XFERINFOFUNCTION, &OnProgress);
    SetOption(easy, CURLOPT_XFERINFODATA, static_cast<void*>(this));
    switch (request.method) {
      case HttpMethod::kGet:
        SetOption(easy, CURLOPT_HTTPGET, 1L);
        break;
      case HttpMethod::kHead:
        SetOption(easy, CURLOPT_NOBODY, 1L);
        break;
      case HttpMethod::kPut:
        SetOption(easy, CURLOPT_UPLOAD, 1L);
        SetOption(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
        SetOption(easy, CURLOPT_READFUNCTION, &OnUpload);
        SetOption(easy, CURLOPT_READDATA, static_cast<void*>(this));
        SetOption(easy, CURLOPT_SEEKFUNCTION, &OnSeek);
        SetOption(easy, CURLOPT_SEEKDATA, static_cast<void*>(this));
        break;
      case HttpMethod::kPost:
        SetOption(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
        SetOption(easy, CURLOPT_POSTFIELDS, request.body.data());
        break;
    }
  }

  int Status() const {
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return static_cast<int>(status);
  }
};

HttpTransport::HttpTransport(TransportOptions options, const StopSignal& stop)
    : options_(std::move(options)), stop_(stop) {
  StartCurl();
  easy_ = curl_easy_init();
  KV_CHECK(easy_ != nullptr, "libcurl gives no handle");
}

HttpTransport::~HttpTransport() { curl_easy_cleanup(easy_); }

StoreResult<HttpAnswer> HttpTransport::Do(const HttpRequest& request, const BodySink* sink) {
  if (stop_.stopped()) return StoreFail(StoreErrorKind::kStopped, "stopped");
  CURL* const easy = easy_;
  curl_easy_reset(easy);  // keeps the connections
  Call call{.easy = easy, .request = request, .sink = sink, .stop = stop_};
  HeaderLines lines;
  for (const auto& [name, value] : request.headers) {
    std::string line = name;
    line.append(": ").append(value);
    lines.Add(line);
  }
  if (request.body.size() < kExpectFromBytes) lines.Add("Expect:");
  std::array<char, CURL_ERROR_SIZE> text{};

  SetRules(easy, options_);
  SetOption(easy, CURLOPT_URL, request.url.c_str());
  SetOption(easy, CURLOPT_FRESH_CONNECT, renew_ ? 1L : 0L);
  SetOption(easy, CURLOPT_ERRORBUFFER, text.data());
  SetOption(easy, CURLOPT_USERAGENT, "kvorum");
  SetOption(easy, CURLOPT_HTTPHEADER, lines.list);
  call.SetCallbacks();
  renew_ = false;

  const CURLcode code = Perform(easy);
  // The handle must not keep pointers to what ends here.
  SetOption(easy, CURLOPT_ERRORBUFFER, static_cast<char*>(nullptr));
  if (call.error.has_value()) return std::unexpected(*std::move(call.error));
  if (code == CURLE_ABORTED_BY_CALLBACK && stop_.stopped()) {
    return StoreFail(StoreErrorKind::kStopped, "stopped");
  }
  if (code != CURLE_OK) {
    return StoreFail(KindOfCurlError(code),
                     text.front() != '\0' ? std::string(text.data()) : curl_easy_strerror(code));
  }
  call.answer.status = call.Status();
  return std::move(call.answer);
}

std::int64_t UnixSecondsOfHttpDate(const std::string& text) {
  return std::max<std::int64_t>(curl_getdate(text.c_str(), nullptr), 0);
}

}  // namespace kvorum::archive

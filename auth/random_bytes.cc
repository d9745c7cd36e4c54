#include "auth/random_bytes.h"

#include <sys/random.h>

#include <cerrno>
#include <cstddef>

#include "base/check.h"

namespace kvorum::auth {

void SystemRandomBytes(std::span<std::uint8_t> out) {
  while (!out.empty()) {
    const ssize_t got = getrandom(out.data(), out.size(), 0);
    KV_CHECK(got > 0 || (got < 0 && errno == EINTR), "auth: the system gives no random bytes");
    if (got > 0) out = out.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace kvorum::auth

// A password in memory: never copied implicitly, not even by a move, and overwritten when it is
// destroyed. Used by one thread at a time.
#pragma once

#include <string_view>
#include <vector>

namespace kvorum::auth {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string_view bytes) : bytes_(bytes.begin(), bytes.end()) {}
  Secret(Secret&&) noexcept = default;
  Secret& operator=(Secret&& other) noexcept {
    bytes_.swap(other.bytes_);
    return *this;
  }
  ~Secret();

  Secret Copy() const { return Secret(view()); }
  std::string_view view() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::vector<char> bytes_;  // moving a short string would leave its bytes behind
};

}  // namespace kvorum::auth

#include "tests/client/stalled_member.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace kvorum::client {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::size_t kHeadSize = 9;
constexpr std::uint8_t kData = 0;
constexpr std::uint8_t kHeaders = 1;

bool ReadAll(int socket, std::span<std::uint8_t> bytes) {
  return ::recv(socket, bytes.data(), bytes.size(), MSG_WAITALL) ==
         static_cast<ssize_t>(bytes.size());
}

}  // namespace

StalledMember::StalledMember(std::uint32_t window_bytes)
    : window_bytes_(window_bytes), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(listener_, 8), 0);
  EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

StalledMember::~StalledMember() {
  ::shutdown(listener_, SHUT_RDWR);
  if (connection_ >= 0) ::shutdown(connection_, SHUT_RDWR);
  thread_.join();
  if (connection_ >= 0) ::close(connection_);
  ::close(listener_);
}

void StalledMember::AwaitBytes(std::uint32_t wanted) const {
  for (std::uint32_t seen = bytes_; seen < wanted; seen = bytes_) bytes_.wait(seen);
}

void StalledMember::Serve() {
  const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection < 0) return;
  connection_ = connection;
  // One frame of settings with one of them, the window that each call begins with.
  const auto byte = [this](int shift) { return static_cast<std::uint8_t>(window_bytes_ >> shift); };
  const std::array<std::uint8_t, kHeadSize + 6> settings{
      0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, byte(24), byte(16), byte(8), byte(0)};
  if (::send(connection, settings.data(), settings.size(), MSG_NOSIGNAL) < 0) return;
  std::vector<std::uint8_t> payload(kPreface.size());
  was_spoken_to_ = ::recv(connection, payload.data(), 1, MSG_PEEK) > 0;
  if (!ReadAll(connection, payload)) return;
  std::array<std::uint8_t, kHeadSize> head{};
  while (ReadAll(connection, head)) {
    payload.resize(std::size_t{head[0]} << 16U | std::size_t{head[1]} << 8U | head[2]);
    if (!payload.empty() && !ReadAll(connection, payload)) return;
    if (head[3] == kHeaders) {
      ++calls_;
      calls_.notify_all();
    }
    if (head[3] == kData) {
      bytes_ += static_cast<std::uint32_t>(payload.size());
      bytes_.notify_all();
    }
  }
}

}  // namespace kvorum::client

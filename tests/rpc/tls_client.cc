#include "tests/rpc/tls_client.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace kvorum::rpc {

std::string TlsClient::Hello() {
  std::string out;
  std::string_view nothing;
  stream_.Handshake(&nothing, &out);
  return out;
}

bool TlsClient::SendPieces(std::string_view bytes, std::size_t piece_bytes) {
  while (!bytes.empty()) {
    if (!socket_.Send(bytes.substr(0, piece_bytes))) return false;
    bytes.remove_prefix(std::min(bytes.size(), piece_bytes));
  }
  return true;
}

bool TlsClient::Handshake(std::size_t piece_bytes) {
  std::string out;
  std::string received;
  std::string_view rest;
  while (true) {
    const auto progress = stream_.Handshake(&rest, &out);
    if (!SendPieces(std::exchange(out, {}), piece_bytes)) return false;
    if (progress == TlsStream::Progress::kFailed) return false;
    if (progress == TlsStream::Progress::kDone) return rest.empty() || Take(rest);
    received = socket_.Receive();
    if (received.empty()) return false;
    rest = received;
  }
}

bool TlsClient::Take(std::string_view received) {
  std::vector<char> buffer(64 * 1024);
  std::string out;
  while (!received.empty()) {
    std::string_view part = received.substr(0, TlsStream::kMaxOpenBytes);
    received.remove_prefix(part.size());
    const std::size_t opened = stream_.Open(&part, buffer, &out);
    if (stream_.broken()) return false;
    plain_.append(buffer.data(), opened);
  }
  return true;
}

bool TlsClient::Send(std::string_view plain) {
  std::string out;
  return stream_.Seal(plain, &out) && socket_.Send(out);
}

std::string TlsClient::ReceiveUntil(std::string_view end) {
  while (end.empty() || plain_.find(end) == std::string::npos) {
    const std::string received = socket_.Receive();
    if (received.empty() || !Take(received) || stream_.ended()) break;
  }
  return std::exchange(plain_, {});
}

std::string TlsClient::ReceiveAtLeast(std::size_t size_bytes) {
  while (plain_.size() < size_bytes) {
    const std::string received = socket_.Receive();
    if (received.empty() || !Take(received) || stream_.ended()) break;
  }
  return std::exchange(plain_, {});
}

}  // namespace kvorum::rpc

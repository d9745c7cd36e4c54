#include "rpc/tls/tls_link.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "rpc/tls/socket.h"

namespace kvorum::rpc {

TlsLink::TlsLink(SslPtr ssl, TlsBuffers& buffers) : buffers_(buffers), stream_(std::move(ssl)) {
  if (buffers_.received.empty()) buffers_.received.resize(TlsStream::kMaxOpenBytes);
}

bool TlsLink::SendSealed(int fd) {
  std::string_view sealed = buffers_.sealed;
  bool healthy = true;
  if (unsent_.empty() && !sealed.empty()) {
    const std::ptrdiff_t sent = SendBytes(fd, sealed);
    healthy = sent >= 0;
    if (healthy) sealed.remove_prefix(static_cast<std::size_t>(sent));
  }
  if (healthy) unsent_.append(sealed);
  buffers_.sealed.clear();
  return healthy;
}

int TlsLink::Flush(int fd) {
  if (unsent_.empty()) return 1;
  const std::ptrdiff_t sent = SendBytes(fd, unsent_);
  if (sent < 0) return -1;
  unsent_.erase(0, static_cast<std::size_t>(sent));
  if (!unsent_.empty()) return 0;
  unsent_.shrink_to_fit();
  return 1;
}

TlsStream::Progress TlsLink::Handshake(int fd, std::string_view received, std::span<char> plain,
                                       std::size_t* plain_size) {
  using enum TlsStream::Progress;
  *plain_size = 0;
  if (received.empty()) {
    const std::ptrdiff_t count = ReceiveBytes(fd, buffers_.received);
    if (count == Socket::kWouldBlock) return kMore;
    if (count <= 0) return kFailed;
    received = {buffers_.received.data(), static_cast<std::size_t>(count)};
  }
  TlsStream::Progress progress = stream_.Handshake(&received, &buffers_.sealed);
  if (progress == kDone && !received.empty()) {
    const std::ptrdiff_t opened = OpenAll(received, plain);
    if (opened < 0) progress = kFailed;
    *plain_size = opened < 0 ? 0 : static_cast<std::size_t>(opened);
  }
  return SendSealed(fd) ? progress : kFailed;
}

std::ptrdiff_t TlsLink::OpenAll(std::string_view received, std::span<char> plain) {
  const std::size_t opened = stream_.Open(&received, plain, &buffers_.sealed);
  if (stream_.broken()) return -1;
  // The sizes do not allow it to be full with input left.
  if (opened == plain.size() && (!received.empty() || stream_.has_pending())) return -1;
  return static_cast<std::ptrdiff_t>(opened);
}

std::ptrdiff_t TlsLink::Read(int fd, std::span<char> buffer) {
  if (stream_.ended()) return 0;
  const std::ptrdiff_t count = ReceiveBytes(fd, buffers_.received);
  if (count <= 0) return count;
  const std::ptrdiff_t opened =
      OpenAll({buffers_.received.data(), static_cast<std::size_t>(count)}, buffer);
  // An answer to the other end's key update, or an alert.
  if (!buffers_.sealed.empty() && !SendSealed(fd)) return -1;
  if (unsent_.size() > kMaxUnsentBytes) return -1;
  if (opened == 0 && !stream_.ended()) return Socket::kWouldBlock;
  return opened;
}

std::ptrdiff_t TlsLink::Write(int fd, std::span<const std::string_view> pieces) {
  if (!unsent_.empty()) return 0;
  std::string& gathered = buffers_.gathered;
  std::size_t taken = 0;
  for (std::string_view piece : pieces) {
    piece = piece.substr(0, kSealBytes - taken);
    taken += piece.size();
    // Full records straight from the piece, smaller parts together with their neighbours.
    while (!piece.empty()) {
      if (gathered.empty() && piece.size() >= TlsStream::kRecordBytes) {
        const std::size_t whole = piece.size() - piece.size() % TlsStream::kRecordBytes;
        if (!stream_.Seal(piece.substr(0, whole), &buffers_.sealed)) return -1;
        piece.remove_prefix(whole);
        continue;
      }
      const std::size_t part = std::min(piece.size(), TlsStream::kRecordBytes - gathered.size());
      gathered.append(piece.substr(0, part));
      piece.remove_prefix(part);
      if (gathered.size() < TlsStream::kRecordBytes) continue;
      if (!stream_.Seal(gathered, &buffers_.sealed)) return -1;
      gathered.clear();
    }
  }
  const bool sealed = gathered.empty() || stream_.Seal(gathered, &buffers_.sealed);
  gathered.clear();
  if (!sealed || !SendSealed(fd)) return -1;
  return static_cast<std::ptrdiff_t>(taken);
}

void TlsLink::CloseWriting(int fd) {
  stream_.SealEnd(&buffers_.sealed);
  SendSealed(fd);
}

}  // namespace kvorum::rpc

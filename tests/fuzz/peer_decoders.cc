// Any bytes in place of another member's: a stream of either kind, the front of a snapshot, an HTTP
// request or answer. Decoding must end in messages or an error, for any pieces in which the bytes
// come, and decoded messages must survive being encoded again.
//
// The first byte of the input chooses its kind, the second how it is cut; the rest are the bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/http/http1_parser.h"
#include "server/peer/codec/stream_codec.h"
#include "server/peer/streams/snapshot_receiver.h"
#include "server/peer/transport/probe.h"

namespace {

using namespace kvorum;
using namespace kvorum::server;

constexpr std::size_t kMaxFrameBytes = 64 << 10;

void Require(bool condition) {
  if (!condition) std::abort();
}

struct Decoded {
  std::vector<raft::Message> messages;
  bool failed = false;
};

Decoded Decode(StreamKind kind, std::string_view bytes, std::size_t step) {
  const auto decoder = StreamDecoder::Create(kind, /*local=*/2, /*remote=*/1, kMaxFrameBytes);
  Decoded decoded;
  while (!bytes.empty() && !decoded.failed) {
    const std::string_view piece = bytes.substr(0, step);
    bytes.remove_prefix(piece.size());
    decoded.failed = !decoder->Feed(piece, decoded.messages).has_value();
    Require(decoder->buffered_bytes() <= kMaxFrameBytes + 64 + piece.size());
  }
  return decoded;
}

void FuzzStream(StreamKind kind, std::string_view bytes, std::size_t step) {
  const Decoded whole = Decode(kind, bytes, std::max<std::size_t>(bytes.size(), 1));
  const Decoded cut = Decode(kind, bytes, step);
  Require(whole.failed == cut.failed);
  if (whole.failed) return;  // pieces may have given more of the bytes before the error
  Require(whole.messages == cut.messages);
  // Decoded messages can be encoded, and decode to the same again.
  const auto encoder = StreamEncoder::Create(kind);
  ChainWriter out;
  for (const raft::Message& message : whole.messages) encoder->Encode(message, out);
  const std::string again = Join(out.Take());
  Require(Decode(kind, again, std::max<std::size_t>(again.size(), 1)).messages.size() ==
          whole.messages.size());
}

void FuzzSnapshotFront(std::string_view bytes) {
  const auto size = SnapshotMessageBytes(bytes);
  if (!size.has_value() || !size->has_value()) return;
  Require(**size <= bytes.size());
  const auto message = DecodeSnapshotMessage(bytes.substr(0, **size));
  if (message.has_value()) Require(!message->snapshot->empty());
}

void FuzzHttp(rpc::Http1Parser::Kind kind, std::string_view bytes, std::size_t step) {
  rpc::Http1Parser parser(kind, /*max_head_bytes=*/4096);
  std::string input;
  std::string body;
  while (!bytes.empty() && !parser.done()) {
    const std::string_view piece = bytes.substr(0, step);
    input.append(piece);
    bytes.remove_prefix(piece.size());
    while (!parser.done()) {
      const auto used = parser.Put(input, body);
      if (!used.has_value()) return;
      Require(*used <= input.size());
      input.erase(0, *used);
      if (*used == 0) break;
    }
    if (input.size() > 8192) return;
  }
  if (!parser.done()) static_cast<void>(parser.PutEnd());
  static_cast<void>(parser.head().Header("x-server-from"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t step = 1 + data[1];
  switch (data[0] % 6) {
    case 0:
      FuzzStream(StreamKind::kMessage, bytes, step);
      break;
    case 1:
      FuzzStream(StreamKind::kAppend, bytes, step);
      break;
    case 2:
      FuzzSnapshotFront(bytes);
      break;
    case 3:
      FuzzHttp(rpc::Http1Parser::Kind::kRequest, bytes, step);
      break;
    case 4:
      FuzzHttp(rpc::Http1Parser::Kind::kResponse, bytes, step);
      break;
    default:
      static_cast<void>(DecodeProbeAnswer(bytes));
  }
  return 0;
}

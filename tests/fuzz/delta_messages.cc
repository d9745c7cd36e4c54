// Any bytes as the messages of the delta discovery protocol, as each side gets them from the wire.
//
// The first byte of the input says what the rest is: 0, requests to a server's stream; 1, responses
// to a subscriber; else, what a subscriber holds and what the server's store holds in turn, of
// which the two have to make one. Messages and texts are pieces, each behind a byte with its
// length.
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <source_location>
#include <string>
#include <string_view>

#include "proto/discovery.pb.h"
#include "sync/delta/delta_receiver.h"
#include "sync/delta/delta_stream.h"
#include "sync/delta/delta_wire.h"
#include "sync/delta/reconciler.h"

namespace {

using namespace kvorum;
using namespace kvorum::sync;
namespace wire = envoy::service::discovery::v3;

constexpr DeltaLimits kLimits{
    .max_message_bytes = 300, .max_names_bytes = 200, .max_refusal_bytes = 20};
using Texts = std::map<std::string, std::string>;

void Require(bool condition, std::source_location where = std::source_location::current()) {
  if (condition) return;
  std::fprintf(stderr, "line %u does not hold\n", static_cast<unsigned>(where.line()));
  std::abort();
}

class Pieces {
 public:
  explicit Pieces(std::string_view rest) : rest_(rest) {}
  std::optional<std::string_view> Next() {
    if (rest_.empty()) return std::nullopt;
    const auto size = static_cast<unsigned char>(rest_.front());
    const std::string_view piece = rest_.substr(1, size);
    rest_.remove_prefix(1 + piece.size());
    return piece;
  }

 private:
  std::string_view rest_;
};

// The message as the other side reads it; what we write can be read.
template <class Wire, class Message>
Message OverTheWire(const Message& message) {
  Wire sent;
  ToWire(message, sent);
  Wire received;
  Require(received.ParseFromString(sent.SerializeAsString()));
  return FromWire(received);
}

// Keeps every resource, and refuses what begins with "bad", for a reason that is in its bytes.
class Sink final : public DeltaSink {
 public:
  explicit Sink(std::map<std::string, Held> loaded = {}) : loaded_(std::move(loaded)) {}
  std::map<std::string, Held> Load(const std::string&) override { return loaded_; }
  Result<void> Put(const std::string&, const DeltaResource& resource) override {
    if (resource.bytes->starts_with("bad")) return Fail(Code::kInvalidArgument, *resource.bytes);
    ++puts;
    texts[resource.name] = *resource.bytes;
    return {};
  }
  void Remove(const std::string&, const std::string& name) override {
    Require(texts.erase(name) == 1);
  }

  Texts texts;
  int puts = 0;

 private:
  std::map<std::string, Held> loaded_;
};

Snapshot SnapshotOf(const Texts& texts) {
  Objects objects;
  for (const auto& [name, text] : texts) objects[name] = std::make_shared<const std::string>(text);
  Reconciler reconciler;
  reconciler.Update("dp", objects);
  return reconciler.Build(nullptr, {"dp"}, {}).value();
}

// For any requests of a subscriber, one response of a type waits at a time, and nonces count.
void Serve(Pieces pieces) {
  DeltaStream stream(kLimits);
  stream.Offer(SnapshotOf({{"a", "1"}, {"b", std::string(200, 'b')}, {"c", "3"}, {"*", "4"}}));
  int last_nonce = 0;
  for (auto piece = pieces.Next(); piece; piece = pieces.Next()) {
    wire::DeltaDiscoveryRequest message;
    if (!message.ParseFromArray(piece->data(), static_cast<int>(piece->size()))) continue;
    const DeltaRequest request = FromWire(message);
    const DeltaRequest again = OverTheWire<wire::DeltaDiscoveryRequest>(request);
    Require(again.initial_versions == request.initial_versions && again.type == request.type);
    if (!stream.Receive(request)) return;
    std::set<std::string> answered;
    while (const auto response = stream.Next()) {
      Require(response->nonce == std::to_string(++last_nonce));
      Require(answered.insert(response->type).second);
      Require(response->resources.size() + response->removed.size() < 1000);
      OverTheWire<wire::DeltaDiscoveryResponse>(*response);
    }
    for (const auto& state : stream.States())
      Require(state.refusal.size() <= kLimits.max_refusal_bytes);
  }
}

// For anything that a server sends, the sink has what the receiver presents, and a response that
// comes twice writes nothing the second time.
void Subscribe(Pieces pieces) {
  Sink sink;
  DeltaReceiver receiver(sink, "zone-1", {"dp"});
  receiver.Begin();
  for (auto piece = pieces.Next(); piece; piece = pieces.Next()) {
    wire::DeltaDiscoveryResponse message;
    if (!message.ParseFromArray(piece->data(), static_cast<int>(piece->size()))) continue;
    const DeltaResponse response = FromWire(message);
    const DeltaRequest answer = receiver.Receive(response);
    OverTheWire<wire::DeltaDiscoveryRequest>(answer);
    Require(answer.nonce == response.nonce && answer.type == response.type);
    std::set<std::string> names;
    for (const auto& resource : response.resources) names.insert(resource.name);
    if (names.size() == response.resources.size()) {
      const int puts = sink.puts;
      receiver.Receive(response);
      Require(sink.puts == puts);
    }
    const DeltaRequest next = receiver.Begin().front();
    for (const auto& [name, version] : next.initial_versions) Require(sink.texts.contains(name));
  }
}

// Sends what differs until nothing does; the number of responses.
int Settle(DeltaStream& stream, DeltaReceiver& receiver) {
  int responses = 0;
  while (const auto response = stream.Next()) {
    Require(++responses < 10'000);
    const auto received = OverTheWire<wire::DeltaDiscoveryResponse>(*response);
    const auto answer = OverTheWire<wire::DeltaDiscoveryRequest>(receiver.Receive(received));
    Require(stream.Receive(answer).has_value());
  }
  return responses;
}

Texts ReadTexts(Pieces& pieces) {
  Texts texts;
  for (auto name = pieces.Next(); name && !name->empty(); name = pieces.Next())
    texts[std::string(*name)] = pieces.Next().value_or("");
  return texts;
}

// The names that the wire takes, with the values that the sink takes.
Texts Delivered(const Texts& texts) {
  Texts delivered;
  const Snapshot snapshot = SnapshotOf(texts);
  for (const auto& [name, item] : snapshot.at("dp")->items) delivered[name] = *item.bytes;
  return delivered;
}

void Converge(Pieces pieces) {
  const Texts held = Delivered(ReadTexts(pieces));
  std::map<std::string, DeltaSink::Held> loaded;
  for (const auto& [name, text] : held) loaded[name] = {HashOf(text).Hex(), HashOf(text)};
  Sink sink(loaded);
  sink.texts = held;
  DeltaReceiver receiver(sink, "zone-1", {"dp"});
  DeltaLimits limits = kLimits;
  limits.max_names_bytes = std::size_t{1} << 20U;
  Texts texts = ReadTexts(pieces);
  for (int streams = 0; streams < 3; ++streams) {
    DeltaStream stream(limits);
    stream.Offer(SnapshotOf(texts));
    for (const DeltaRequest& request : receiver.Begin())
      Require(stream.Receive(OverTheWire<wire::DeltaDiscoveryRequest>(request)).has_value());
    Settle(stream, receiver);
    texts = ReadTexts(pieces);
    stream.Offer(SnapshotOf(texts));
    Settle(stream, receiver);
    bool all_valid = true;
    const Texts wanted = Delivered(texts);
    for (const auto& [name, text] : wanted) {
      const bool is_valid = !text.starts_with("bad");
      all_valid &= is_valid;
      Require(!is_valid || sink.texts[name] == text);
    }
    for (const auto& [name, text] : sink.texts) Require(wanted.contains(name));
    if (!all_valid) continue;
    Require(sink.texts == wanted);
    // It holds all; a new stream has nothing to send, unless there is nothing to present.
    DeltaStream next(limits);
    next.Offer(SnapshotOf(texts));
    for (const DeltaRequest& request : receiver.Begin())
      Require(next.Receive(OverTheWire<wire::DeltaDiscoveryRequest>(request)).has_value());
    const int puts = sink.puts;
    Require(Settle(next, receiver) == (wanted.empty() ? 1 : 0) && sink.puts == puts);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto silent = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(silent);
  if (size == 0) return 0;
  const Pieces pieces({reinterpret_cast<const char*>(data) + 1, size - 1});
  if (data[0] == 0)
    Serve(pieces);
  else if (data[0] == 1)
    Subscribe(pieces);
  else
    Converge(pieces);
  return 0;
}

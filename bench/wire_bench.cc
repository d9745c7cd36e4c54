// Encoding and decoding of messages on every write's path: a log entry, and an App message of 64.
#include <benchmark/benchmark.h>

#include <string>

#include "base/shared_bytes.h"
#include "proto/fields.h"
#include "proto/raft_types.h"
#include "proto/wire.h"

namespace kvorum::raft {
namespace {

Entry MakeEntry(std::size_t data_size_bytes) {
  return {.term = 3, .index = 1234567, .data = SharedBytes::Own(std::string(data_size_bytes, 'd'))};
}

Message MakeMessage(std::size_t data_size_bytes) {
  Message message{.type = MessageType::kApp,
                  .to = raft::MemberId{0x8e9e05c52164694d},
                  .from = raft::MemberId{0x91bc3c398fb3c146},
                  .term = 3,
                  .log_term = 3,
                  .index = 1234567,
                  .commit = 1234560};
  for (int i = 0; i < 64; ++i) message.entries.push_back(MakeEntry(data_size_bytes));
  return message;
}

void BM_VarintEncode(benchmark::State& state) {
  const auto value = static_cast<std::uint64_t>(state.range(0));
  char buffer[wire::kMaxVarintBytes];
  for (auto _ : state) {
    benchmark::DoNotOptimize(wire::WriteVarint(buffer, value));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_VarintEncode)->Arg(1)->Arg(300)->Arg(1LL << 62);

void BM_VarintDecode(benchmark::State& state) {
  std::string bytes;
  wire::AppendUintAlways(bytes, 3, static_cast<std::uint64_t>(state.range(0)));
  for (auto _ : state) {
    wire::Reader reader(bytes);
    reader.Next();
    benchmark::DoNotOptimize(reader.Varint());
  }
}
BENCHMARK(BM_VarintDecode)->Arg(1)->Arg(300)->Arg(1LL << 62);

// The part of an entry that the WAL copies: its header.
void BM_EntryHeaderEncode(benchmark::State& state) {
  const Entry entry = MakeEntry(300);
  std::string out;
  for (auto _ : state) {
    out.clear();
    AppendHeaderTo(out, entry);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(BM_EntryHeaderEncode);

void BM_EntryDecode(benchmark::State& state) {
  const SharedBytes bytes = SharedBytes::Own(Encode(MakeEntry(300)));
  for (auto _ : state) benchmark::DoNotOptimize(DecodeEntry(bytes));
}
BENCHMARK(BM_EntryDecode);

// The same by a table of fields, as for messages off the hot path: shows what the hand-written code
// saves.
constexpr auto kEntryTable =
    wire::Describe<Entry, wire::ClosedEnum<1, &Entry::type, EntryType::kConfChangeV2>,
                   wire::Field<2, &Entry::term>, wire::Field<3, &Entry::index>,
                   wire::Field<4, &Entry::data>>("raftpb.Entry");

void BM_EntryDecodeByTable(benchmark::State& state) {
  const SharedBytes bytes = SharedBytes::Own(Encode(MakeEntry(300)));
  for (auto _ : state) {
    Entry entry;
    wire::DecodeInto(&entry, kEntryTable, bytes.view(), &bytes);
    benchmark::DoNotOptimize(entry);
  }
}
BENCHMARK(BM_EntryDecodeByTable);

void BM_EntryEncode(benchmark::State& state) {
  const Entry entry = MakeEntry(300);
  for (auto _ : state) benchmark::DoNotOptimize(Encode(entry));
}
BENCHMARK(BM_EntryEncode);

void BM_EntryEncodeByTable(benchmark::State& state) {
  const Entry entry = MakeEntry(300);
  for (auto _ : state) benchmark::DoNotOptimize(wire::Encode(kEntryTable, entry));
}
BENCHMARK(BM_EntryEncodeByTable);

void BM_MessageEncode(benchmark::State& state) {
  const Message message = MakeMessage(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(Encode(message));
  state.SetItemsProcessed(state.iterations() * 64);
}
BENCHMARK(BM_MessageEncode)->Arg(300)->Arg(4096);

void BM_MessageEncodeChain(benchmark::State& state) {
  const Message message = MakeMessage(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(EncodeChain(message));
  state.SetItemsProcessed(state.iterations() * 64);
}
BENCHMARK(BM_MessageEncodeChain)->Arg(300)->Arg(4096);

void BM_MessageDecode(benchmark::State& state) {
  const SharedBytes bytes =
      SharedBytes::Own(Encode(MakeMessage(static_cast<std::size_t>(state.range(0)))));
  for (auto _ : state) benchmark::DoNotOptimize(DecodeMessage(bytes));
  state.SetItemsProcessed(state.iterations() * 64);
}
BENCHMARK(BM_MessageDecode)->Arg(300)->Arg(4096);

}  // namespace
}  // namespace kvorum::raft

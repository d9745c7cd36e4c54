// The cost of a bbolt file, in bytes of the file: its two passes of writing, and reading, checking
// and hashing it, beside a plain copy and a hash of as many bytes.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/crc32c.h"
#include "bbolt/reader.h"
#include "bbolt/writer.h"

namespace kvorum::bbolt {
namespace {

constexpr std::size_t kContentBytes = std::size_t{64} << 20;
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

// A file in memory, that can only be read.
class MemoryFile final : public File {
 public:
  explicit MemoryFile(std::string_view bytes) : bytes_(bytes) {}
  const std::string& path() const override { return path_; }
  Result<std::size_t> ReadAt(std::uint64_t offset, char* out, std::size_t size_bytes) override {
    return bytes_.substr(offset).copy(out, size_bytes);
  }
  Result<void> WriteAt(std::uint64_t, std::span<const std::string_view>) override { std::abort(); }
  Result<void> Sync() override { std::abort(); }
  Result<void> Truncate(std::uint64_t) override { std::abort(); }
  Result<void> Allocate(std::uint64_t) override { std::abort(); }
  Result<std::uint64_t> Size() override { return bytes_.size(); }

 private:
  const std::string path_ = "memory";
  const std::string_view bytes_;
};

// Revisions as keys, values of one size; what is ready is taken as it would be for a stream.
template <class Take>
Plan Put(Writer writer, std::size_t value_bytes, const Take& take) {
  const std::string value(value_bytes, 'v');
  std::string key(17, '\0');
  if (!writer.BeginBucket("key").has_value()) std::abort();
  const std::size_t count = kContentBytes / (value_bytes + key.size());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t byte = 0; byte < 8; ++byte) key[7 - byte] = static_cast<char>(i >> (8 * byte));
    if (!writer.Put(key, value).has_value()) std::abort();
    if (writer.ReadyBytes() >= kChunkBytes) take(writer.Take());
  }
  const Plan plan = writer.Finish().value();
  take(writer.Take());
  return plan;
}

std::string MakeImage(std::size_t value_bytes) {
  const Plan plan = Put(Writer::Sizing(), value_bytes, [](const std::string&) {});
  std::string image;
  Put(Writer::Writing(plan), value_bytes, [&](const std::string& part) { image += part; });
  return image;
}

void SetBytes(benchmark::State& state, std::uint64_t bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
}

void BM_BboltSizing(benchmark::State& state) {
  const auto value_bytes = static_cast<std::size_t>(state.range(0));
  Plan plan;
  for (auto _ : state) plan = Put(Writer::Sizing(), value_bytes, [](const std::string&) {});
  SetBytes(state, plan.SizeBytes());
}
BENCHMARK(BM_BboltSizing)->Arg(32)->Arg(256)->Arg(4096)->Arg(1 << 20);

void BM_BboltWrite(benchmark::State& state) {
  const auto value_bytes = static_cast<std::size_t>(state.range(0));
  const Plan plan = Put(Writer::Sizing(), value_bytes, [](const std::string&) {});
  for (auto _ : state)
    Put(Writer::Writing(plan), value_bytes,
        [](const std::string& part) { benchmark::DoNotOptimize(part.data()); });
  SetBytes(state, plan.SizeBytes());
}
BENCHMARK(BM_BboltWrite)->Arg(32)->Arg(256)->Arg(4096)->Arg(1 << 20);

template <class Read>
void ReadImage(benchmark::State& state, const Read& read) {
  const std::string image = MakeImage(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) read(*Reader::Open(std::make_unique<MemoryFile>(image)).value());
  SetBytes(state, image.size());
}

void BM_BboltRead(benchmark::State& state) {
  ReadImage(state, [](Reader& reader) {
    Cursor cursor = reader.NewCursor(reader.FindBucket("key")->value());
    std::size_t bytes = 0;
    for (bool more = cursor.First().value(); more; more = cursor.Next().value())
      bytes += cursor.key().size() + cursor.value().size();
    benchmark::DoNotOptimize(bytes);
  });
}
BENCHMARK(BM_BboltRead)->Arg(32)->Arg(256)->Arg(4096)->Arg(1 << 20);

void BM_BboltCheck(benchmark::State& state) {
  ReadImage(state, [](Reader& reader) { reader.Check().value(); });
}
BENCHMARK(BM_BboltCheck)->Arg(256);

void BM_BboltHash(benchmark::State& state) {
  ReadImage(state, [](Reader& reader) { benchmark::DoNotOptimize(ContentHash(reader).value()); });
}
BENCHMARK(BM_BboltHash)->Arg(256);

// The floor for both: the bytes copied once, and copied and hashed.
void BM_CopyOfImage(benchmark::State& state) {
  const std::string image = MakeImage(256);
  std::string chunk(kChunkBytes, '\0');
  for (auto _ : state) {
    std::uint32_t crc = 0;
    for (std::size_t at = 0; at < image.size(); at += kChunkBytes) {
      const std::size_t size = image.copy(chunk.data(), kChunkBytes, at);
      if (state.range(0) != 0) crc = Crc32c(crc, {chunk.data(), size});
      benchmark::DoNotOptimize(chunk.data());
    }
    benchmark::DoNotOptimize(crc);
  }
  SetBytes(state, image.size());
}
BENCHMARK(BM_CopyOfImage)->ArgName("hashed")->Arg(0)->Arg(1);

}  // namespace
}  // namespace kvorum::bbolt

#include "mvcc/backend_lmdb_check.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

namespace kvorum::mvcc {
namespace {

// LMDB 0.9's file on a 64-bit little-endian machine: pages 0 and 1 are meta pages, written in turn;
// the one with the higher transaction id counts.
constexpr std::uint32_t kMagic = 0xBEEFC0DE;
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kBoltMagic = 0xED0CDAED;  // at the same offset in etcd's bbolt files

constexpr std::uint16_t kBranchFlag = 0x01;
constexpr std::uint16_t kLeafFlag = 0x02;
constexpr std::uint16_t kOverflowFlag = 0x04;
constexpr std::uint16_t kMetaFlag = 0x08;
constexpr std::uint16_t kBigDataFlag = 0x01;
constexpr std::uint64_t kNoPage = ~std::uint64_t{0};

struct PageHeader {
  std::uint64_t number;
  std::uint16_t pad;
  std::uint16_t flags;
  std::uint16_t lower;  // end of the node offsets; together with `upper` the page count of an
                        // overflow page
  std::uint16_t upper;
};
static_assert(sizeof(PageHeader) == 16);

struct TreeInfo {
  std::uint32_t pad;  // of the free list: the page size
  std::uint16_t flags;
  std::uint16_t depth;
  std::uint64_t branch_pages;
  std::uint64_t leaf_pages;
  std::uint64_t overflow_pages;
  std::uint64_t entries;
  std::uint64_t root;
};
static_assert(sizeof(TreeInfo) == 48);

struct Meta {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t address;
  std::uint64_t map_size_bytes;
  TreeInfo free_list;
  TreeInfo main;
  std::uint64_t last_page;
  std::uint64_t transaction;
};
static_assert(sizeof(Meta) == 136);

template <class T>
T Load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

class FileCheck {
 public:
  FileCheck(int fd, const std::string& path) : fd_(fd), path_(path) {}

  Result<void> Run() {
    struct stat status;
    if (::fstat(fd_, &status) != 0) return Bad(fmt::format("fstat: {}", std::strerror(errno)));
    if (!S_ISREG(status.st_mode)) return Bad("it is not a regular file");
    size_bytes_ = static_cast<std::uint64_t>(status.st_size);
    KV_TRY(const Meta first, ReadMeta(0));
    KV_TRY(const Meta second, ReadMeta(page_size_bytes_));
    const Meta& meta = first.transaction >= second.transaction ? first : second;
    if (meta.last_page >= std::uint64_t{1} << 48) return Bad("its header is damaged");
    last_page_ = meta.last_page;
    // Pages that a transaction took from the end and freed again are never written, so a sound file
    // may end early, but only within free pages.
    first_missing_ = size_bytes_ / page_size_bytes_;
    if (first_missing_ > last_page_) return {};
    if (last_page_ - first_missing_ >= size_bytes_ / 8) return Truncated();  // could not be listed
    missing_is_free_.assign(last_page_ - first_missing_ + 1, false);
    if (meta.free_list.root != kNoPage) {
      KV_RETURN_IF_ERROR(WalkFreeList(meta.free_list.root, meta.free_list.depth));
    }
    if (std::ranges::find(missing_is_free_, false) != missing_is_free_.end()) return Truncated();
    return {};
  }

 private:
  std::unexpected<Error> Bad(std::string_view why) const {
    return Fail(Code::kDataLoss,
                fmt::format("mvcc: cannot use {} as the database: {}", path_, why));
  }
  std::unexpected<Error> Truncated() const {
    return Bad(fmt::format(
        "the file is truncated ({} bytes, its header tells of {}); restore it from a snapshot or "
        "let the member be rebuilt from its peers",
        size_bytes_, (last_page_ + 1) * page_size_bytes_));
  }

  Result<void> Read(std::uint64_t offset, char* out, std::size_t size_bytes) const {
    const ssize_t got = ::pread(fd_, out, size_bytes, static_cast<off_t>(offset));
    if (got < 0) return Bad(fmt::format("read at {}: {}", offset, std::strerror(errno)));
    if (static_cast<std::size_t>(got) != size_bytes) {
      return Bad(fmt::format("the file is truncated ({} bytes)", size_bytes_));
    }
    return {};
  }

  Result<Meta> ReadMeta(std::uint64_t offset) {
    std::array<char, sizeof(PageHeader) + sizeof(Meta)> bytes;
    KV_RETURN_IF_ERROR(Read(offset, bytes.data(), bytes.size()));
    const auto header = Load<PageHeader>(bytes.data());
    const auto meta = Load<Meta>(bytes.data() + sizeof(PageHeader));
    if (meta.magic == kBoltMagic) {
      return Bad(
          "it is a bbolt file, as etcd writes it; start with an empty data directory and import a "
          "snapshot of the etcd member");
    }
    if ((header.flags & kMetaFlag) == 0 || meta.magic != kMagic) {
      return Bad("it is not an LMDB file, or its header is damaged");
    }
    if (meta.version != kVersion) {
      return Bad(fmt::format("LMDB data version {}, this server reads version {}", meta.version,
                             kVersion));
    }
    const auto own_page_size_bytes = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
    if (meta.free_list.pad != own_page_size_bytes) {
      return Bad(fmt::format("it was made with pages of {} bytes, this machine has {}",
                             meta.free_list.pad, own_page_size_bytes));
    }
    page_size_bytes_ = own_page_size_bytes;
    return meta;
  }

  // The free list is a tree: transaction id -> page numbers, counted by the first word.
  Result<void> WalkFreeList(std::uint64_t page, unsigned depth) {
    if (depth == 0 || ++walked_ > first_missing_) return Bad("its free list is damaged");
    if (page >= first_missing_) return Truncated();
    std::vector<char> bytes(page_size_bytes_);
    KV_RETURN_IF_ERROR(Read(page * page_size_bytes_, bytes.data(), bytes.size()));
    const auto header = Load<PageHeader>(bytes.data());
    const bool branch = (header.flags & kBranchFlag) != 0;
    if (branch == (depth == 1) || branch == ((header.flags & kLeafFlag) != 0) ||
        header.lower < sizeof(PageHeader) || header.lower > page_size_bytes_) {
      return Bad("its free list is damaged");
    }
    const std::size_t nodes = (header.lower - sizeof(PageHeader)) / 2;
    for (std::size_t i = 0; i < nodes; ++i) {
      const std::size_t at = Load<std::uint16_t>(bytes.data() + sizeof(PageHeader) + 2 * i);
      constexpr std::size_t kNodeHeader = 8;
      if (at + kNodeHeader > bytes.size()) return Bad("its free list is damaged");
      const char* node = bytes.data() + at;
      const std::uint64_t low = Load<std::uint32_t>(node);  // data size, or the child's low bits
      const auto flags = Load<std::uint16_t>(node + 4);
      const auto key_size = Load<std::uint16_t>(node + 6);
      if (branch) {
        KV_RETURN_IF_ERROR(WalkFreeList(low | std::uint64_t{flags} << 32, depth - 1));
        continue;
      }
      const std::size_t data = at + kNodeHeader + key_size;
      const bool big = (flags & kBigDataFlag) != 0;
      if (data + (big ? 8 : low) > bytes.size()) return Bad("its free list is damaged");
      if (big) {
        KV_RETURN_IF_ERROR(ReadBigRecord(Load<std::uint64_t>(bytes.data() + data), low));
      } else {
        KV_RETURN_IF_ERROR(MarkFree({bytes.data() + data, low}));
      }
    }
    return {};
  }

  Result<void> ReadBigRecord(std::uint64_t page, std::uint64_t size_bytes) {
    const std::uint64_t pages = (sizeof(PageHeader) - 1 + size_bytes) / page_size_bytes_ + 1;
    if (page >= first_missing_ || pages > first_missing_ - page) return Truncated();
    std::vector<char> bytes(sizeof(PageHeader) + size_bytes);
    KV_RETURN_IF_ERROR(Read(page * page_size_bytes_, bytes.data(), bytes.size()));
    if ((Load<PageHeader>(bytes.data()).flags & kOverflowFlag) == 0) {
      return Bad("its free list is damaged");
    }
    return MarkFree({bytes.data() + sizeof(PageHeader), size_bytes});
  }

  Result<void> MarkFree(std::string_view record) {
    if (record.size() < 8) return Bad("its free list is damaged");
    const auto count = Load<std::uint64_t>(record.data());
    if (count > record.size() / 8 - 1) return Bad("its free list is damaged");
    for (std::uint64_t i = 1; i <= count; ++i) {
      const auto page = Load<std::uint64_t>(record.data() + 8 * i);
      if (page >= first_missing_ && page <= last_page_) {
        missing_is_free_[page - first_missing_] = true;
      }
    }
    return {};
  }

  const int fd_;
  const std::string& path_;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t page_size_bytes_ = 0;
  std::uint64_t last_page_ = 0;
  std::uint64_t first_missing_ = 0;
  std::vector<bool> missing_is_free_;
  std::uint64_t walked_ = 0;  // pages of the free list; a damaged one may have cycles
};

}  // namespace

Result<void> CheckLmdbFile(int fd, const std::string& path) { return FileCheck(fd, path).Run(); }

}  // namespace kvorum::mvcc

#include "mvcc/lmdb/backend_lmdb_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "bbolt/format.h"
#include "mvcc/lmdb/backend_lmdb_pages.h"
#include "mvcc/lmdb/backend_lmdb_walk.h"

namespace kvorum::mvcc {
namespace {

using lmdb_pages::Load;
using lmdb_pages::Meta;
using lmdb_pages::PageHeader;

class FileCheck {
 public:
  FileCheck(int fd, const std::string& path, LmdbCheck check) : file_(fd, path), check_(check) {}

  Result<void> Run() {
    KV_RETURN_IF_ERROR(file_.Open());
    const auto page_size_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    KV_TRY(const Meta first, ReadMeta(0, page_size_bytes));
    KV_TRY(const Meta second, ReadMeta(page_size_bytes, page_size_bytes));
    const Meta& meta = first.transaction >= second.transaction ? first : second;
    if (meta.last_page >= std::uint64_t{1} << 48) return Damaged();
    file_.SetLayout(page_size_bytes, meta.last_page);
    const bool is_long = file_.pages() > meta.last_page;
    if (!is_long && meta.last_page - file_.pages() >= file_.size_bytes() / 8)
      return file_.Truncated();  // that many free pages could not be listed
    if (check_ == LmdbCheck::kAllPages) return WalkAll(first, second, meta);
    if (is_long) return {};
    std::vector<bool> used(meta.last_page + 1, false);
    return WalkFreeList(meta, used);
  }

 private:
  std::unexpected<Error> Damaged() const { return file_.Bad("its header is damaged"); }

  Result<Meta> ReadMeta(std::uint64_t offset, std::uint64_t page_size_bytes) const {
    std::array<char, sizeof(PageHeader) + sizeof(Meta)> bytes;
    KV_RETURN_IF_ERROR(file_.Read(offset, bytes.data(), bytes.size()));
    const auto header = Load<PageHeader>(bytes.data());
    const auto meta = Load<Meta>(bytes.data() + sizeof(PageHeader));
    if (meta.magic == bbolt::kMagic) {
      return file_.Bad(
          "it is a bbolt file, as etcd writes it; kvorumutl adopt makes the directory kvorum's");
    }
    if ((header.flags & lmdb_pages::kMetaFlag) == 0 || meta.magic != lmdb_pages::kMagic) {
      return file_.Bad("it is not an LMDB file, or its header is damaged");
    }
    if (meta.version != lmdb_pages::kVersion) {
      return file_.Bad(fmt::format("LMDB data version {}, this server reads version {}",
                                   meta.version, lmdb_pages::kVersion));
    }
    if (meta.free_list.pad != page_size_bytes) {
      return file_.Bad(fmt::format("it was made with pages of {} bytes, this machine has {}",
                                   meta.free_list.pad, page_size_bytes));
    }
    if ((meta.free_list.flags & lmdb_pages::kTreeFlags) != lmdb_pages::kIntegerKeyFlag)
      return Damaged();
    return meta;
  }

  // Each commit writes the older of the two headers.
  Result<void> CheckTurns(const Meta& first, const Meta& second) const {
    const std::uint64_t newer = std::max(first.transaction, second.transaction);
    const std::uint64_t older = std::min(first.transaction, second.transaction);
    if (newer == 0) return {};
    if (newer != older + 1 || first.transaction % 2 != 0) return Damaged();
    return {};
  }

  Result<void> WalkAll(const Meta& first, const Meta& second, const Meta& meta) {
    KV_RETURN_IF_ERROR(CheckTurns(first, second));
    if (meta.main.flags != 0) return Damaged();
    std::vector<bool> used(meta.last_page + 1, false);
    KV_RETURN_IF_ERROR(LmdbTreeWalk(file_, LmdbTreeWalk::kRecords, used).Run(meta.main));
    return WalkFreeList(meta, used);
  }

  // A record of the free list is a count and as many page numbers. Neither a page that is used nor
  // one twice is free, and each page that the file lacks is.
  Result<void> WalkFreeList(const Meta& meta, std::vector<bool>& used) {
    std::vector<bool> free(meta.last_page + 1, false);
    const auto mark_free = [&](std::string_view record) -> Result<void> {
      if (record.size() < sizeof(std::uint64_t)) return ListDamaged();
      const auto count = Load<std::uint64_t>(record.data());
      if (count > record.size() / sizeof(std::uint64_t) - 1) return ListDamaged();
      for (std::uint64_t i = 1; i <= count; ++i) {
        const auto page = Load<std::uint64_t>(record.data() + sizeof(std::uint64_t) * i);
        if (page < lmdb_pages::kFirstPage || page > meta.last_page || free[page])
          return ListDamaged();
        free[page] = true;
      }
      return {};
    };
    KV_RETURN_IF_ERROR(
        LmdbTreeWalk(file_, LmdbTreeWalk::kFreeList, used, mark_free).Run(meta.free_list));
    for (std::uint64_t page = lmdb_pages::kFirstPage; page <= meta.last_page; ++page) {
      if (free[page] && used[page]) return ListDamaged();
      if (!free[page] && page >= file_.pages()) return file_.Truncated();
    }
    return {};
  }
  std::unexpected<Error> ListDamaged() const { return file_.Bad("its free list is damaged"); }

  LmdbPages file_;
  const LmdbCheck check_;
};

}  // namespace

Result<void> CheckLmdbFile(int fd, const std::string& path, LmdbCheck check) {
  return FileCheck(fd, path, check).Run();
}

}  // namespace kvorum::mvcc

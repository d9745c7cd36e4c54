#include "server/metrics/symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <string_view>

#include "base/freed_by.h"

namespace kvorum::server {
namespace {

constexpr std::uintmax_t kMaxTableBytes = std::uintmax_t{64} << 20;

int AddModule(dl_phdr_info* info, std::size_t, void* out) {
  Symbols::Module module{.path = info->dlpi_name, .base = info->dlpi_addr};
  module.begin = std::numeric_limits<std::uintptr_t>::max();
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    module.begin = std::min(module.begin, module.base + part.p_vaddr);
    module.end = std::max(module.end, module.base + part.p_vaddr + part.p_memsz);
  }
  if (module.path.empty()) module.path = "/proc/self/exe";
  static_cast<std::vector<Symbols::Module>*>(out)->push_back(std::move(module));
  return 0;
}

// The bytes of a part of the file; nothing if it is larger than any sensible one, or not there.
template <typename T>
std::vector<T> ReadAt(std::ifstream& file, std::uintmax_t offset, std::uintmax_t bytes) {
  if (bytes > kMaxTableBytes) return {};
  std::vector<T> all(bytes / sizeof(T));
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(all.data()),
            static_cast<std::streamsize>(all.size() * sizeof(T)));
  if (!file) all.clear();
  return all;
}

std::string Demangle(const char* name) {
  int status = 0;
  const std::unique_ptr<char, FreedBy<std::free>> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status));
  return status == 0 ? text.get() : name;
}

}  // namespace

class Symbols::Table {
 public:
  explicit Table(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const auto header = ReadAt<ElfW(Ehdr)>(file, 0, sizeof(ElfW(Ehdr)));
    if (header.empty() || std::memcmp(header.front().e_ident, ELFMAG, SELFMAG) != 0) return;
    const auto sections = ReadAt<ElfW(Shdr)>(
        file, header.front().e_shoff, std::uintmax_t{header.front().e_shnum} * sizeof(ElfW(Shdr)));
    for (const std::uint32_t kind : {std::uint32_t{SHT_SYMTAB}, std::uint32_t{SHT_DYNSYM}}) {
      const auto found = std::ranges::find(sections, kind, &ElfW(Shdr)::sh_type);
      if (found == sections.end() || found->sh_link >= sections.size()) continue;
      const ElfW(Shdr)& text = sections[found->sh_link];
      symbols_ = ReadAt<ElfW(Sym)>(file, found->sh_offset, found->sh_size);
      names_ = ReadAt<char>(file, text.sh_offset, text.sh_size);
      break;
    }
    std::erase_if(symbols_, [this](const ElfW(Sym) & symbol) {
      const auto kind = symbol.st_info & 0xf;
      return (kind != STT_FUNC && kind != STT_GNU_IFUNC) || symbol.st_value == 0 ||
             symbol.st_name >= names_.size();
    });
    std::ranges::sort(symbols_, {}, &ElfW(Sym)::st_value);
    if (!names_.empty()) names_.back() = '\0';
  }

  std::string NameAt(std::uintptr_t address) const {
    const auto next = std::ranges::upper_bound(symbols_, address, {}, &ElfW(Sym)::st_value);
    if (next == symbols_.begin()) return {};
    const ElfW(Sym)& symbol = *std::prev(next);
    // Functions in assembly may have no size.
    if (symbol.st_size != 0 && address >= symbol.st_value + symbol.st_size) return {};
    return Demangle(names_.data() + symbol.st_name);
  }

 private:
  std::vector<ElfW(Sym)> symbols_;  // by address
  std::vector<char> names_;
};

Symbols::Symbols() {
  dl_iterate_phdr(AddModule, &modules_);
  std::erase_if(modules_, [](const Module& module) { return module.begin >= module.end; });
  std::ranges::sort(modules_, {}, &Module::begin);
  tables_.resize(modules_.size());
}

Symbols::~Symbols() = default;

const Symbols::Module* Symbols::ModuleAt(std::uintptr_t address) const {
  const auto next = std::ranges::upper_bound(modules_, address, {}, &Module::begin);
  if (next == modules_.begin() || address >= std::prev(next)->end) return nullptr;
  return &*std::prev(next);
}

std::string Symbols::NameAt(std::uintptr_t address) {
  const Module* module = ModuleAt(address);
  if (module == nullptr) return {};
  auto& table = tables_[static_cast<std::size_t>(module - modules_.data())];
  if (table == nullptr) table = std::make_unique<Table>(module->path);
  return table->NameAt(address - module->base);
}

}  // namespace kvorum::server

#include "binary/symbolize/file_symbols.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/packed/unpacker.h"
#include "binary/elf/compilers.h"
#include "binary/symbolize/demangle.h"
#include "binary/symbolize/function_code.h"
#include "binary/symbolize/main_crate.h"
#include "binary/symbolize/opened_files.h"
#include "binary/unwind/table.h"
#include "linux/process/maps.h"

namespace fathom::symbolize {
namespace {

constexpr std::size_t kLargestVdso = 1 << 20;
// Of .gnu_debugdata, unpacked: a symbol table with the names of the largest programs there are takes half of it.
constexpr std::size_t kLargestMini = 256 << 20;

Result<> unpack_into(std::vector<std::byte>& out, std::span<const std::byte> stored) {
  const std::string_view content(reinterpret_cast<const char*>(stored.data()), stored.size());
  if (!packed::is_packed(content)) return fail(ErrorKind::kMalformed, "not packed");
  return packed::unpack(content, "MiniDebugInfo", kLargestMini, [&](std::string_view piece) {
    const auto bytes = std::as_bytes(std::span(piece));
    out.insert(out.end(), bytes.begin(), bytes.end());
  });
}

struct ByStart {
  bool operator()(std::uint64_t address, const std::pair<ElfAddress, std::uint64_t>& bounds) const {
    return address < bounds.first.value;
  }
  bool operator()(std::uint64_t address, const PltEntry& entry) const { return address < entry.start.value; }
};

}  // namespace

std::unique_ptr<ModuleSymbols> FileSymbols::open_file(const ModuleSource& source, const Options& options,
                                                      DebugFiles& debug_files) {
  std::unique_ptr<FileSymbols> symbols(new FileSymbols(source.path, options.inlines));
  OpenedFiles files = open_files(source, debug_files);
  if (!files.file) {
    symbols->problem_ = std::move(files.problem);
    return symbols;
  }
  symbols->pointed_ = files.pointed;
  symbols->open(std::move(files.file), files.debug_path, std::move(files.debug_file));
  return symbols;
}

std::unique_ptr<ModuleSymbols> FileSymbols::of_files(const std::string& path, Fd file,
                                                     const std::string& debug_path, Fd debug_file,
                                                     bool inlines, PointedPaths pointed) {
  std::unique_ptr<FileSymbols> symbols(new FileSymbols(path, inlines));
  symbols->pointed_ = std::move(pointed);
  symbols->open(std::move(file), debug_path, std::move(debug_file));
  return symbols;
}

void FileSymbols::open(Fd file_fd, const std::string& debug_path, Fd debug_fd) {
  auto file = elf::ModuleFile::of_fd(file_fd.get(), path_);
  if (!file) {
    problem_ = file.error().message;
    return;
  }
  file_ = std::move(*file);
  if (DebugInfo::present(file_->elf())) {
    debug_fd_ = std::move(file_fd);
    debug_elf_ = &file_->elf();
  } else if (debug_fd) {
    if (auto other = elf::ModuleFile::of_fd(debug_fd.get(), debug_path)) {
      debug_file_ = std::move(*other);
      debug_path_ = debug_path;
      struct stat status {};
      if (::fstat(debug_fd.get(), &status) == 0)
        debug_stamp_ = fmt::format(" {} {} {}.{}", debug_path, status.st_size, status.st_mtim.tv_sec,
                                   status.st_mtim.tv_nsec);
      if (DebugInfo::present(debug_file_->elf())) {
        debug_fd_ = std::move(debug_fd);
        debug_elf_ = &debug_file_->elf();
      }
    }
  }
  load(file_->elf());
}

std::unique_ptr<ModuleSymbols> FileSymbols::open_vdso(const ModuleSource& source, const Options& options) {
  std::unique_ptr<FileSymbols> symbols(new FileSymbols(source.path, options.inlines));
  const auto maps = process::read_maps(::getpid());
  if (!maps) {
    symbols->problem_ = maps.error().message;
    return symbols;
  }
  for (const auto& entry : *maps) {
    if (entry.path != "[vdso]" || entry.size() > kLargestVdso) continue;
    const auto* first = reinterpret_cast<const std::byte*>(entry.start.value);
    symbols->image_.assign(first, first + entry.size());
    if (auto elf = elf::ElfFile::parse(symbols->image_, "[vdso]")) {
      symbols->image_elf_ = std::move(*elf);
      symbols->load(*symbols->image_elf_);
    } else {
      symbols->problem_ = elf.error().message;
    }
    return symbols;
  }
  symbols->problem_ = "this kernel maps no vdso";
  return symbols;
}

const elf::ElfFile* FileSymbols::elf() const {
  if (file_) return &file_->elf();
  return image_elf_ ? &*image_elf_ : nullptr;
}

void FileSymbols::load(const elf::ElfFile& elf) {
  symbols_.add(elf, elf::SymbolTable::kSymtab);
  const bool is_named_by_debug_file = debug_file_ && debug_file_->elf().section(".symtab") != nullptr;
  if (is_named_by_debug_file) symbols_.add(debug_file_->elf(), elf::SymbolTable::kSymtab);
  // A file may keep some names, for programs that do not unpack, and pack the others: fathom's static program does.
  if (!is_named_by_debug_file) load_mini(elf);
  if (!symbols_.has_candidates() && debug_file_) load_mini(debug_file_->elf());
  has_symtab_ = symbols_.has_candidates();
  symbols_.add(elf, elf::SymbolTable::kDynsym);
  symbols_.finish();
  symbols_.for_each_name([&](std::string_view mangled) {
    if (main_crate_.empty()) main_crate_ = main_crate_of(mangled);
  });
  compilers_ = elf::compilers_of(elf);
  plt_ = plt_entries(elf, symbols_);
  go_ = elf::GoFunctions::find(elf);
}

// "MiniDebugInfo": Fedora and its relatives pack the symbol table of what they strip, without what .dynsym has.
void FileSymbols::load_mini(const elf::ElfFile& elf) {
  const elf::Section* section = elf.section(".gnu_debugdata");
  if (section == nullptr) return;
  const auto content = elf.contents(*section);
  const Result<> unpacked =
      content ? unpack_into(mini_bytes_, content->bytes()) : tl::unexpected(content.error());
  if (!unpacked) {
    problem_ = ".gnu_debugdata: " + unpacked.error().message;
    return;
  }
  auto mini = elf::ElfFile::parse(mini_bytes_, elf.name() + ": .gnu_debugdata");
  if (!mini) {
    problem_ = mini.error().message;
    return;
  }
  mini_ = std::move(*mini);
  symbols_.add(*mini_, elf::SymbolTable::kSymtab);
}

model::SymbolSource FileSymbols::source() const {
  if (debug_elf_ != nullptr && debug_fd_) return model::SymbolSource::kDwarf;
  if (go_) return model::SymbolSource::kGo;
  if (has_symtab_) return model::SymbolSource::kSymtab;
  if (!symbols_.empty()) return model::SymbolSource::kDynsym;
  const elf::ElfFile* file = elf();
  if (file != nullptr && (file->segment(PT_GNU_EH_FRAME) != nullptr || file->section(".eh_frame") != nullptr))
    return model::SymbolSource::kPseudo;
  return model::SymbolSource::kNone;
}

// What the names come from. The build id alone does not say it: a stripped file has that of the unstripped
// one.
std::string FileSymbols::stamp() const {
  const elf::ElfFile* file = elf();
  std::string stamp = fmt::format("{} {} {} {}", static_cast<int>(source()), inlines_, symbols_.size(),
                                  file != nullptr ? file->bytes().size() : 0);
  stamp += debug_stamp_;
  return stamp;
}

void FileSymbols::check() {
  DebugInfo* debug = debug_info();
  if (debug == nullptr) return;
  debug->check();
  if (auto problem = debug->problem(); !problem.empty()) problem_ = std::move(problem);
}

DebugInfo* FileSymbols::debug_info() {
  if (!debug_info_ && debug_elf_ != nullptr && debug_fd_ && inlines_) {
    auto opened = DebugInfo::open(debug_fd_.get(), *debug_elf_, pointed_);
    if (opened) {
      debug_info_ = std::move(*opened);
    } else {
      problem_ = opened.error().message;
      debug_fd_ = Fd();  // it will not get better
    }
  }
  return debug_info_.get();
}

std::size_t FileSymbols::releasable_bytes() const {
  return debug_info_ ? debug_info_->memory_bytes() : 0;
}

std::vector<std::vector<Name>> FileSymbols::resolve(std::span<const ElfAddress> addresses) {
  if (elf() == nullptr || addresses.empty()) return std::vector<std::vector<Name>>(addresses.size());
  if (std::is_sorted(addresses.begin(), addresses.end())) return resolve_ascending(addresses);
  std::vector<std::size_t> order(addresses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return addresses[a] < addresses[b]; });
  std::vector<ElfAddress> ascending;
  for (const auto index : order) ascending.push_back(addresses[index]);
  auto names = resolve_ascending(ascending);
  std::vector<std::vector<Name>> result(addresses.size());
  for (std::size_t i = 0; i < order.size(); ++i) result[order[i]] = std::move(names[i]);
  return result;
}

std::vector<std::vector<SourcePlace>> FileSymbols::resolve_places(std::span<const ElfAddress> addresses) {
  DebugInfo* debug = debug_info();
  if (debug == nullptr || !std::is_sorted(addresses.begin(), addresses.end()))
    return std::vector<std::vector<SourcePlace>>(addresses.size());
  auto places = debug->find_places(addresses);
  if (auto problem = debug->problem(); !problem.empty()) problem_ = std::move(problem);
  return places;
}

std::vector<std::vector<Name>> FileSymbols::resolve_ascending(std::span<const ElfAddress> addresses) {
  std::vector<DebugChain> chains;
  if (DebugInfo* debug = debug_info()) {
    chains = debug->find(addresses);
    if (auto problem = debug->problem(); !problem.empty()) problem_ = std::move(problem);
  }
  std::vector<std::vector<Name>> result(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    auto& names = result[i];
    DebugChain chain = i < chains.size() ? std::move(chains[i]) : DebugChain{};
    for (auto& name : chain.names)
      names.push_back(
          {name.function.empty() ? "[inlined]" : std::move(name.function), std::move(name.file), name.line});
    if (names.empty() && add_go_names(addresses[i], names)) continue;
    const bool complete = !names.empty() && chain.names.back().is_linkage_name;
    if (complete) continue;
    // DWARF that knows no linkage name: for C, the symbol is the name that is called ("malloc", not
    // "__libc_malloc"); for a constructor it has the scopes and parameters. But only a symbol of that very
    // function.
    const bool has_own_name =
        !names.empty() && chain.entry.value != 0 && names.back().function != "[inlined]";
    auto symbol = symbol_name(addresses[i], has_own_name ? &chain.entry : nullptr);
    if (symbol.empty()) {
      if (!names.empty() && !has_own_name) names.pop_back();
      continue;
    }
    if (names.empty()) names.emplace_back();
    names.back().function = std::move(symbol);
  }
  return result;
}

// Functions that Go's compiler and assembler made; C in the same program has its names elsewhere.
bool FileSymbols::add_go_names(ElfAddress address, std::vector<Name>& names) const {
  if (!go_) return false;
  for (const elf::GoPlace& place : go_->places(address, inlines_))
    names.push_back(
        {std::string(place.function), std::string(inlines_ ? place.file : ""), inlines_ ? place.line : 0});
  return !names.empty();
}

std::string FileSymbols::symbol_name(ElfAddress address, const ElfAddress* must_start_at) {
  const auto plt = std::upper_bound(plt_.begin(), plt_.end(), address.value, ByStart{});
  if (plt != plt_.begin() && address.value - std::prev(plt)->start.value < std::prev(plt)->size)
    return demangle(std::prev(plt)->name) + "@plt";

  const auto symbol = symbols_.find(address);
  if (must_start_at != nullptr)
    return symbol && symbol->start == *must_start_at ? demangled(symbol->name) : std::string();
  if (symbol && symbol->size_known) return demangled(symbol->name);
  // A symbol without size seems to reach to here. If a function of its own starts in between, it does not.
  const auto bounds = bounds_around(address);
  if (symbol && (!bounds || bounds->first <= symbol->start)) return demangled(symbol->name);
  return bounds ? pseudo_name(*bounds) : std::string();
}

std::optional<std::pair<ElfAddress, std::uint64_t>> FileSymbols::bounds_around(ElfAddress address) {
  if (!bounds_read_) {
    bounds_read_ = true;
    bounds_ = unwind::function_bounds(*elf());
  }
  const auto next = std::upper_bound(bounds_.begin(), bounds_.end(), address.value, ByStart{});
  if (next == bounds_.begin()) return std::nullopt;
  const auto& bounds = *std::prev(next);
  if (address.value - bounds.first.value >= bounds.second) return std::nullopt;
  return bounds;
}

const std::string& FileSymbols::pseudo_name(std::pair<ElfAddress, std::uint64_t> bounds) {
  if (last_nameless_ == bounds.first) return last_pseudo_name_;
  last_nameless_ = bounds.first;
  const std::uint64_t code = code_of(*elf(), bounds);
  last_pseudo_name_ = fmt::format("{}@fde+0x{:x}{}", path_.substr(path_.rfind('/') + 1), bounds.first.value,
                                  code != 0 ? fmt::format("#{:016x}", code) : "");
  return last_pseudo_name_;
}

bool FileSymbols::is_one_of_several(std::string_view name) {
  if (!several_) {
    several_.emplace();
    std::unordered_map<std::string_view, std::string_view> numbers;  // of each name, the first that is met
    symbols_.for_each_name([&](std::string_view mangled) {
      const UnitSuffix unit = unit_suffix(mangled);
      if (unit.name.empty()) return;
      const auto [first, is_new] = numbers.try_emplace(unit.name, unit.number);
      if (!is_new && first->second != unit.number) several_->insert(unit.name);
    });
    symbols_.for_each_name([&](std::string_view plain) {
      if (numbers.contains(plain)) several_->insert(plain);
    });
  }
  return several_->contains(name);
}

const std::string& FileSymbols::demangled(std::string_view mangled) {
  if (last_mangled_.data() != mangled.data()) {
    last_demangled_ = demangle(mangled);
    if (const UnitSuffix unit = unit_suffix(mangled); !unit.name.empty() && is_one_of_several(unit.name))
      last_demangled_ += fmt::format(" [clone {}]", unit.number);
    last_mangled_ = mangled;
  }
  return last_demangled_;
}

}  // namespace fathom::symbolize

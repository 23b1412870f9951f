#include "binary/symbolize/named_ranges.h"

#include <sys/stat.h>

#include <algorithm>
#include <limits>

#include "binary/symbolize/demangle.h"

namespace fathom::symbolize {
namespace {

// kallsyms has no sizes. No kernel function is larger; what is farther from its symbol is in the gap behind
// the last one.
constexpr std::uint64_t kLargestKernelFunction = 1 << 20;

std::size_t leading_underscores(std::string_view name) {
  return std::min(name.find_first_not_of('_'), name.size());
}

}  // namespace

KernelSymbols::KernelSymbols() {
  // Room that is not used is no memory, and growing would copy it all again and again.
  entries_.reserve(1 << 18);
  text_.reserve(8 << 20);
  const auto visited =
      process::visit_kallsyms([this](const process::KernelSymbolView& symbol) { add(symbol); });
  if (!visited) problem_ = visited.error().message;
  finish();
}

KernelSymbols::KernelSymbols(const std::vector<process::KernelSymbol>& symbols) {
  for (const process::KernelSymbol& symbol : symbols) add({symbol.address, symbol.name, symbol.module});
  finish();
}

void KernelSymbols::add(const process::KernelSymbolView& symbol) {
  if (text_.size() + symbol.name.size() > std::numeric_limits<std::uint32_t>::max()) return;
  entries_.push_back({symbol.address.value, static_cast<std::uint32_t>(text_.size()),
                      static_cast<std::uint32_t>(symbol.name.size())});
  text_ += symbol.name;
}

void KernelSymbols::finish() {
  const auto by_address = [](const Entry& a, const Entry& b) { return a.address < b.address; };
  // The kernel's own symbols are in order, and most have no modules.
  if (!std::is_sorted(entries_.begin(), entries_.end(), by_address))
    std::stable_sort(entries_.begin(), entries_.end(), by_address);
  // Of names for one address ("__x64_sys_read" and "__se_sys_read"), the least private and first.
  const auto private_words = [&](const Entry& entry) {
    return leading_underscores(std::string_view(text_).substr(entry.name, entry.length));
  };
  auto last = entries_.begin();
  for (auto entry = last; entry != entries_.end(); ++entry) {
    if (entry == last) continue;
    if (entry->address != last->address)
      *++last = *entry;
    else if (private_words(*entry) < private_words(*last))
      *last = *entry;
  }
  if (!entries_.empty()) entries_.erase(std::next(last), entries_.end());
}

model::SymbolSource KernelSymbols::source() const {
  return entries_.empty() ? model::SymbolSource::kNone : model::SymbolSource::kKallsyms;
}

std::vector<std::vector<Name>> KernelSymbols::resolve(std::span<const ElfAddress> addresses) {
  std::vector<std::vector<Name>> names(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto address = addresses[i].value;
    const auto next =
        std::upper_bound(entries_.begin(), entries_.end(), address,
                         [](std::uint64_t value, const Entry& entry) { return value < entry.address; });
    if (next == entries_.begin()) continue;
    const Entry& entry = *std::prev(next);
    if (address - entry.address >= kLargestKernelFunction) continue;
    names[i].push_back({demangle(std::string_view(text_).substr(entry.name, entry.length)), {}, 0});
  }
  return names;
}

PerfMapSymbols::PerfMapSymbols(int pid) : pid_(pid), path_(process::perf_map_path(pid)) {
  read_if_changed();
}

std::unique_ptr<ModuleSymbols> PerfMapSymbols::of_file(const std::string& path, const Fd& file) {
  std::unique_ptr<PerfMapSymbols> symbols(new PerfMapSymbols);
  symbols->path_ = path;
  symbols->take(process::read_perf_map(file, path));
  return symbols;
}

void PerfMapSymbols::take(Result<std::vector<process::PerfMapEntry>> entries) {
  if (entries) {
    entries_ = std::move(*entries);
    problem_.clear();
  } else {
    problem_ = entries.error().message;
  }
}

void PerfMapSymbols::read_if_changed() {
  if (pid_ == 0) return;
  struct stat status {};
  // Gone with its process: what was read stays true.
  if (::stat(path_.c_str(), &status) != 0) return;
  const bool same = status.st_size == size_ && status.st_mtim.tv_sec == changed_.tv_sec &&
                    status.st_mtim.tv_nsec == changed_.tv_nsec;
  if (same) return;
  size_ = status.st_size;
  changed_ = status.st_mtim;
  take(process::read_perf_map(pid_));
}

model::SymbolSource PerfMapSymbols::source() const {
  return entries_.empty() ? model::SymbolSource::kNone : model::SymbolSource::kPerfMap;
}

std::vector<std::vector<Name>> PerfMapSymbols::resolve(std::span<const ElfAddress> addresses) {
  read_if_changed();
  std::vector<std::vector<Name>> names(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto address = addresses[i].value;
    const auto next = std::upper_bound(
        entries_.begin(), entries_.end(), address,
        [](std::uint64_t value, const process::PerfMapEntry& entry) { return value < entry.start.value; });
    if (next == entries_.begin()) continue;
    const auto& entry = *std::prev(next);
    if (address - entry.start.value < entry.size) names[i].push_back({demangle(entry.name), {}, 0});
  }
  return names;
}

}  // namespace fathom::symbolize

#include "formats/dumps/modules.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/arch/branches.h"
#include "base/arch/facts.h"
#include "base/stable_sort.h"
#include "base/text.h"

namespace fathom::dumps {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 20'000, kMostAddresses = 200;
constexpr int kMostDepth = 10;

std::uint64_t down(std::uint64_t value, std::uint64_t page) {
  return value / page * page;
}
std::uint64_t up(std::uint64_t value, std::uint64_t page) {
  return down(value + page - 1, page);
}

// A bad line costs only that line: the text comes from a file, not from the kernel.
std::vector<process::MapEntry> readable_maps(std::string_view text) {
  std::vector<process::MapEntry> entries;
  if (auto all = process::parse_maps(text)) {
    entries = std::move(*all);
    text = {};
  }
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (auto one = process::parse_maps(text.substr(0, end)))
      entries.insert(entries.end(), one->begin(), one->end());
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  stable_sort_rows(entries, {}, [](const process::MapEntry& entry) { return entry.start; });
  return entries;
}

// The mapping that contains the call before a return address: the call may be its last instruction. Null if
// that is not code. `mappings` are ordered by address.
const process::MapEntry* code_at(std::span<const process::MapEntry> mappings, std::uint64_t return_address) {
  const auto after = std::ranges::lower_bound(
      mappings, return_address, {}, [](const process::MapEntry& entry) { return entry.start.value; });
  if (after == mappings.begin()) return nullptr;
  const process::MapEntry& map = *std::prev(after);
  return map.executable && return_address <= map.end.value ? &map : nullptr;
}

std::vector<const elf::Segment*> code_segments(const elf::ElfFile& file) {
  std::vector<const elf::Segment*> segments;
  for (const elf::Segment& segment : file.segments())
    if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0) segments.push_back(&segment);
  return segments;
}

// The mappings hold the segments, in whole pages of some size.
bool sizes_fit(const std::vector<const elf::Segment*>& segments, std::uint64_t mapped) {
  for (const std::uint64_t page : {4096u, 16384u, 65536u}) {
    std::uint64_t all = 0;
    for (const elf::Segment* segment : segments)
      all += up(segment->offset.value + segment->file_size, page) - down(segment->offset.value, page);
    if (all == mapped) return true;
  }
  return false;
}

// The share of return addresses that come after a call; nullopt if none could be checked.
std::optional<double> calls_before(const elf::ElfFile& file, std::span<const process::MapEntry> mappings,
                                   std::span<const std::uint64_t> addresses) {
  if (file.machine() != arch::kElfMachine) return std::nullopt;
  std::size_t looked = 0, calls = 0;
  for (const std::uint64_t address : addresses) {
    const process::MapEntry* const map = code_at(mappings, address);
    if (map == nullptr) continue;
    const std::uint64_t offset = address - map->start.value + map->offset.value;
    std::array<std::byte, 8> before;
    if (offset < before.size() || offset > file.bytes().size()) continue;
    const auto bytes = file.bytes().subspan(offset - before.size(), before.size());
    std::copy(bytes.begin(), bytes.end(), before.begin());
    ++looked;
    if (arch::call_before(before, offset).kind != arch::CallBefore::Kind::kNone) ++calls;
    if (looked >= kMostAddresses) break;
  }
  if (looked == 0) return std::nullopt;
  return static_cast<double>(calls) / static_cast<double>(looked);
}

}  // namespace

Result<FilesByName> FilesByName::scan(const std::string& folder) {
  FilesByName files;
  if (folder.empty()) return files;
  std::error_code error;
  if (fs::is_regular_file(folder, error)) {
    files.program_ = folder;
    files.paths_.emplace(fs::path(folder).filename().string(), folder);
    return files;
  }
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error);
  if (error) return fail(ErrorKind::kNotFound, fmt::format("{}: {}", folder, error.message()));
  std::size_t seen = 0;
  for (const fs::recursive_directory_iterator end; entry != end; entry.increment(error)) {
    if (error) break;
    if (seen == kMostFiles) {
      files.note_ = fmt::format("only {} files below {} were checked", kMostFiles, folder);
      break;
    }
    std::error_code ignored;
    if (entry.depth() > kMostDepth) entry.disable_recursion_pending();
    if (!entry->is_regular_file(ignored)) continue;
    ++seen;
    files.paths_.emplace(entry->path().filename().string(), entry->path().string());
  }
  return files;
}

std::vector<std::string> FilesByName::called(std::string_view name) const {
  std::vector<std::string> found;
  for (auto [row, end] = paths_.equal_range(name); row != end; ++row) found.push_back(row->second);
  std::ranges::sort(found);
  return found;
}

std::optional<std::string> misfit(const elf::ElfFile& file, std::span<const process::MapEntry> mappings,
                                  std::span<const std::uint64_t> return_addresses) {
  const std::vector<const elf::Segment*> segments = code_segments(file);
  std::uint64_t mapped = 0;
  std::optional<std::uint64_t> bias;
  for (const process::MapEntry& map : mappings) {
    if (!map.executable) continue;
    const auto holds = [&](const elf::Segment* segment) {
      return map.offset.value >= down(segment->offset.value, 4096) &&
             map.offset.value < segment->offset.value + segment->file_size;
    };
    const auto segment = std::ranges::find_if(segments, holds);
    if (segment == segments.end()) return "it has no code where that was mapped from";
    // All segments of one loaded file have the same load bias.
    const std::uint64_t here =
        map.start.value - ((*segment)->address.value - (*segment)->offset.value) - map.offset.value;
    if (bias && *bias != here) {  // the same file mapped twice: each copy is complete
      mapped = 0;
    }
    bias = here;
    mapped += map.size();
  }
  if (mapped != 0 && !sizes_fit(segments, mapped)) return "its code has another size";
  const std::optional<double> calls = calls_before(file, mappings, return_addresses);
  if (calls && *calls < 0.9)
    return fmt::format(
        "its code is another one: only {:.0f} % of the dump's return addresses are behind calls in it",
        100 * *calls);
  return std::nullopt;
}

Modules::Modules(model::Builder& builder, FilesByName files) : builder_(builder), files_(std::move(files)) {
  if (!files_.note().empty()) notes_.push_back(files_.note());
}

void Modules::use(std::string_view maps, std::span<const std::uint64_t> addresses) {
  // Dumps of one process mostly differ in the heap; do not read identical mappings again.
  if (!maps_.empty() && maps == maps_) return;
  maps_ = maps;
  known_.clear();
  ranges_.clear();
  const std::vector<process::MapEntry> entries = readable_maps(maps);
  if (const auto first = std::ranges::find_if(entries, &process::MapEntry::is_file); first != entries.end())
    program_ = first->path;
  std::map<std::string, std::vector<process::MapEntry>> by_path;
  for (const process::MapEntry& entry : entries) by_path[entry.path].push_back(entry);
  for (const auto& [path, mappings] : by_path) {
    std::string key;
    for (const process::MapEntry& entry : mappings)
      if (entry.executable) key += fmt::format("{:x}+{:x} ", entry.offset.value, entry.size());
    if (key.empty()) continue;
    key += path;
    auto known = located_.find(key);
    if (known == located_.end()) known = located_.emplace(key, locate(mappings, addresses)).first;
    for (const process::MapEntry& entry : mappings)
      if (entry.executable) ranges_.push_back({entry, known->second});
  }
  stable_sort_rows(ranges_, {}, [](const Range& range) { return range.map.start.value; });
}

Modules::Located Modules::locate(const std::vector<process::MapEntry>& mappings,
                                 std::span<const std::uint64_t> addresses) {
  const process::MapEntry& first = mappings.front();
  model::Module row;
  row.name = builder_.string(first.path.empty() ? "[anonymous]" : base_name(first.path));
  row.path = builder_.string(first.path);
  if (!first.is_file()) {
    row.kind = first.path == "[vdso]" ? model::ModuleKind::kVdso : model::ModuleKind::kAnonymous;
    if (row.kind == model::ModuleKind::kAnonymous) row.path = {};
    return {builder_.module(row), nullptr};
  }
  row.kind = model::ModuleKind::kFile;
  std::vector<std::uint64_t> here;
  for (const std::uint64_t address : addresses)
    if (code_at(mappings, address) != nullptr) here.push_back(address);
  if (here.empty()) return {builder_.module(row), nullptr};
  std::ranges::sort(here);
  here.erase(std::unique(here.begin(), here.end()), here.end());

  // The user's folder goes first.
  std::vector<std::string> candidates = files_.called(base_name(first.path));
  if (!files_.program().empty() && first.path == program_ && candidates.empty())
    candidates.push_back(files_.program());
  candidates.push_back(first.path);
  std::vector<std::string> refused;
  for (const std::string& path : candidates) {
    // The path comes from the dump, and opening a device may have side effects.
    if (std::error_code ignored; !fs::is_regular_file(path, ignored)) continue;
    auto file = elf::ModuleFile::open(path);
    if (!file) continue;
    if (const auto why = misfit(file->elf(), mappings, here)) {
      refused.push_back(fmt::format("{} is not used: {}", path, *why));
      continue;
    }
    row.build_id = builder_.string(file->elf().identity());
    row.path = builder_.string(path);
    return {builder_.module(row), std::make_shared<const elf::ModuleFile>(std::move(*file))};
  }
  if (refused.empty())
    notes_.push_back(fmt::format(
        "{} is not on this machine: its functions have no names. --symbols DIR, with the file in DIR",
        first.path));
  for (std::string& sentence : refused) notes_.push_back(std::move(sentence));
  return {builder_.module(row), nullptr};
}

const Modules::Range* Modules::range_of(std::uint64_t address) const {
  auto after = std::ranges::upper_bound(ranges_, address, {},
                                        [](const Range& range) { return range.map.start.value; });
  if (after == ranges_.begin()) return nullptr;
  const Range& range = *--after;
  return address < range.map.end.value ? &range : nullptr;
}

model::ModuleId Modules::module_of(std::uint64_t return_address) {
  const Range* range = range_of(return_address - 1);
  return range != nullptr ? range->module.module : model::ModuleId{0};
}

model::FrameId Modules::frame(std::uint64_t return_address) {
  const auto [known, added] = known_.try_emplace(return_address);
  if (!added) return known->second;
  const std::uint64_t look_up = return_address - 1;  // inside the call
  const Range* range = range_of(look_up);
  if (range == nullptr) return known->second = builder_.frame({0}, ElfAddress{look_up});
  if (!range->map.is_file())
    return known->second = builder_.frame(
               range->module.module,
               ElfAddress{range->map.path == "[vdso]" ? look_up - range->map.start.value : look_up});
  const std::uint64_t offset = look_up - range->map.start.value + range->map.offset.value;
  ElfAddress address{offset};  // without the file, only the file offset is known
  if (range->module.file)
    if (const auto linked = range->module.file->elf().address_of(FileOffset{offset})) address = *linked;
  return known->second = builder_.frame(range->module.module, address);
}

}  // namespace fathom::dumps

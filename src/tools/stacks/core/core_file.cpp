#include "tools/stacks/core/core_file.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/arch/core_registers.h"
#include "base/arch/facts.h"
#include "base/cursor.h"

namespace fathom::stacks {
namespace {

constexpr std::size_t kTypeOffset = 16;  // of e_type
constexpr std::size_t kMostThreads = 1'000'000;
// struct elf_prpsinfo: the process's number and its name, on 64-bit processors.
constexpr std::size_t kInfoPid = 24, kInfoName = 40, kInfoNameBytes = 16;

constexpr std::uint64_t aligned(std::uint64_t size) {
  return (size + 3) & ~std::uint64_t{3};
}

}  // namespace

bool CoreFile::recognize(std::span<const std::byte> bytes) {
  if (bytes.size() < kTypeOffset + 2 || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) return false;
  std::uint16_t type;
  std::memcpy(&type, bytes.data() + kTypeOffset, sizeof(type));
  return type == ET_CORE;
}

Result<CoreFile> CoreFile::parse(std::span<const std::byte> bytes, const std::string& name) {
  const auto elf = elf::ElfFile::parse(bytes, name);
  if (!elf) return tl::unexpected<Error>(elf.error());
  if (elf->type() != ET_CORE) return fail(ErrorKind::kMalformed, name + ": not a core file");
  if (elf->machine() != arch::kElfMachine)
    return fail(ErrorKind::kUnsupported, name + ": a core file of another processor");
  CoreFile core;
  for (const elf::Segment& segment : elf->segments()) {
    if (segment.file_size <= UINT64_MAX - segment.offset.value)
      core.whole_bytes_ = std::max(core.whole_bytes_, segment.offset.value + segment.file_size);
    if (segment.offset.value > bytes.size()) continue;  // of a core that was cut short
    const auto stored = bytes.subspan(segment.offset.value);
    const auto part = stored.first(std::min<std::uint64_t>(segment.file_size, stored.size()));
    if (segment.type == PT_NOTE) core.read_notes(part);
    if (segment.type != PT_LOAD || segment.memory_size > UINT64_MAX - segment.address.value) continue;
    core.ranges_.push_back({segment.address.value, segment.address.value + segment.memory_size,
                            part.first(std::min<std::uint64_t>(part.size(), segment.memory_size)),
                            (segment.flags & PF_X) != 0});
  }
  std::ranges::sort(core.ranges_, {}, &Range::start);
  std::ranges::sort(core.mappings_);
  for (process::MapEntry& mapping : core.mappings_)
    mapping.executable = core.is_executable(mapping.start.value);
  // gcore writes the threads last.
  if (core.threads_.empty() && core.whole_bytes_ > bytes.size())
    return fail(
        ErrorKind::kMalformed,
        fmt::format("{}: this core file is cut short: it has {} of {} bytes, and its threads are in the rest",
                    name, bytes.size(), core.whole_bytes_),
        "make it again with more space on the disk and ulimit -c unlimited");
  if (core.threads_.empty()) return fail(ErrorKind::kMalformed, name + ": this core file has no threads");
  if (core.pid_ == 0) core.pid_ = core.threads_.front().tid;
  core.signal_ = core.threads_.front().signal;
  return core;
}

void CoreFile::read_notes(std::span<const std::byte> notes) {
  Cursor in(notes);
  while (in.remaining() >= 12) {
    const auto name_size = in.read<std::uint32_t>();
    const auto size = in.read<std::uint32_t>();
    const auto type = in.read<std::uint32_t>();
    const auto owner = in.read_bytes(aligned(name_size));
    const auto description = in.read_bytes(aligned(size));
    if (!in.ok()) return;
    if (owner.size() < 4 || std::memcmp(owner.data(), "CORE", 4) != 0) continue;
    const auto body = description.first(size);
    if (type == NT_PRSTATUS && size >= arch::kStatusBytes && threads_.size() < kMostThreads) {
      CoreThread thread;
      std::uint16_t signal;
      std::memcpy(&signal, body.data() + arch::kStatusSignal, sizeof(signal));
      std::memcpy(&thread.tid, body.data() + arch::kStatusTid, sizeof(thread.tid));
      std::memcpy(&thread.registers, body.data() + arch::kStatusRegisters, sizeof(thread.registers));
      thread.signal = signal;
      threads_.push_back(thread);
    } else if (type == NT_PRPSINFO && size >= kInfoName + kInfoNameBytes) {
      std::memcpy(&pid_, body.data() + kInfoPid, sizeof(pid_));
      const auto* text = reinterpret_cast<const char*>(body.data() + kInfoName);
      program_.assign(text, ::strnlen(text, kInfoNameBytes));
    } else if (type == NT_FILE) {
      read_files(body);
    } else if (type == NT_AUXV) {
      Cursor vector(body);
      while (vector.remaining() >= 16) {
        const auto key = vector.read<std::uint64_t>();
        const auto value = vector.read<std::uint64_t>();
        if (key == AT_SYSINFO_EHDR) vdso_ = value;
      }
    }
  }
}

void CoreFile::read_files(std::span<const std::byte> description) {
  Cursor in(description);
  const auto count = in.read<std::uint64_t>();
  const auto page = in.read<std::uint64_t>();
  if (!in.ok() || count > in.remaining() / 24) return;
  std::vector<process::MapEntry> entries(count);
  for (process::MapEntry& entry : entries) {
    entry.start.value = in.read<std::uint64_t>();
    entry.end.value = in.read<std::uint64_t>();
    entry.offset.value = in.read<std::uint64_t>() * page;
  }
  for (process::MapEntry& entry : entries) {
    entry.path = in.read_c_string();
    if (!in.ok()) return;
    entry.deleted = process::strip_deleted(entry.path);
    if (entry.start < entry.end) mappings_.push_back(std::move(entry));
  }
}

const CoreFile::Range* CoreFile::find(std::uint64_t address) const {
  auto after = std::ranges::upper_bound(ranges_, address, {}, &Range::start);
  if (after == ranges_.begin()) return nullptr;
  const Range& range = *std::prev(after);
  return address < range.end ? &range : nullptr;
}

std::span<const std::byte> CoreFile::memory(std::uint64_t address) const {
  const Range* range = find(address);
  if (range == nullptr || address - range->start >= range->bytes.size()) return {};
  return range->bytes.subspan(address - range->start);
}

bool CoreFile::is_executable(std::uint64_t address) const {
  const Range* range = find(address);
  return range != nullptr && range->executable;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> CoreFile::executable_ranges() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
  for (const Range& range : ranges_)
    if (range.executable) found.emplace_back(range.start, range.end);
  return found;
}

std::string CoreFile::build_id(std::uint64_t start) const {
  const auto elf = elf::ElfFile::parse(memory(start), "core");
  return elf ? elf->build_id() : "";
}

}  // namespace fathom::stacks

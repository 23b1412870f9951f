#include "linux/memory/memory_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/clock.h"
#include "base/fd.h"
#include "base/files.h"
#include "base/parse.h"
#include "linux/process/blocked_thread.h"
#include "linux/process/fields.h"
#include "linux/process/threads.h"

namespace fathom::sources {
namespace {

constexpr std::uint64_t kArenaBytes = std::uint64_t{64} << 20;  // HEAP_MAX_SIZE of glibc on 64 bits
constexpr std::uint64_t kMostGuard = 1 << 16;  // guards are 4 KiB as a rule; larger gaps mean other things

// The numbers of one mapping that are kept, by their name in the file.
constexpr std::pair<std::string_view, std::uint64_t MemoryMapping::*> kFields[] = {
    {"Rss:", &MemoryMapping::rss},
    {"Anonymous:", &MemoryMapping::anonymous},
    {"Swap:", &MemoryMapping::swap},
    {"Pss:", &MemoryMapping::proportional},
    {"Private_Dirty:", &MemoryMapping::dirty},
    {"Shared_Dirty:", &MemoryMapping::dirty},
    {"AnonHugePages:", &MemoryMapping::huge},
    {"ShmemPmdMapped:", &MemoryMapping::huge},
    {"Private_Hugetlb:", &MemoryMapping::huge_file},
    {"Shared_Hugetlb:", &MemoryMapping::huge_file},
};

bool is_private_anonymous(const MemoryMapping& mapping) {
  return mapping.entry.inode == 0 && !mapping.entry.shared;
}
bool is_nameless(const MemoryMapping& mapping) {
  return is_private_anonymous(mapping) && mapping.entry.path.empty();
}
bool is_accessible(const MemoryMapping& mapping) {
  return mapping.entry.readable || mapping.entry.writable || mapping.entry.executable;
}
bool touch(const MemoryMapping& lower, const MemoryMapping& upper) {
  return lower.entry.end == upper.entry.start;
}

bool is_shared_memory(const process::MapEntry& entry) {
  const std::string_view path = entry.path;
  // Anonymous shared memory is a deleted /dev/zero; System V has an inode and no file.
  return path.starts_with("/memfd:") || path.starts_with("/SYSV") || path.starts_with("/dev/shm/") ||
         (path == "/dev/zero" && entry.deleted) || path.starts_with("[anon_shmem:") ||
         (entry.shared && path.empty());
}

}  // namespace

Result<> SmapsParser::take_line(std::string_view line) {
  ++lines_;
  const auto bad = [&] {
    return fail(ErrorKind::kMalformed,
                fmt::format("line {} is neither a mapping nor a field of one", lines_));
  };
  if (line.empty()) return bad();
  if (line[0] >= 'A' && line[0] <= 'Z') {  // addresses have small letters
    if (mappings_.empty()) return bad();
    const std::string_view name = process::next_field(line);
    if (!name.ends_with(':')) return bad();
    for (const auto& [field, member] : kFields) {
      if (name != field) continue;
      const auto kilobytes = parse_number(process::next_field(line));
      if (!kilobytes || *kilobytes > UINT64_MAX / 4096) return bad();
      mappings_.back().*member += *kilobytes * 1024;
    }
    return {};
  }
  auto entry = process::parse_maps(line);
  if (!entry || entry->size() != 1) return bad();
  if (!mappings_.empty() && entry->front().start < mappings_.back().entry.end) return bad();
  mappings_.emplace_back().entry = std::move(entry->front());
  return {};
}

Result<> SmapsParser::feed(std::string_view piece) {
  constexpr std::size_t kLongestLine = 64 * 1024;
  for (;;) {
    const std::size_t end = piece.find('\n');
    if (end == std::string_view::npos) break;
    rest_ += piece.substr(0, end);
    piece.remove_prefix(end + 1);
    if (auto taken = take_line(rest_); !taken) return taken;
    rest_.clear();
  }
  rest_ += piece;
  if (rest_.size() > kLongestLine) return fail(ErrorKind::kMalformed, "a line without end");
  return {};
}

Result<std::vector<MemoryMapping>> SmapsParser::finish() {
  if (!rest_.empty() && !mappings_.empty()) mappings_.pop_back();
  rest_.clear();
  for (MemoryMapping& mapping : mappings_) {
    // Two reads of one page table may not agree, and sums must.
    mapping.anonymous = std::min(mapping.anonymous, mapping.rss);
    mapping.huge = std::min(mapping.huge, mapping.rss);
  }
  return std::move(mappings_);
}

Result<std::vector<MemoryMapping>> parse_smaps(std::string_view text) {
  SmapsParser parser;
  if (auto fed = parser.feed(text); !fed) return tl::unexpected<Error>(fed.error());
  return parser.finish();
}

Result<SmapsReading> read_smaps(std::int32_t pid, std::uint64_t budget_ns) {
  const std::string path = fmt::format("/proc/{}/smaps", pid);
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return system_error(path, errno);
  SmapsReading reading;
  SmapsParser parser;
  // The kernel fills one page at a time, a handful of mappings, and releases the lock after each.
  std::string piece(4096, '\0');
  const std::uint64_t start = monotonic_ns();
  std::uint64_t now = start;
  while (now - start <= budget_ns) {
    const ssize_t size = ::read(fd.get(), piece.data(), piece.size());
    const std::uint64_t then = std::exchange(now, monotonic_ns());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return system_error(path, errno);
    reading.longest_ns = std::max(reading.longest_ns, now - then);
    if (size == 0) {
      reading.whole = true;
      break;
    }
    const std::string_view text(piece.data(), static_cast<std::size_t>(size));
    if (auto fed = parser.feed(text); !fed) return within(path, fed.error());
    now = monotonic_ns();
  }
  auto mappings = parser.finish();
  if (!mappings) return within(path, mappings.error());
  reading.mappings = std::move(*mappings);
  reading.took_ns = now - start;
  if (reading.whole && reading.mappings.empty())
    return fail(ErrorKind::kNotFound, path + ": the process has no memory any more");
  return reading;
}

std::vector<StackPointer> read_stack_pointers(std::int32_t pid, std::size_t most) {
  std::vector<StackPointer> stacks;
  const auto tids = process::read_thread_ids(pid);
  if (!tids) return stacks;
  for (std::size_t i = 0; i < std::min(tids->size(), most); ++i) {
    const auto thread = read_blocked_thread(pid, (*tids)[i], 0);
    if (!thread || !*thread || (*thread)->stack_pointer == 0) continue;
    stacks.push_back({(*thread)->stack_pointer, process::read_thread_name(pid, (*tids)[i]).value_or("")});
  }
  return stacks;
}

namespace {

class Judge {
 public:
  Judge(std::span<const MemoryMapping> mappings, std::span<const StackPointer> stacks) : mappings_(mappings) {
    for (const StackPointer& stack : stacks) stacks_.emplace(stack.address, &stack);
  }

  MappingUse use(std::size_t i, std::string& name) const {
    const MemoryMapping& mapping = mappings_[i];
    const process::MapEntry& entry = mapping.entry;
    name = entry.path;
    if (mapping.huge_file != 0 || entry.path == "/anon_hugepage") return MappingUse::kHugeFile;
    if (entry.path == "[heap]") return MappingUse::kBreak;
    if (entry.path == "[stack]") return MappingUse::kMainStack;
    if (entry.path == "[vdso]" || entry.path.starts_with("[vvar") || entry.path == "[vsyscall]" ||
        entry.path == "[uprobes]")
      return MappingUse::kKernel;
    if (is_shared_memory(entry)) return MappingUse::kShared;
    if (entry.is_file()) return MappingUse::kFile;
    if (!is_private_anonymous(mapping)) return MappingUse::kShared;
    if (const StackPointer* stack = stack_in(entry)) {
      name = stack->thread;
      return MappingUse::kThreadStack;
    }
    if (entry.path.starts_with("[stack:") || entry.path.starts_with("[anon: stack")) {
      name.clear();
      return MappingUse::kThreadStack;
    }
    if (is_nameless(mapping) && entry.writable) {
      if (is_arena(i)) return MappingUse::kArena;
      if (has_guard(i)) return MappingUse::kThreadStack;
      if (is_behind_data(i, name)) return MappingUse::kFileZeroed;
    }
    return MappingUse::kAnonymous;
  }

 private:
  const StackPointer* stack_in(const process::MapEntry& entry) const {
    const auto stack = stacks_.lower_bound(entry.start.value);
    return stack != stacks_.end() && stack->first < entry.end.value && entry.writable ? stack->second
                                                                                      : nullptr;
  }
  // Threads lay a guard below their stacks; the arenas' inaccessible parts are above them and large.
  bool has_guard(std::size_t i) const {
    return i > 0 && touch(mappings_[i - 1], mappings_[i]) && is_nameless(mappings_[i - 1]) &&
           !is_accessible(mappings_[i - 1]) && mappings_[i - 1].entry.size() <= kMostGuard;
  }
  bool is_arena(std::size_t i) const {
    const process::MapEntry& entry = mappings_[i].entry;
    if (entry.start.value % kArenaBytes != 0) return false;
    if (entry.size() == kArenaBytes) return true;
    // Two that lie side by side are one mapping where the lower one is used up.
    return i + 1 < mappings_.size() && touch(mappings_[i], mappings_[i + 1]) &&
           is_nameless(mappings_[i + 1]) && !is_accessible(mappings_[i + 1]) &&
           entry.size() % kArenaBytes + mappings_[i + 1].entry.size() == kArenaBytes;
  }
  bool is_behind_data(std::size_t i, std::string& name) const {
    if (i == 0 || mappings_[i].not_zeroed_data || !touch(mappings_[i - 1], mappings_[i])) return false;
    const process::MapEntry& before = mappings_[i - 1].entry;
    if (!before.is_file() || !before.writable || before.shared || is_shared_memory(before)) return false;
    name = before.path;
    return true;
  }

  std::span<const MemoryMapping> mappings_;
  std::map<std::uint64_t, const StackPointer*> stacks_;
};

}  // namespace

std::vector<JudgedMapping> judge_mappings(std::vector<MemoryMapping> mappings,
                                          std::span<const StackPointer> stacks) {
  std::vector<JudgedMapping> judged(mappings.size());
  const Judge judge(mappings, stacks);
  for (std::size_t i = 0; i < mappings.size(); ++i) judged[i].use = judge.use(i, judged[i].name);
  for (std::size_t i = 0; i < mappings.size(); ++i) judged[i].mapping = std::move(mappings[i]);
  return judged;
}

}  // namespace fathom::sources

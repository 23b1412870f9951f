#include "attach/inject/tracer/unmapping.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "attach/inject/plan/placement.h"
#include "attach/inject/stop/thread_stack.h"
#include "attach/inject/tracer/kept_address.h"
#include "attach/inject/tracer/shared_view.h"
#include "binary/unwind/unwinder.h"
#include "linux/process/maps.h"

namespace fathom::inject {
namespace {

constexpr int kUnmapTries = 20;
constexpr timespec kBetweenUnmapTries = {.tv_sec = 0, .tv_nsec = 20'000'000};

struct Checks {
  const RemoteMemory& memory;
  std::span<const process::MapEntry> maps;
  std::vector<AddressRange> code;  // of the tracer
  std::span<const std::uint64_t> entered;
  const unwind::AddressSpace* space;

  bool inside(std::uint64_t address) const {
    return std::any_of(code.begin(), code.end(), [&](const AddressRange& range) {
      return address >= range.start.value && address < range.end.value;
    });
  }
  bool is_hook(std::uint64_t value) const {
    return std::find(entered.begin(), entered.end(), value) != entered.end();
  }
};

// `words` starting at the slot after the last frame's return address: the part that no known frame covers. A
// return address may occur twice; the lower slot leaves more to check, which is the safe side.
std::span<const std::uint64_t> beyond(std::span<const FrameAddress> frames,
                                      std::span<const std::uint64_t> words) {
  for (const FrameAddress& frame : frames) {
    if (frame.kind != FrameAddress::Kind::kReturnAddress) continue;
    const auto slot = std::find(words.begin(), words.end(), frame.address.value);
    if (slot != words.end()) words = words.subspan(static_cast<std::size_t>(slot - words.begin()) + 1);
  }
  return words;
}

// true: no frame is in the tracer, and the frames reach the root or at least past every word that looks like
// an address of it. Assembly that starts a thread may have no unwind rules (musl's clone).
bool walked_clean(const Checks& checks, const StoppedThread& thread, std::span<const std::byte> stack) {
  const auto& registers = thread.registers;
  unwind::RegisterValues values;
  values.values = arch::by_dwarf_number(registers);
  values.known = (1U << values.values.size()) - 1;
  const unwind::Unwinder unwinder(*checks.space, [&](ProcessAddress address) -> std::optional<std::uint64_t> {
    const auto code = checks.memory.get<std::uint64_t>(address);
    return code ? std::optional(*code) : std::nullopt;
  });
  std::vector<FrameAddress> frames;
  const auto end = unwinder.unwind({.pc = arch::pc(registers),
                                    .sp = arch::sp(registers),
                                    .fp = arch::fp(registers),
                                    .registers = &values,
                                    .stack_start = {arch::sp(registers)},
                                    .stack = stack},
                                   frames);
  const auto is_inside = [&](const FrameAddress& frame) { return checks.inside(frame.address.value); };
  if (std::any_of(frames.begin(), frames.end(), is_inside)) return false;
  const auto rest = beyond(frames, words_of(stack));
  return end == WALK_ROOT ||
         std::none_of(rest.begin(), rest.end(), [&](std::uint64_t word) { return checks.inside(word); });
}

// A thread's state at the stop.
struct Seen {
  StoppedThread thread;
  std::vector<std::byte> stack;
};

bool is_clean(const Checks& checks, const Seen& seen) {
  const auto& [thread, stack] = seen;
  const auto& registers = thread.registers;
  if (checks.inside(arch::pc(registers))) return false;
  if (thread.away && !checks.entered.empty()) return false;  // its registers cannot be read
  for (const std::uint64_t value : arch::general_registers(registers))
    if (checks.is_hook(value)) return false;
  bool suspicious = false;  // some word is, or once was, a return address into the tracer, or looks like one
  for (const std::uint64_t word : words_of(stack)) {
    if (!checks.inside(word)) continue;
    if (checks.is_hook(word)) return false;
    suspicious = true;
  }
  if (!suspicious) return true;
  return checks.space != nullptr && !thread.away && walked_clean(checks, thread, stack);
}

// The mappings of `own` that exist and look as fathom made them, in the same order.
std::vector<process::MapEntry> present(std::span<const tracer_own_mapping> own,
                                       std::span<const process::MapEntry> maps) {
  std::vector<process::MapEntry> found;
  for (const auto& mapping : own)
    for (const auto& entry : maps)
      if (entry.start.value == mapping.address && entry.size() == mapping.bytes &&
          (entry.path.empty() || entry.path == kSharedPath))
        found.push_back(entry);
  return found;
}

bool gone(const Error& error) {
  return error.kind == ErrorKind::kNotFound;
}

}  // namespace

Result<bool> unmap_own(Target& target, std::span<const tracer_own_mapping> own,
                       std::span<const std::uint64_t> entered, const unwind::AddressSpace* space) {
  bool clean = false;
  std::unordered_set<int> outside;  // threads that were seen outside
  std::vector<process::MapEntry> mappings;
  for (int attempt = 0; attempt < kUnmapTries && !clean; ++attempt) {
    if (attempt > 0) {
      ++target.stops.retries;
      ::nanosleep(&kBetweenUnmapTries, nullptr);
    }
    const auto maps = process::read_maps(target.pid);
    if (!maps && gone(maps.error())) return true;
    if (!maps) return tl::unexpected<Error>(maps.error());
    mappings = present(own, *maps);
    if (mappings.empty()) return true;
    Checks checks{target.memory, *maps, {}, entered, space};
    for (const auto& entry : mappings)
      if (entry.executable) checks.code.push_back({entry.start, entry.end});
    if (checks.code.empty()) break;
    auto seen = in_tracing_thread([&]() -> Result<std::vector<Seen>> {
      const InFront front;
      auto stopped = StoppedThreads::all(target.pid, target.memory, target.stops);
      if (!stopped) return tl::unexpected<Error>(stopped.error());
      std::vector<Seen> threads;
      for (const StoppedThread& thread : stopped->threads())
        threads.push_back({thread, read_stack(target.memory, *maps, arch::sp(thread.registers))});
      return threads;
    });
    if (!seen && gone(seen.error())) return true;
    if (!seen) return tl::unexpected<Error>(seen.error());
    // Threads continue while we check: nothing leads into the tracer any more, so a thread that was outside
    // stays outside. With 50 threads that all want a CPU, there is never a moment when all of them have just
    // left.
    clean = true;
    for (const Seen& one : *seen)
      if (!outside.contains(one.thread.tid) && is_clean(checks, one))
        outside.insert(one.thread.tid);
      else
        clean = clean && outside.contains(one.thread.tid);
    if (!clean && attempt + 1 == kUnmapTries) return false;
  }

  const auto maps = process::read_maps(target.pid);
  if (maps) {
    std::vector<process::MapEntry> others;
    std::copy_if(maps->begin(), maps->end(), std::back_inserter(others), [&](const process::MapEntry& entry) {
      return std::none_of(mappings.begin(), mappings.end(),
                          [&](const auto& mapping) { return mapping.start == entry.start; });
    });
    if (keeps_address(target.pid, target.memory, others, entered)) return false;
  }

  // No slot, text, register, stack or variable refers to the tracer any more, so no thread can have entered
  // it since.
  auto done = target.borrow_thread([&](StoppedThread&, RemoteCaller& caller) -> Result<> {
    // In reverse: if the profiler dies here, the remaining islands are recognized by their jumps into the
    // image.
    const auto remove = [&](bool shared) -> Result<> {
      for (auto entry = mappings.rbegin(); entry != mappings.rend(); ++entry)
        if ((entry->path == kSharedPath) == shared)
          if (auto removed = caller.call("munmap", SYS_munmap, {entry->start.value, entry->size()}); !removed)
            return tl::unexpected<Error>(removed.error());
      return {};
    };
    if (auto others = remove(false); !others) return others;
    return remove(true);
  });
  if (!done && gone(done.error())) return true;
  if (!done) return tl::unexpected<Error>(done.error());
  return true;
}

std::vector<std::uint64_t> entered_hooks(const RemoteMemory& memory, ProcessAddress image,
                                         std::span<const tracer_own_mapping> own) {
  std::vector<std::uint64_t> entered;
  const auto header = memory.get<tracer_image_header>(image);
  if (!header || header->magic != TRACER_MAGIC) return entered;
  const auto config = memory.get<tracer_config>({image.value + header->config_offset});
  if (!config) return entered;
  // A hook at an entry continues in one of our trampolines.
  const auto is_ours = [&](std::uint64_t address) {
    return std::any_of(own.begin(), own.end(), [&](const tracer_own_mapping& mapping) {
      return address >= mapping.address && address - mapping.address < mapping.bytes;
    });
  };
  for (int shape = 0; shape < TRACER_SHAPES; ++shape)
    for (int index = 0; index < TRACER_HOOKS; ++index) {
      const std::uint64_t original = config->original[shape][index];
      if (original != 0 && !is_ours(original))
        entered.push_back(image.value + header->hook_offset[shape][index]);
    }
  return entered;
}

}  // namespace fathom::inject

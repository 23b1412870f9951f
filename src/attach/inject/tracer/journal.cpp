#include "attach/inject/tracer/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace fathom::inject {
namespace {

enum class Place : std::uint8_t { kBefore, kAfter, kForeign, kGone };

// The content of the entry's place in the target. If the profiler died during a write, it is a mixture.
Place look(const RemoteMemory& memory, const tracer_journal_entry& entry) {
  std::array<std::byte, sizeof(entry.before)> now{};
  const std::span<std::byte> bytes(now.data(), entry.length);
  if (!memory.read({entry.address}, bytes)) return Place::kGone;  // its module was unloaded
  if (std::memcmp(now.data(), entry.before, entry.length) == 0) return Place::kBefore;
  for (std::size_t i = 0; i < entry.length; ++i) {
    const auto value = std::to_integer<u8>(now[i]);
    if (value != entry.before[i] && value != entry.after[i]) return Place::kForeign;
  }
  return Place::kAfter;
}

Result<> restore(const RemoteMemory& memory, tracer_journal_entry& entry, TakenBack& done) {
  switch (look(memory, entry)) {
    case Place::kForeign:
      done.foreign.push_back(fmt::format("0x{:x}", entry.address));
      return {};
    case Place::kAfter:
      if (auto written = memory.write({entry.address}, std::as_bytes(std::span(entry.before, entry.length)));
          !written)
        return written;
      ++(entry.kind == TRACER_HOOK_SLOT ? done.slots : done.entries);
      break;
    case Place::kBefore:
    case Place::kGone:
      break;
  }
  entry.in = 0;
  return {};
}

Result<> move_back(StoppedThreads& stopped, std::span<const WayBack> ways_back, Stops& stops) {
  for (StoppedThread& thread : stopped.threads()) {
    const auto way = std::ranges::find(ways_back, arch::pc(thread.registers), &WayBack::from);
    if (thread.away || way == ways_back.end()) continue;
    arch::set_pc(thread.registers, way->to);
    thread.changed = true;
    if (auto done = stopped.set_registers_now(thread); !done) return done;
    ++stops.moved_threads;
  }
  return {};
}

}  // namespace

Result<TakenBack> take_back(Target& target, std::span<tracer_journal_entry> journal,
                            std::span<const WayBack> ways_back) {
  TakenBack done;
  const auto is_in = [](const tracer_journal_entry& entry, tracer_hook_kind kind) {
    return entry.in != 0 && entry.kind == kind;
  };
  const auto any_in = [&](tracer_hook_kind kind) {
    return std::any_of(journal.begin(), journal.end(), [&](const auto& entry) { return is_in(entry, kind); });
  };
  if (any_in(TRACER_HOOK_SLOT)) {
    auto slots = target.while_writable([&]() -> Result<> {
      for (auto& entry : journal)
        if (is_in(entry, TRACER_HOOK_SLOT))
          if (auto one = restore(target.memory, entry, done); !one) return one;
      return {};
    });
    if (!slots) return tl::unexpected<Error>(slots.error());
  }
  if (!any_in(TRACER_HOOK_ENTRY)) return done;

  // A thread cannot be between the bytes of a jump, and one in a trampoline ends up in the function, which is
  // whole again: no thread has to be moved for the program's sake, and dying here would leave nothing wrong.
  auto restored = in_tracing_thread([&]() -> Result<> {
    const InFront front;
    auto stopped = StoppedThreads::all(target.pid, target.memory, target.stops);
    if (!stopped) return tl::unexpected<Error>(stopped.error());
    for (auto& entry : journal)
      if (is_in(entry, TRACER_HOOK_ENTRY))
        if (auto one = restore(target.memory, entry, done); !one) return one;
    if (!done.foreign.empty()) return {};
    return move_back(*stopped, ways_back, target.stops);
  });
  if (!restored) return tl::unexpected<Error>(restored.error());
  return done;
}

}  // namespace fathom::inject

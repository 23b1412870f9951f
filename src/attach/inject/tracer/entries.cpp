#include "attach/inject/tracer/entries.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>

#include "attach/inject/stop/thread_stack.h"

namespace fathom::inject {
namespace {

constexpr int kTries = 20;
constexpr timespec kBetweenTries = {.tv_sec = 0, .tv_nsec = 5'000'000};

// Strictly inside: an instruction may start at the first byte both before and after the patch.
bool among(const arch::EntryPlan& entry, std::uint64_t address) {
  return address > entry.patch_address.value && address < entry.patch_address.value + entry.before.size();
}

// An interrupted thread may return into the patched bytes from a signal handler.
bool returns_among(std::span<const PlannedHook* const> hooks, std::span<const std::uint64_t> words) {
  std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
  for (const auto* hook : hooks) {
    lowest = std::min(lowest, hook->entry.patch_address.value);
    highest = std::max(highest, hook->entry.patch_address.value + hook->entry.before.size());
  }
  for (const std::uint64_t word : words)
    if (word > lowest && word < highest && std::any_of(hooks.begin(), hooks.end(), [&](const auto* hook) {
          return !hook->entry.single_instruction && among(hook->entry, word);
        }))
      return true;
  return false;
}

struct Move {
  StoppedThread* thread;
  std::uint64_t to;
};

// nullopt: a thread is at a place from which it cannot be moved.
std::optional<std::vector<Move>> plan_moves(std::span<const PlannedHook* const> hooks,
                                            const RemoteMemory& memory,
                                            std::span<const process::MapEntry> maps,
                                            std::vector<StoppedThread>& threads) {
  std::vector<Move> moves;
  for (auto& thread : threads) {
    const std::uint64_t pc = arch::pc(thread.registers);
    for (const auto* hook : hooks) {
      const auto to = goes_on_at(*hook, pc);
      if (!to || (*to != pc && thread.away)) return std::nullopt;
      if (*to != pc) moves.push_back({&thread, *to});
    }
    const auto stack = read_stack(memory, maps, arch::sp(thread.registers));
    if (returns_among(hooks, words_of(stack))) return std::nullopt;
  }
  return moves;
}

Result<> still_as_planned(const RemoteMemory& memory, const PlannedHook& hook) {
  std::vector<std::byte> now(hook.entry.before.size());
  if (auto done = memory.read(hook.entry.patch_address, now); !done) return done;
  if (now == hook.entry.before) return {};
  return fail(ErrorKind::kUnsupported,
              fmt::format("{}: its start differs from the file: another tool hooked it", hook.hook.name),
              "end the other tool first");
}

}  // namespace

std::optional<std::uint64_t> goes_on_at(const PlannedHook& hook, std::uint64_t pc) {
  if (!among(hook.entry, pc)) return pc;
  for (const auto& moved : hook.entry.moved)
    if (hook.hook.function.value + moved.from == pc) return hook.trampoline.value + moved.to;
  return std::nullopt;
}

Result<> put_entries(Target& target, std::span<const PlannedHook* const> hooks) {
  if (hooks.empty()) return {};
  for (int attempt = 0; attempt < kTries; ++attempt) {
    if (attempt > 0) {
      ++target.stops.retries;
      ::nanosleep(&kBetweenTries, nullptr);
    }
    const auto maps = process::read_maps(target.pid);
    if (!maps) return tl::unexpected<Error>(maps.error());
    auto in = in_tracing_thread([&]() -> Result<bool> {
      const InFront front;
      auto stopped = StoppedThreads::all(target.pid, target.memory, target.stops);
      if (!stopped) return tl::unexpected<Error>(stopped.error());
      for (const auto* hook : hooks)
        if (auto same = still_as_planned(target.memory, *hook); !same)
          return tl::unexpected<Error>(same.error());
      const auto moves = plan_moves(hooks, target.memory, *maps, stopped->threads());
      if (!moves) return false;
      // Threads first: if the profiler dies here, they run the same instructions in another place, which is
      // harmless.
      for (const Move& move : *moves) {
        arch::set_pc(move.thread->registers, move.to);
        move.thread->changed = true;
        if (auto done = stopped->set_registers_now(*move.thread); !done)
          return tl::unexpected<Error>(done.error());
        ++target.stops.moved_threads;
      }
      for (const auto* hook : hooks)
        if (auto done = target.memory.write(hook->entry.patch_address, hook->entry.after); !done)
          return tl::unexpected<Error>(done.error());
      return true;
    });
    if (!in) return tl::unexpected<Error>(in.error());
    if (*in) return {};
  }
  return fail(
      ErrorKind::kSystem,
      fmt::format("process {}: a thread stays at the start of a function that would be hooked", target.pid),
      "try again");
}

}  // namespace fathom::inject

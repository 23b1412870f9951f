#include "attach/inject/tracer/stale_tracer.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "attach/inject/tracer/journal.h"
#include "attach/inject/tracer/remains.h"
#include "attach/inject/tracer/restoration.h"
#include "attach/inject/tracer/shared_view.h"
#include "attach/inject/tracer/target_tables.h"
#include "attach/inject/tracer/unmapping.h"
#include "base/files.h"
#include "linux/process/maps.h"

namespace fathom::inject {
namespace {

Result<> close_left(Target& target, const std::vector<int>& left) {
  if (left.empty()) return {};
  return target.borrow_thread([&](StoppedThread&, RemoteCaller& caller) -> Result<> {
    for (const int fd : left)
      if (auto closed = caller.call("close", SYS_close, {static_cast<std::uint64_t>(fd)}); !closed)
        return tl::unexpected<Error>(closed.error());
    return {};
  });
}

// A thread that was borrowed when the profiler died continues without help: it finishes the call that it was
// about to make, and returns to its code (remote_call.h). A mapping from that call must not appear after our
// search.
Result<> let_borrowed_threads_return(Target& target) {
  constexpr int kStopTries = 500;
  constexpr timespec kBetweenStopTries = {.tv_sec = 0, .tv_nsec = 2'000'000};
  for (int attempt = 0; attempt < kStopTries; ++attempt) {
    if (attempt > 0) ::nanosleep(&kBetweenStopTries, nullptr);
    auto all_own = in_tracing_thread([&]() -> Result<bool> {
      const InFront front;
      auto stopped = StoppedThreads::all(target.pid, target.memory, target.stops);
      if (!stopped) return tl::unexpected<Error>(stopped.error());
      return std::none_of(
          stopped->threads().begin(), stopped->threads().end(),
          [&](const StoppedThread& thread) { return is_borrowed(thread, target.memory, target.gadgets); });
    });
    if (!all_own) return tl::unexpected<Error>(all_own.error());
    if (*all_own) return {};
  }
  return fail(ErrorKind::kSystem,
              fmt::format("process {}: a thread does not return from a call that was made in it", target.pid),
              "try again");
}

// The tracers in a process, each by its shared memory, with the content of its head if that is valid.
struct Found {
  process::MapEntry shared;
  std::optional<SharedView> view;
  std::string damage;  // if there is no view
};

std::vector<Found> find_tracers(const RemoteMemory& memory, std::span<const process::MapEntry> maps) {
  std::vector<Found> found;
  for (auto& shared : find_shared(maps)) {
    auto view = read_shared(memory, shared);
    Found& one = found.emplace_back();
    one.shared = std::move(shared);
    if (view)
      one.view = std::move(*view);
    else
      one.damage = view.error().message;
  }
  return found;
}

// The head alone would not do: it is not written yet in the first moment, and the target may write anything into it. And a profiler
// maps the same memory as its target, so a fathom that looks at all processes would take the memory away from it.
std::optional<int> living_holder(std::span<const Found> tracers) {
  const auto locks = tracers.empty() ? Result<std::string>(std::string()) : read_file("/proc/locks");
  for (const Found& tracer : tracers) {
    if (locks)
      if (const auto profiler = locking_profiler(*locks, tracer.shared)) return profiler;
    if (tracer.view)
      if (const auto profiler = living_profiler(*tracer.view, tracer.shared)) return profiler;
  }
  return std::nullopt;
}

// The combined result for everything found.
struct Outcome {
  TakenBack taken_back;
  std::vector<std::string> damage, refused, left;
  bool unmapped = true;
};

std::string listed(std::span<const std::string> items) {
  return items.size() == 1 ? items[0] : fmt::format("{} and {} more", items[0], items.size() - 1);
}

std::string describe(int pid, const Outcome& outcome) {
  std::string text = fmt::format("process {}: ", pid);
  if (!outcome.damage.empty()) text += outcome.damage[0] + "; restored by the modules' own files: ";
  text += fmt::format("{} slots and {} function starts restored", outcome.taken_back.slots,
                      outcome.taken_back.entries);
  if (!outcome.refused.empty())
    text += fmt::format("; not believed, and left as they are: {}", listed(outcome.refused));
  if (!outcome.taken_back.foreign.empty())
    text += fmt::format(", {} left that another tool changed since (the first at {})",
                        outcome.taken_back.foreign.size(), outcome.taken_back.foreign[0]);
  if (!outcome.left.empty()) text += fmt::format("; still leads into the tracer: {}", listed(outcome.left));
  if (outcome.unmapped) return text + ", mappings removed";
  if (!outcome.left.empty() || !outcome.taken_back.foreign.empty())
    return text + "; its mappings stay, inert, until the process ends";
  return text + "; a thread is still inside of the tracer, its mappings stay, inert";
}

Result<> take_back_more(Target& target, Restoration&& restoration, TakenBack& all) {
  auto done = take_back(target, restoration.changes);
  if (!done) return tl::unexpected<Error>(done.error());
  all.slots += done->slots;
  all.entries += done->entries;
  for (std::string& place : done->foreign) all.foreign.push_back(std::move(place));
  return {};
}

Result<> take_out(Target& target, std::span<const process::MapEntry> maps, const Found& tracer,
                  Outcome& outcome) {
  const auto& memory = target.memory;
  if (tracer.shared.writable)
    (void)memory.put<u32>({tracer.shared.start.value + offsetof(tracer_shared, mode)}, TRACER_OFF);
  static constexpr std::span<const tracer_own_mapping> kNone;
  const OwnPlaces places =
      find_own_places(memory, maps, tracer.shared, tracer.view ? std::span(tracer.view->own) : kNone);
  ModuleFiles files(target.pid, maps);
  Restorer restorer(memory, maps, places, files);
  if (tracer.view) {
    Restoration journal = restorer.by_journal(tracer.view->journal);
    std::ranges::move(journal.left, std::back_inserter(outcome.refused));
    if (auto done = take_back_more(target, std::move(journal), outcome.taken_back); !done) return done;
  } else {
    outcome.damage.push_back(tracer.damage);
  }
  // A valid head may still be incomplete: some references to the tracer may not be in it.
  Restoration rest = restorer.by_files();
  std::vector<std::string> left = std::move(rest.left);
  if (auto done = take_back_more(target, std::move(rest), outcome.taken_back); !done) return done;
  const bool leads_in = !left.empty() || !outcome.taken_back.foreign.empty();
  std::ranges::move(left, std::back_inserter(outcome.left));
  if (leads_in) {
    outcome.unmapped = false;
    return {};
  }
  std::vector<std::uint64_t> entered;
  if (places.image) entered = entered_hooks(memory, places.image->start, places.all);
  const unwind::AddressSpace space = read_unwind_tables(target.pid, maps);
  auto unmapped = unmap_own(target, places.all, entered, &space);
  if (!unmapped) return tl::unexpected<Error>(unmapped.error());
  outcome.unmapped = outcome.unmapped && *unmapped;
  return {};
}

}  // namespace

std::optional<int> holder(int pid) {
  const auto maps = process::read_maps(pid);
  if (!maps || find_shared(*maps).empty()) return std::nullopt;
  const auto memory = RemoteMemory::open(pid);
  if (!memory) return 0;
  return living_holder(find_tracers(*memory, *maps)).value_or(0);
}

Result<std::string> detach_stale_tracer(int pid) {
  auto target = Target::open(pid);
  if (!target) return tl::unexpected<Error>(target.error());
  auto maps = process::read_maps(pid);
  if (!maps) return tl::unexpected<Error>(maps.error());
  if (const auto profiler = living_holder(find_tracers(target->memory, *maps)))
    return fail(ErrorKind::kPermission,
                fmt::format("process {}: fathom {} is tracing its heap", pid, *profiler),
                "end that recording first");
  put_back_priorities(pid);
  // Nothing is visible, but a mapping may still appear in a moment.
  if (auto returned = let_borrowed_threads_return(*target); !returned)
    return tl::unexpected<Error>(returned.error());
  maps = process::read_maps(pid);
  if (!maps) return tl::unexpected<Error>(maps.error());
  const auto left = shared_descriptors(pid);
  const auto tracers = find_tracers(target->memory, *maps);
  if (tracers.empty() && left.empty())
    return fail(ErrorKind::kNotFound, fmt::format("process {}: there is no heap tracer in it", pid));
  if (auto closed = close_left(*target, left); !closed) return tl::unexpected<Error>(closed.error());
  if (tracers.empty())
    return fmt::format("process {}: a descriptor was closed, nothing else had been done", pid);

  Outcome outcome;
  for (const Found& tracer : tracers)
    if (auto done = take_out(*target, *maps, tracer, outcome); !done)
      return tl::unexpected<Error>(done.error());
  return describe(pid, outcome);
}

}  // namespace fathom::inject

#include "inject/left_behind.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <cstddef>

#include "inject/journal.h"
#include "inject/unmapping.h"
#include "process/directory.h"
#include "process/maps.h"

namespace fathom::inject {
namespace {

// Descriptors of the shared memory that the profiler did not live to close.
std::vector<int> left_descriptors(int pid) {
  std::vector<int> left;
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  const auto fds = process::numbers_in(folder);
  if (!fds) return left;
  for (const int fd : *fds) {
    const auto link = process::read_link(fmt::format("{}/{}", folder, fd));
    if (link && link->starts_with(kSharedPath)) left.push_back(fd);
  }
  return left;
}

Result<> close_left(Target& target, const std::vector<int>& left) {
  if (left.empty()) return {};
  return target.borrow_thread([&](StoppedThread&, RemoteCaller& caller) -> Result<> {
    for (const int fd : left)
      if (auto closed = caller.call("close", SYS_close, {static_cast<std::uint64_t>(fd)}); !closed)
        return tl::unexpected<Error>(closed.error());
    return {};
  });
}

// A thread that was borrowed when the profiler died goes on by itself: it ends the call that it was about to
// make, and finds back (remote_call.h). What that call maps must not come after we have looked.
Result<> let_borrowed_threads_return(Target& target) {
  constexpr int kTries = 500;
  constexpr timespec kBetweenTries = {.tv_sec = 0, .tv_nsec = 2'000'000};
  for (int attempt = 0; attempt < kTries; ++attempt) {
    if (attempt > 0) ::nanosleep(&kBetweenTries, nullptr);
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

tl::unexpected<Error> held_by_living(int pid, const tracer_shared& head) {
  return fail(ErrorKind::kPermission,
              fmt::format("process {}: fathom {} is tracing its heap", pid, head.profiler_pid),
              "end that recording first");
}

std::string describe(int pid, const TakenBack& done, bool unmapped) {
  std::string text =
      fmt::format("process {}: {} slots and {} function starts restored", pid, done.slots, done.entries);
  if (!done.foreign.empty())
    text += fmt::format(", {} left that somebody else changed since (the first at {})", done.foreign.size(),
                        done.foreign[0]);
  return text + (unmapped ? ", mappings removed"
                          : "; a thread is still inside of the tracer, its mappings stay, inert");
}

}  // namespace

std::optional<int> holder(int pid) {
  const auto maps = process::read_maps(pid);
  if (!maps) return std::nullopt;
  const auto shared = find_shared(*maps);
  if (!shared) return std::nullopt;
  const auto memory = RemoteMemory::open(pid);
  if (!memory) return 0;
  const auto head = read_head(*memory, *shared);
  return head && profiler_lives(**head) ? (*head)->profiler_pid : 0;
}

Result<std::string> detach_left_behind(int pid) {
  auto target = Target::open(pid);
  if (!target) return tl::unexpected<Error>(target.error());
  auto maps = process::read_maps(pid);
  if (!maps) return tl::unexpected<Error>(maps.error());
  if (const auto shared = find_shared(*maps)) {
    const auto head = read_head(target->memory, *shared);
    if (head && profiler_lives(**head)) return held_by_living(pid, **head);
  }
  // Nothing of ours is seen, and yet it may come in a moment.
  if (auto returned = let_borrowed_threads_return(*target); !returned)
    return tl::unexpected<Error>(returned.error());
  maps = process::read_maps(pid);
  if (!maps) return tl::unexpected<Error>(maps.error());
  const auto left = left_descriptors(pid);
  const auto shared = find_shared(*maps);
  if (!shared && left.empty())
    return fail(ErrorKind::kNotFound, fmt::format("process {}: there is no heap tracer in it", pid));
  if (!shared) {
    if (auto closed = close_left(*target, left); !closed) return tl::unexpected<Error>(closed.error());
    return fmt::format("process {}: a descriptor was closed, nothing else had been done", pid);
  }

  auto head = read_head(target->memory, *shared);
  if (!head) return within(fmt::format("process {}", pid), head.error());
  if (auto closed = close_left(*target, left); !closed) return tl::unexpected<Error>(closed.error());
  const auto& memory = target->memory;
  const auto place = [&](std::size_t offset) { return ProcessAddress{shared->start.value + offset}; };
  if (auto off = memory.put<u32>(place(offsetof(tracer_shared, mode)), TRACER_OFF); !off)
    return tl::unexpected<Error>(off.error());

  const std::span<tracer_journal_entry> journal((*head)->journal, (*head)->journal_count);
  auto done = take_back(*target, journal);
  if (!done) return tl::unexpected<Error>(done.error());
  if (auto noted = memory.write(place(offsetof(tracer_shared, journal)), std::as_bytes(journal)); !noted)
    return tl::unexpected<Error>(noted.error());
  if (!done->foreign.empty()) return describe(pid, *done, false);  // something may still lead in

  const std::span<const tracer_own_mapping> own((*head)->own, (*head)->own_count);
  // The image is noted first, but a profiler that died early has not made it.
  std::vector<std::uint64_t> entered;
  if (!own.empty()) entered = entered_hooks(memory, {own[0].address}, own);
  auto unmapped = unmap_own(*target, own, entered, nullptr);
  if (!unmapped) return tl::unexpected<Error>(unmapped.error());
  return describe(pid, *done, *unmapped);
}

}  // namespace fathom::inject

#include "attach/inject/stop/target.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "attach/inject/stop/obstacle.h"
#include "base/arch/facts.h"
#include "base/files.h"
#include "linux/process/status.h"
#include "linux/process/threads.h"

namespace fathom::inject {
namespace {

constexpr std::uint64_t kMaySuspendSeccomp = std::uint64_t{1} << 21;  // CAP_SYS_ADMIN

}  // namespace

Result<> check_machine(int pid) {
  if (!arch::kSupported)
    return fail(ErrorKind::kUnsupported, "the heap cannot be traced on this processor",
                "record without --heap");
  const std::string path = fmt::format("/proc/{}/exe", pid);
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};  // not readable for us; the kernel will report any further restriction
  Elf64_Ehdr header{};
  if (::pread(file.get(), &header, sizeof(header), 0) != sizeof(header)) return {};
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != arch::kElfMachine)
    return fail(ErrorKind::kUnsupported,
                fmt::format("process {}: its program is not for {}, and the tracer is", pid, arch::kName),
                "record without --heap");
  return {};
}

Result<> check_traceable(int pid) {
  const auto refuse = [&](ErrorKind kind, std::string_view what, std::string remedy) {
    return fail(kind, fmt::format("process {}: {}", pid, what), std::move(remedy));
  };
  const auto status = process::read_status(pid);
  const auto stat = process::read_stat(pid);
  if (!status || !stat)
    return refuse(ErrorKind::kNotFound, "there is no such process", "look for it with ps or pgrep");
  if (pid == ::getpid())
    return refuse(ErrorKind::kUnsupported, "fathom cannot trace itself", "name another process");
  if (stat->kernel_thread)
    return refuse(ErrorKind::kUnsupported, "it is a kernel thread and has no heap", "name a program");
  if (status->state == 'Z' || status->state == 'X')
    return refuse(ErrorKind::kNotFound, "it has ended (zombie)", "name a running process");
  if (status->tracer_pid != 0)
    return refuse(ErrorKind::kPermission, fmt::format("process {} traces it already", status->tracer_pid),
                  "end that debugger or tracer first");
  if (auto stoppable = check_stoppable(pid); !stoppable) return stoppable;
  if (status->seccomp == 1)
    return refuse(ErrorKind::kUnsupported,
                  "it runs under seccomp's strict mode, which kills at the first system call",
                  "record without --heap");
  if (status->seccomp == 2) {
    const auto own = process::read_status(::getpid());
    if (!own || (own->effective_capabilities & kMaySuspendSeccomp) == 0 || own->seccomp != 0)
      return refuse(ErrorKind::kPermission,
                    "its seccomp filter has to be suspended while memory is mapped, and we may not do that",
                    own && own->seccomp != 0 ? "outside of the sandbox or container that fathom runs in"
                                             : "with CAP_SYS_ADMIN, as root has it outside of containers");
  }
  return check_machine(pid);
}

Program program_of(int pid) {
  Program program;
  struct stat status {};
  if (const auto stat = process::read_stat(pid)) program.start_ticks = stat->start_ticks;
  if (::stat(fmt::format("/proc/{}/exe", pid).c_str(), &status) == 0) {
    program.device = status.st_dev;
    program.inode = status.st_ino;
  }
  return program;
}

Result<Target> Target::open(int pid) {
  if (auto done = check_traceable(pid); !done) return tl::unexpected<Error>(done.error());
  const Program program = program_of(pid);
  auto memory = RemoteMemory::open(pid);
  if (!memory) return tl::unexpected<Error>(memory.error());
  const auto maps = process::read_maps(pid);
  if (!maps) return tl::unexpected<Error>(maps.error());
  auto gadgets = find_gadgets(*maps, *memory);
  if (!gadgets) return within(fmt::format("process {}", pid), gadgets.error());
  const auto status = process::read_status(pid);
  return Target{pid,     std::move(*memory),     *gadgets, status ? status->seccomp : 0,
                program, kernel_forces_writes(), {}};
}

Result<> Target::stop_one(unsigned options, const std::function<Result<>(StoppedThread&, bool& ran)>& work) {
  Result<> last = fail(ErrorKind::kNotFound, fmt::format("process {}: it has ended", pid));
  if (auto stoppable = check_stoppable(pid); !stoppable) return stoppable;
  const std::vector<int> tids = by_idleness(pid);
  bool ran = false;
  const auto stop = [&](int tid, bool may_be_parent) {
    return in_tracing_thread([&]() -> Result<> {
      const InFront front;
      auto stopped = StoppedThreads::one(pid, tid, memory, stops, options);
      if (!stopped) return tl::unexpected<Error>(stopped.error());
      // From now on it creates no more children.
      if (!may_be_parent && process::has_children(pid, tid))
        return fail(ErrorKind::kNotFound, fmt::format("thread {} of process {}: it has children", tid, pid));
      // While it is stopped it cannot exec, and if another thread does, this one ends.
      if (program_of(pid) != program) {
        ran = true;
        return fail(ErrorKind::kNotFound, fmt::format("process {}: it runs another program now", pid));
      }
      return work(stopped->threads()[0], ran);
    });
  };
  for (const bool may_be_parent : {tids.size() == 1, true})
    for (const int tid : tids) {
      last = stop(tid, may_be_parent);
      if (last || ran || last.error().kind == ErrorKind::kPermission) return last;
    }
  return last;
}

Result<> Target::borrow_thread(const std::function<Result<>(StoppedThread&, RemoteCaller&)>& calls) {
  const auto maps = process::read_maps(pid);
  if (!maps) return tl::unexpected<Error>(maps.error());
  return stop_one(caller_options(seccomp), [&](StoppedThread& thread, bool& ran) -> Result<> {
    auto caller = RemoteCaller::borrow(thread, memory, gadgets, *maps);
    if (!caller) return tl::unexpected<Error>(caller.error());
    ran = true;
    return calls(thread, *caller);
  });
}

Result<> Target::while_writable(const std::function<Result<>()>& writes) {
  if (forced_writes) return writes();
  constexpr int kTries = 20;
  constexpr timespec kBetweenTries = {.tv_sec = 0, .tv_nsec = 5'000'000};
  Result<> done;
  bool ran = false;
  // The only thread may be waiting for a child that has not exec'ed yet, and cannot stop in the meantime.
  for (int attempt = 0; attempt < kTries && !ran; ++attempt) {
    if (attempt > 0) ::nanosleep(&kBetweenTries, nullptr);
    done = stop_one(0, [&](StoppedThread&, bool& running) {
      ran = running = true;
      return writes();
    });
    if (!ran && (done.error().kind != ErrorKind::kNotFound || program_of(pid) != program)) return done;
  }
  if (!ran) done.error().kind = ErrorKind::kSystem;  // it exists, and the tracer stays in it for now
  return done;
}

}  // namespace fathom::inject

#include "attach/inject/trial/private_copy.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "attach/inject/trial/apart.h"
#include "base/arch/call_instructions.h"
#include "base/arch/common/function_facts.h"
#include "base/arch/user_registers.h"
#include "base/fd.h"
#include "base/files.h"

namespace fathom::inject {
namespace {

// A function that loops is ended by its own CPU time, so a busy machine does not end one that would have
// returned. If we wait for longer than this, there is no answer.
constexpr std::chrono::seconds kWaitLimit{10};
constexpr rlim_t kMostCpuSecondsOfFork = 1;
constexpr std::uint64_t kFrameRoom = 64 << 10, kScratchRoom = 256;

void send_kill(int pid_fd) {
  (void)::syscall(SYS_pidfd_send_signal, pid_fd, SIGKILL, nullptr, 0);
}

// Where the program's own code would begin: the function that the first instructions refer to, if it is only
// one.
std::optional<std::uint64_t> main_of(const elf::ElfFile& file) {
  auto code = file.bytes_from(file.entry());
  std::uint64_t first = UINT64_MAX, end = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> executable;
  for (const elf::Segment& segment : file.segments()) {
    if (segment.type != PT_LOAD) continue;
    first = std::min(first, segment.address.value);
    end = std::max(end, segment.address.value + segment.memory_size);
    if ((segment.flags & PF_X) != 0)
      executable.emplace_back(segment.address.value, segment.address.value + segment.file_size);
  }
  // As many bytes as form whole instructions up to the call into the C library: no more are needed.
  for (std::size_t size = std::min<std::size_t>(code.size(), 64); size >= 24; --size) {
    const auto facts =
        arch::function_facts(code.first(size), file.entry().value,
                             file.type() == ET_EXEC ? arch::ImageRange{first, end} : arch::ImageRange{}, {});
    if (!facts) continue;
    std::vector<std::uint64_t> named;
    for (const std::uint64_t each : facts->data)
      for (const auto& [start, behind] : executable)
        if (each >= start && each < behind && each - file.entry().value > 64) named.push_back(each);
    if (named.size() == 1) return named.front();
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Result<> check_private_copy(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return system_error("the program's file", errno);
  if (!S_ISREG(status.st_mode)) return fail(ErrorKind::kUnsupported, "the program is not a file");
  if ((status.st_mode & (S_ISUID | S_ISGID)) != 0 || ::fgetxattr(file, "security.capability", nullptr, 0) > 0)
    return fail(ErrorKind::kUnsupported,
                "the program has rights of its own (set-uid, set-gid or capabilities)");
  return {};
}

// Shared by all copies of one program: which of them is being waited for, and the news of the others in the
// meantime. One of its threads kills a copy that takes too long.
class PrivateCopy::Family {
 public:
  // How `pid` stopped or ended; nullopt: it is not a child of this process.
  std::optional<int> wait(int pid, int pid_fd) {
    begin(pid_fd);
    while (!heard_.contains(pid)) {
      int status = 0;
      // Waits for all of them, because the first of a namespace only ends after the others were reaped.
      const pid_t got = ::waitpid(-1, &status, __WALL | __WNOTHREAD);
      if (got >= 0)
        heard_[got] = status;
      else if (errno != EINTR)
        break;
    }
    begin(-1);
    const auto heard = heard_.extract(pid);
    return heard.empty() ? std::nullopt : std::optional(heard.mapped());
  }
  bool was_late() {
    const std::lock_guard guard(lock_);
    return was_late_;
  }

 private:
  void begin(int pid_fd) {
    const std::lock_guard guard(lock_);
    watched_ = pid_fd;
    ++round_;
    until_ = std::chrono::steady_clock::now() + kWaitLimit;
    changed_.notify_one();
  }
  void watch(const std::stop_token& stop) {
    std::unique_lock guard(lock_);
    while (!stop.stop_requested()) {
      const std::uint64_t round = round_;
      const auto is_other = [&] { return round_ != round; };
      if (watched_ < 0)
        changed_.wait(guard, stop, is_other);
      else if (!changed_.wait_until(guard, stop, until_, is_other) && !stop.stop_requested()) {
        was_late_ = true;
        send_kill(watched_);
        watched_ = -1;
      }
    }
  }

  std::map<int, int> heard_;  // status by process
  std::mutex lock_;
  std::condition_variable_any changed_;
  int watched_ = -1;  // a pidfd
  std::uint64_t round_ = 0;
  bool was_late_ = false;
  std::chrono::steady_clock::time_point until_;
  std::jthread thread_{[this](const std::stop_token& stop) { watch(stop); }};
};

PrivateCopy::PrivateCopy(int pid, std::shared_ptr<Family> family)
    : pid_(pid),
      pid_fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),
      is_first_(family == nullptr),
      family_(family ? std::move(family) : std::make_shared<Family>()) {}

PrivateCopy::PrivateCopy(PrivateCopy&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pid_fd_(std::move(other.pid_fd_)),
      is_first_(std::exchange(other.is_first_, false)),
      bias_(other.bias_),
      return_to_(other.return_to_),
      system_call_(other.system_call_),
      scratch_(other.scratch_),
      stack_(other.stack_),
      memory_(std::move(other.memory_)),
      family_(std::move(other.family_)) {}

PrivateCopy::~PrivateCopy() {
  if (pid_fd_.get() >= 0) send_kill(pid_fd_.get());
  // When the first process of their namespace ends, all others end, including those that a call has forked.
  while (is_first_ && (::waitpid(-1, nullptr, __WALL | __WNOTHREAD) >= 0 || errno == EINTR)) {
  }
  while (pid_ >= 0 && ::waitpid(pid_, nullptr, __WALL) < 0 && errno == EINTR) {
  }
}

bool PrivateCopy::was_late() const {
  return family_->was_late();
}

Result<PrivateCopy> PrivateCopy::start(int fd, const elf::ElfFile& file, std::span<const ElfAddress> stops,
                                       int like) {
  if (auto allowed = check_private_copy(fd); !allowed) return tl::unexpected<Error>(allowed.error());
  const auto started = start_apart(fd, like);
  if (!started) return tl::unexpected<Error>(started.error());
  PrivateCopy copy(started->pid, nullptr);
  if (auto held = copy.hold(file, stops); !held) return tl::unexpected<Error>(held.error());
  return copy;
}

// Blocks, because on a busy machine a polling process comes last.
Result<int> PrivateCopy::wait() {
  if (pid_fd_.get() < 0) return fail(ErrorKind::kUnsupported, "private copy: this kernel has no pidfd_open");
  const auto status = family_->wait(pid_, pid_fd_.get());
  if (status && WIFSTOPPED(*status)) return *status;
  pid_ = -1;  // it has ended
  if (was_late()) return fail(ErrorKind::kUnsupported, "private copy: no answer in time");
  return fail(ErrorKind::kUnsupported, "private copy: " + (status ? why_apart_ended(*status) : "it is gone"));
}

Result<> PrivateCopy::hold(const elf::ElfFile& file, std::span<const ElfAddress> stops) {
  auto status = wait();  // right after exec
  if (!status) return tl::unexpected<Error>(status.error());
  if (::ptrace(PTRACE_SETOPTIONS, pid_, nullptr,
               PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE) != 0)
    return system_error("private copy", errno);
  const std::string path = fmt::format("/proc/{}/auxv", pid_);
  const auto text = read_file(path);
  if (!text) return tl::unexpected<Error>(text.error());
  std::uint64_t entry = 0;
  for (std::size_t at = 0; at + sizeof(Elf64_auxv_t) <= text->size(); at += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t each;
    std::memcpy(&each, text->data() + at, sizeof(each));
    if (each.a_type == AT_ENTRY) entry = each.a_un.a_val;
  }
  if (entry == 0) return fail(ErrorKind::kMalformed, path + ": it does not say where the program starts");
  bias_ = entry - file.entry().value;
  auto memory = RemoteMemory::open(pid_);
  if (!memory) return tl::unexpected<Error>(memory.error());
  memory_.emplace(std::move(*memory));

  using Bytes = std::array<std::byte, arch::kBreakpoint.size()>;
  std::map<std::uint64_t, Bytes> before;
  const auto set = [&](std::uint64_t address) -> Result<> {
    const auto bytes = memory_->get<Bytes>({address});
    if (!bytes) return tl::unexpected<Error>(bytes.error());
    if (before.emplace(address, *bytes).second)
      return memory_->put(ProcessAddress{address}, arch::kBreakpoint);
    return {};
  };
  const bool is_static = file.interpreter().empty();
  if (!is_static) {
    if (auto done = set(entry); !done) return done;
  } else {
    for (const ElfAddress each : stops)
      if (auto done = set(each.value + bias_); !done) return done;
    if (const auto begin = main_of(file))
      if (auto done = set(*begin + bias_); !done) return done;
  }
  arch::UserRegisters registers{};
  for (long signal = 0;;) {
    if (::ptrace(PTRACE_CONT, pid_, nullptr, signal) != 0) return system_error("private copy", errno);
    status = wait();
    if (!status) return tl::unexpected<Error>(status.error());
    if (*status >> 16 != 0) return fail(ErrorKind::kUnsupported, "private copy: it executes another program");
    if (!arch::get_registers(pid_, registers)) return system_error("private copy", errno);
    if (WSTOPSIG(*status) == SIGTRAP && before.contains(arch::pc(registers) - arch::kStopsBehindBreakpoint)) {
      if (arch::thread_pointer(registers) != 0) break;
      // The C library has not set up the thread's data yet: continues to the next stop.
      const std::uint64_t at = arch::pc(registers) - arch::kStopsBehindBreakpoint;
      if (auto done = memory_->put(ProcessAddress{at}, before.at(at)); !done) return done;
      before.erase(at);
      arch::set_pc(registers, at);
      if (!arch::set_registers(pid_, registers)) return system_error("private copy", errno);
      signal = 0;
      continue;
    }
    signal = WSTOPSIG(*status);
    if (signal == SIGSEGV || signal == SIGILL || signal == SIGBUS || signal == SIGTRAP || signal == SIGABRT ||
        signal == SIGSYS)
      return fail(ErrorKind::kUnsupported, "private copy: it fails before its first instruction");
  }
  for (const auto& [address, bytes] : before)
    if (auto done = memory_->put(ProcessAddress{address}, bytes); !done) return done;
  // Functions return to a breakpoint at the program's entry: that code is no longer needed.
  return_to_ = {entry};
  if (auto done = memory_->put(return_to_, arch::kBreakpoint); !done) return done;
  system_call_ = {entry + 16};
  if (auto done = memory_->put(system_call_, arch::kCallInstruction); !done) return done;
  if (auto done =
          memory_->put(ProcessAddress{system_call_.value + arch::kCallInstruction.size()}, arch::kBreakpoint);
      !done)
    return done;
  scratch_ = {(arch::sp(registers) - kFrameRoom) & ~std::uint64_t{63}};
  stack_ = {scratch_.value - kScratchRoom};
  return {};
}

Result<PrivateCopy> PrivateCopy::fork() {
  arch::UserRegisters registers{};
  if (pid_ < 0 || !arch::get_registers(pid_, registers))
    return fail(ErrorKind::kUnsupported, "private copy: it is gone");
  // Its exit sends no signal.
  arch::prepare_call(registers, system_call_.value, stack_.value, SYS_clone, {0});
  if (!arch::set_registers(pid_, registers) || ::ptrace(PTRACE_CONT, pid_, nullptr, 0L) != 0)
    return system_error("private copy", errno);
  auto status = wait();
  if (!status) return tl::unexpected<Error>(status.error());
  unsigned long child = 0;
  if ((*status >> 16 != PTRACE_EVENT_FORK && *status >> 16 != PTRACE_EVENT_CLONE) ||
      ::ptrace(PTRACE_GETEVENTMSG, pid_, nullptr, &child) != 0)
    return fail(ErrorKind::kUnsupported, "private copy: it cannot be copied");
  PrivateCopy copy(static_cast<int>(child), family_);
  copy.bias_ = bias_;
  copy.return_to_ = return_to_, copy.system_call_ = system_call_;
  copy.scratch_ = scratch_, copy.stack_ = stack_;
  if (::ptrace(PTRACE_CONT, pid_, nullptr, 0L) != 0) return system_error("private copy", errno);
  status = wait();  // the breakpoint after the call
  if (!status) return tl::unexpected<Error>(status.error());
  status = copy.wait();
  if (!status) return tl::unexpected<Error>(status.error());
  // Its own CPU time starts at zero.
  const rlimit most{kMostCpuSecondsOfFork, kMostCpuSecondsOfFork + 1};
  if (::prlimit(copy.pid_, RLIMIT_CPU, &most, nullptr) != 0) return system_error("private copy", errno);
  auto memory = RemoteMemory::open(copy.pid_);
  if (!memory) return tl::unexpected<Error>(memory.error());
  copy.memory_.emplace(std::move(*memory));
  return copy;
}

std::optional<std::uint64_t> PrivateCopy::call(ElfAddress function,
                                               const std::array<std::uint64_t, 4>& arguments) {
  if (pid_ < 0) return std::nullopt;
  arch::UserRegisters registers{};
  if (!arch::get_registers(pid_, registers)) return std::nullopt;
  const std::uint64_t link =
      arch::prepare_function(registers, function.value + bias_, stack_.value, arguments);
  if (!memory_->put(ProcessAddress{link}, return_to_.value)) return std::nullopt;
  if (!arch::set_registers(pid_, registers) || ::ptrace(PTRACE_CONT, pid_, nullptr, 0L) != 0)
    return std::nullopt;
  const auto status = wait();
  if (!status || *status >> 16 != 0 || WSTOPSIG(*status) != SIGTRAP) return std::nullopt;
  if (!arch::get_registers(pid_, registers) ||
      arch::pc(registers) != return_to_.value + arch::kStopsBehindBreakpoint ||
      arch::sp(registers) != link + 8)
    return std::nullopt;
  return arch::call_result(registers);
}

}  // namespace fathom::inject

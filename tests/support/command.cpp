#include "support/command.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <thread>

namespace fathom::support {
namespace {

using Clock = std::chrono::steady_clock;

Fd memory_file(const char* name) {
  Fd file(memfd_create(name, MFD_CLOEXEC));
  if (!file) throw std::runtime_error("memfd_create: " + std::string(std::strerror(errno)));
  return file;
}

std::string content_of(const Fd& file) {
  std::string content;
  std::array<char, 65536> chunk;
  while (true) {
    const ssize_t got = pread(file.get(), chunk.data(), chunk.size(), static_cast<off_t>(content.size()));
    if (got <= 0) return content;
    content.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

void write_all(const Fd& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file.get(), text.data(), text.size());
    if (written <= 0) throw std::runtime_error("write: " + std::string(std::strerror(errno)));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  lseek(file.get(), 0, SEEK_SET);
}

// Everything that needs memory is prepared before fork(); after it, only what is safe in the child of a
// threaded process.
struct Prepared {
  std::vector<char*> arguments, environment;
  std::vector<std::string> environment_texts;
  const char* folder = nullptr;
  int input = -1, output = -1, errors = -1;
  std::optional<uid_t> user;
};

[[noreturn]] void become(const Prepared& prepared) {
  setpgid(0, 0);
  dup2(prepared.input, STDIN_FILENO);
  dup2(prepared.output, STDOUT_FILENO);
  dup2(prepared.errors, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  bool ready = prepared.folder == nullptr || chdir(prepared.folder) == 0;
  if (prepared.user) {
    ready = ready && setgroups(0, nullptr) == 0 &&
            setresgid(*prepared.user, *prepared.user, *prepared.user) == 0 &&
            setresuid(*prepared.user, *prepared.user, *prepared.user) == 0;
  }
  if (ready) execvpe(prepared.arguments[0], prepared.arguments.data(), prepared.environment.data());
  dprintf(STDERR_FILENO, "cannot start %s: %s\n", prepared.arguments[0], strerror(errno));
  _exit(127);
}

}  // namespace

std::string Outcome::describe() const {
  std::string text =
      timed_out ? "killed when its time was over" : "exit status " + std::to_string(exit_status);
  if (signal != 0) text += ", signal " + std::to_string(signal);
  const auto tail = [](const std::string& from) {
    return from.size() > 3000 ? from.substr(from.size() - 3000) : from;
  };
  return text + "\n--- standard output:\n" + tail(output) + "\n--- standard error:\n" + tail(errors);
}

Running::Running(const std::vector<std::string>& arguments, const CommandOptions& options)
    : output_(memory_file("output")), errors_(memory_file("errors")), start_(Clock::now()) {
  const Fd input = memory_file("input");
  write_all(input, options.input);

  Prepared prepared;
  for (const std::string& argument : arguments)
    prepared.arguments.push_back(const_cast<char*>(argument.c_str()));
  prepared.arguments.push_back(nullptr);
  prepared.environment_texts = options.environment;
  for (std::string& text : prepared.environment_texts) prepared.environment.push_back(text.data());
  for (char** entry = environ; *entry != nullptr; ++entry) prepared.environment.push_back(*entry);
  prepared.environment.push_back(nullptr);
  prepared.folder = options.folder.empty() ? nullptr : options.folder.c_str();
  prepared.input = input.get();
  prepared.output = output_.get();
  prepared.errors = errors_.get();
  prepared.user = options.user;

  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork: " + std::string(std::strerror(errno)));
  if (pid_ == 0) become(prepared);
  setpgid(pid_, pid_);  // whichever comes first
}

Running::Running(Running&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      start_(other.start_) {}

Running::~Running() {
  if (pid_ < 0) return;
  kill(-pid_, SIGKILL);  // with whatever it left behind
  waitpid(pid_, nullptr, 0);
}

bool Running::finished() const {
  siginfo_t info{};
  return pid_ < 0 || (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                      info.si_pid != 0);
}

void Running::send(int signal_number) const {
  kill(pid_, signal_number);
}

Outcome Running::wait(std::chrono::milliseconds limit) {
  Outcome outcome;
  if (!wait_until([this] { return finished(); }, limit)) {
    outcome.timed_out = true;
    kill(-pid_, SIGKILL);
  }
  int status = 0;
  rusage usage{};
  wait4(pid_, &status, 0, &usage);
  kill(-pid_, SIGKILL);
  pid_ = -1;
  outcome.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  outcome.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  outcome.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  outcome.peak_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  outcome.output = content_of(output_);
  outcome.errors = content_of(errors_);
  return outcome;
}

Outcome Running::kill_and_wait() {
  send(SIGKILL);
  return wait(std::chrono::milliseconds(10'000));
}

std::string Running::output_so_far() const {
  return content_of(output_);
}
std::string Running::errors_so_far() const {
  return content_of(errors_);
}

Outcome run(const std::vector<std::string>& arguments, const CommandOptions& options) {
  return Running(arguments, options).wait(options.limit);
}

double cpu_seconds_of(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

void pause_ms(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

}  // namespace fathom::support

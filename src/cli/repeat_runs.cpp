#include "cli/repeat_runs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <random>

#include "analysis/core/words.h"
#include "base/fd.h"
#include "base/shell_word.h"
#include "cli/notices.h"
#include "cli/shell_words.h"
#include "cli/stop_requests.h"

namespace fathom::cli {
namespace {

constexpr std::string_view kExtension = ".fathom";

std::string side_of(const PlannedRun& run, bool has_against) {
  return !has_against ? "" : run.against ? "base " : "new ";
}

// While it lives, the kernel keeps a run's exit status: our parent may ignore SIGCHLD, and ignored signals
// are inherited.
class ChildrenKept {
 public:
  ChildrenKept() {
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &usual, &before_);
  }
  ~ChildrenKept() { ::sigaction(SIGCHLD, &before_, nullptr); }
  ChildrenKept(const ChildrenKept&) = delete;
  ChildrenKept& operator=(const ChildrenKept&) = delete;

 private:
  struct sigaction before_ {};
};

// A run that waits for the word to begin. What asks the whole group for an end reaches a process that is there, and no other:
// a run that was forked after that would know nothing of it. So the first process looks for requests once the run is there.
class Starter {
 public:
  Starter() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    wait_ = Fd(ends[0]);
    go_ = Fd(ends[1]);
  }
  explicit operator bool() const { return wait_.get() >= 0; }

  // In the run. False: it must not begin.
  bool may_begin() {
    go_ = Fd();
    char word = 0;
    ssize_t got = -1;
    while ((got = ::read(wait_.get(), &word, 1)) < 0 && errno == EINTR) {
    }
    return got == 1;
  }
  // In the first process; without it, the end of the starter says no.
  void begin() { (void)!::write(go_.get(), "b", 1); }

 private:
  Fd wait_, go_;
};

struct Ended {
  int status = 0;  // as a shell reports it
  bool interrupted = false;
};

// Waits for the run's process; what asks for an end is passed on to it.
Ended wait_for(pid_t pid, StopRequests& stops) {
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  Ended ended;
  int state = 0;
  for (;;) {
    while (const auto received = stops.take(pid)) {
      ended.interrupted = true;
      const int signal = received->request.at_once ? SIGTERM : received->request.pass_on;
      if (signal != 0) ::kill(pid, signal);
    }
    const pid_t got = ::waitpid(pid, &state, WNOHANG);
    if (got == pid || (got < 0 && errno != EINTR)) break;
    pollfd ready[] = {{stops.fd(), POLLIN, 0}, {process.get(), POLLIN, 0}};
    constexpr int kWithoutPidfd_ms = 50;  // before Linux 5.3
    (void)::poll(ready, process.get() >= 0 ? 2 : 1, process.get() >= 0 ? -1 : kWithoutPidfd_ms);
  }
  // What was sent to the whole group may have come to us after the run has ended by it.
  while (stops.take(std::nullopt)) ended.interrupted = true;
  ended.status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  return ended;
}

void say_end(const std::vector<PlannedRun>& made, const RepeatOptions& options) {
  if (made.empty() || options.quiet) return;
  const std::string line = comparison_of(made);
  if (!line.empty()) {
    say("next: {}\n", line);
    return;
  }
  std::string files;
  for (const PlannedRun& run : made) files += " " + shell_word(run.path);
  if (!options.has_against)
    say("next: record the other version in the same way; then fathom diff --base{} --new ITS RECORDINGS\n",
        files);
  else
    say("fathom: kept{}\n", files);
}

}  // namespace

std::vector<PlannedRun> plan_runs(std::size_t count, bool has_against, bool against_first,
                                  const std::string& output) {
  std::string stem = output;
  if (stem.size() > kExtension.size() && stem.ends_with(kExtension))
    stem.resize(stem.size() - kExtension.size());
  std::vector<PlannedRun> runs;
  for (std::size_t pair = 1; pair <= count; ++pair) {
    const bool first = against_first != (pair % 2 == 0);
    for (const bool against : {first, !first}) {
      if (against && !has_against) continue;
      const std::string side = !has_against ? "" : against ? "-base" : "-new";
      runs.push_back({against, pair, fmt::format("{}{}-{}{}", stem, side, pair, kExtension)});
    }
  }
  return runs;
}

Result<std::vector<std::string>> words_of_command(const std::string& text) {
  auto words = shell_words(text);
  if (!words)
    return fail(ErrorKind::kUsage,
                fmt::format("--against '{}': a quote has no end", analysis::printable(text)),
                "--against './server --port 80'");
  if (words->empty())
    return fail(ErrorKind::kUsage, "--against: no command", "--against './server --port 80'");
  return std::move(*words);
}

std::string comparison_of(const std::vector<PlannedRun>& made) {
  std::string base, fresh;
  for (const PlannedRun& run : made) (run.against ? base : fresh) += " " + shell_word(run.path);
  return base.empty() || fresh.empty() ? "" : "fathom diff --base" + base + " --new" + fresh;
}

Result<RepeatedRun> repeat_runs(const RepeatOptions& options) {
  const bool has_against = options.has_against;
  const std::vector<PlannedRun> plan =
      plan_runs(options.count, has_against, std::random_device{}() % 2 == 0, options.output);
  std::vector<PlannedRun> made;
  RepeatedRun result;
  const ChildrenKept kept;
  auto stops = std::make_unique<StopRequests>(true);
  for (const PlannedRun& run : plan) {
    if (!options.quiet)
      say("fathom: run {} of {}, {}{}: {}\n", &run - plan.data() + 1, plan.size(), side_of(run, has_against),
          run.number, analysis::printable(run.path));
    auto starter = std::make_optional<Starter>();
    const pid_t pid = *starter ? ::fork() : -1;
    if (pid < 0) {
      say_end(made, options);
      return fail(ErrorKind::kSystem, fmt::format("starting a run: {}", std::strerror(errno)));
    }
    if (pid == 0) {
      if (!starter->may_begin()) ::_exit(0);
      stops->undo_in_child();
      // Its end would end the first process's witness.
      (void)stops.release();  // NOLINT(bugprone-unused-return-value)
      result.to_record = run;
      return result;
    }
    bool asked = false;
    while (stops->take(std::nullopt)) asked = true;
    if (!asked) starter->begin();
    starter.reset();
    Ended ended = wait_for(pid, *stops);
    ended.interrupted = ended.interrupted || asked;
    result.status = ended.status;
    if (ended.interrupted || ended.status != 0) {
      const bool is_there = ::access(run.path.c_str(), F_OK) == 0;
      say("fathom: run {} of {} {}; no other is begun{}\n", &run - plan.data() + 1, plan.size(),
          ended.interrupted ? "was interrupted" : fmt::format("ended with status {}", ended.status),
          is_there ? fmt::format(", and its recording is in {}, not in the comparison",
                                 analysis::printable(run.path))
                   : "");
      constexpr int kIncomplete = 1;
      if (result.status == 0) result.status = kIncomplete;
      break;
    }
    made.push_back(run);
  }
  say_end(made, options);
  return result;
}

}  // namespace fathom::cli

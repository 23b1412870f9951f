#include "cli/first_look.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <utility>

#include "analysis/core/words.h"
#include "analysis/summary/report.h"
#include "base/spawn.h"
#include "cli/command.h"
#include "cli/selection_options.h"
#include "present/sentences/hot_spot_sentences.h"
#include "present/text/text_first_screen.h"

namespace fathom::cli {
namespace {

constexpr std::size_t kMostText = 4096;  // fits into a pipe without a reader

std::string one_line(std::string_view text) {
  return analysis::printable(text.substr(0, kMostText / 4));
}

// With the signals of an ordinary program, and in a group of its own, so that Ctrl-C is not for it. -1: it did not start.
pid_t spawn_look(const std::string& recording, int output) {
  Spawn spawn;
  spawn.file(STDIN_FILENO, "/dev/null", O_RDONLY);
  spawn.descriptor(STDOUT_FILENO, output);
  spawn.file(STDERR_FILENO, "/dev/null", O_WRONLY);
  spawn.ordinary_signals();
  spawn.own_group();
  return spawn.start("/proc/self/exe", {"fathom", std::string(kFirstLookArgument), recording}).value_or(-1);
}

}  // namespace

std::string to_text(const FirstAnswer& answer) {
  return one_line(answer.function) + "\n" + one_line(answer.share) + "\n" + one_line(answer.sentence) + "\n";
}

FirstAnswer answer_from(std::string_view text) {
  FirstAnswer answer;
  for (std::string* part : {&answer.function, &answer.share, &answer.sentence}) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) return {};
    *part = one_line(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return answer;
}

FirstLook::~FirstLook() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

const FirstAnswer& FirstLook::at(double seconds) {
  if (pid_ > 0) {
    take();
  } else if (seconds >= next_s_) {
    next_s_ = 2 * seconds;
    ask();
  }
  return answer_;
}

void FirstLook::ask() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
  from_child_ = Fd(ends[0]);
  const Fd to_us(ends[1]);
  pid_ = spawn_look(recording_, to_us.get());
}

// All that it has to say fits into the pipe, so its end is early enough to read it.
void FirstLook::take() {
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return;
  pid_ = -1;
  std::array<char, kMostText> text{};
  const ssize_t count = ::read(from_child_.get(), text.data(), text.size());
  from_child_ = Fd();
  if (count <= 0 || !WIFEXITED(status) || WEXITSTATUS(status) != kDone) return;
  const FirstAnswer answer = answer_from(std::string_view(text.data(), static_cast<std::size_t>(count)));
  // Names may come later than samples; what was known is better than nothing.
  if (!answer.function.empty() || answer_.function.empty()) answer_ = answer;
}

int run_first_look(const char* recording) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A tenth of a CPU where the target leaves none; a report takes a tenth of a second, so the answer comes in time all the same.
  (void)::setpriority(PRIO_PROCESS, 0, 10);
  const auto profile = open_selected(recording, SelectionOptions());
  if (!profile) return kFailed;
  analysis::ReportOptions options;
  options.selection.fold_idle = true;
  const auto report = analysis::make_report(*profile, options);
  if (!report) return kFailed;
  const present::HotName hot = present::hot_name_of(*report);
  const std::string text = to_text({hot.name, hot.share, present::first_sentence(*report)});
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0
             ? kDone
             : kFailed;
}

}  // namespace fathom::cli

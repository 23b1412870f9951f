#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "analysis/core/words.h"
#include "base/clock.h"
#include "cli/notices.h"
#include "linux/process/status.h"
#include "present/text/text_table.h"

namespace fathom::cli {
namespace {

// Below this share of one CPU what a program waits for explains it, and not where it computes. Whether it was idle or had no
// CPU is not known from this.
constexpr double kIdleShare = 0.05;
constexpr double kIdleAfterS = 2, kTracingAfterS = 0.5, kFirstFunctionS = 3, kFirstSentenceS = 5;
constexpr std::uint64_t kSecondNs = 1'000'000'000;
// Lines between those of a command that writes to the same terminal.
constexpr std::uint64_t kLineNs = 10 * kSecondNs;

std::uint64_t resident_bytes(std::int32_t pid) {
  const auto status = process::read_status(pid);
  return status ? status->rss_anon + status->rss_file + status->rss_shmem : 0;
}

std::uint64_t own_cpu_ns() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  const auto ns = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * kSecondNs +
           static_cast<std::uint64_t>(time.tv_usec) * 1000;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

// Of standard error; a line that is wider would leave a row behind each time.
std::size_t columns_there() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

// An editor, a pager: a program that takes single keys draws the screen, too.
bool somebody_draws() {
  termios mode{};
  return ::tcgetattr(STDERR_FILENO, &mode) == 0 && (mode.c_lflag & ICANON) == 0;
}

// Its start, at most so many columns wide.
std::string keep_head(std::string text, std::size_t columns) {
  constexpr std::string_view kMore = "…";
  if (present::display_width(text) <= columns) return text;
  const std::size_t room = columns - std::min<std::size_t>(columns, 1);
  while (!text.empty() && present::display_width(text) > room) {
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
    if (!text.empty()) text.pop_back();
  }
  return text + std::string(kMore);
}

std::string time_part(const ProgressFigures& figures) {
  return figures.of_seconds ? fmt::format("{:.0f} of {:g} s", figures.seconds, *figures.of_seconds)
                            : fmt::format("{:.0f} s", figures.seconds);
}

}  // namespace

std::optional<std::string> idleness(std::optional<double> cpu_s, double seconds) {
  if (seconds < 1 || !cpu_s) return std::nullopt;
  const double share = *cpu_s / seconds;
  if (share >= kIdleShare) return std::nullopt;
  return fmt::format("the target used {:.1f} % of one CPU only", 100 * share);
}

std::string progress_line(const ProgressFigures& figures, std::size_t columns) {
  constexpr std::string_view kJoint = " · ";
  constexpr std::size_t kLeastName = 12;
  constexpr std::uint64_t kLeastForHot = 20;  // samples: of fewer, chance names the function
  std::string line = time_part(figures);
  bool is_full = false;
  const auto room = [&] {
    const std::size_t used = present::display_width(line) + present::display_width(kJoint);
    return columns == 0 ? SIZE_MAX : columns > used ? columns - used : 0;
  };
  const auto add = [&](const std::string& part) {
    is_full = is_full || present::display_width(part) > room();
    if (!is_full) line += std::string(kJoint) + part;
  };
  const auto count = [](std::uint64_t number) {
    return analysis::with_commas(static_cast<std::int64_t>(number));
  };
  add(analysis::counted(figures.samples, "sample"));
  if (figures.lost != 0) add(count(figures.lost) + " lost");
  if (figures.target_cpus) add(fmt::format("target {:.2f} CPUs", *figures.target_cpus));
  if (!figures.hot.empty() && figures.samples >= kLeastForHot) {
    const std::size_t around = present::display_width("hot:  ") + present::display_width(figures.hot_share);
    const std::size_t left = room() == SIZE_MAX ? SIZE_MAX : room() - std::min(room(), around);
    if (left >= kLeastName)
      add(fmt::format("hot: {} {}", present::shorten_name(figures.hot, left), figures.hot_share));
  }
  if (figures.target_bytes != 0)
    add(analysis::bytes(static_cast<double>(figures.target_bytes)) + " resident");
  add(fmt::format("fathom {:.1f} % of a CPU, {}", 100 * figures.own_cpu,
                  analysis::bytes(static_cast<double>(figures.own_bytes))));
  add(fmt::format("{} written", analysis::bytes(static_cast<double>(figures.file_bytes))));
  return line;
}

std::string sentence_line(const ProgressFigures& figures, const std::string& sentence, std::size_t columns) {
  const std::string line = time_part(figures) + " · " + sentence;
  return columns == 0 ? line : keep_head(line, columns);
}

std::string opening_line(const session::RecordOptions& options, std::optional<std::int32_t> command_pid) {
  std::string what;
  const auto add = [&](const std::string& part) { what += (what.empty() ? "" : ", ") + part; };
  if (options.cpu) add(fmt::format("CPU at {} Hz", options.frequency_hz));
  if (options.off_cpu) add("waits");
  if (options.memory) add("memory");
  if (options.heap == session::Heap::kSampled) add("heap sampled");
  if (options.heap == session::Heap::kExact) add("each call of the heap");
  const std::string who =
      command_pid ? fmt::format("{} (pid {})", analysis::printable(options.command.front()), *command_pid)
                  : analysis::printable(options.target);
  return fmt::format("recording {}: {}", who, what);
}

Progress::Progress(bool quiet, const session::RecordOptions& options, bool triage)
    : quiet_(quiet),
      launched_(!options.command.empty()),
      triage_(triage),
      of_seconds_(options.duration_s),
      pids_(recorded_processes(options)) {
  options_.command = options.command;
  options_.target = options.target;
  options_.frequency_hz = options.frequency_hz;
  options_.cpu = options.cpu;
  options_.off_cpu = options.off_cpu;
  options_.memory = options.memory;
  options_.heap = options.heap;
  options_.heap_interval_bytes = options.heap_interval_bytes;
  // The second reading is made when the recording begins: what lies between, the loading of its programs, is no delay.
  if (!quiet) activity_ = read_activity(pids_);
  if (!quiet && !options.output.empty() && somebody_looks())
    look_.emplace(options.output, triage ? kFirstSentenceS : kFirstFunctionS);
}

bool Progress::may_draw(const session::Session& session) const {
  return !quiet_ && session.phase() == session::Phase::kRecording && somebody_looks() &&
         !(launched_ && somebody_draws());
}

void Progress::tell(const session::Session& session) {
  tell_unseen(session);
  tell_opening(session);
  if (!may_draw(session)) return;
  tell_tracing(session);
  const FirstAnswer answer = look_ ? look_->at(session.seconds()) : FirstAnswer();
  const std::uint64_t now = monotonic_ns();
  if (now < next_ns_) return;
  const bool shares_screen = launched_ && ::isatty(STDOUT_FILENO) == 1;
  const bool first = next_ns_ == 0;
  next_ns_ = now + (shares_screen ? kLineNs : kSecondNs);
  ProgressFigures figures = figures_of(session);
  figures.hot = answer.function;
  figures.hot_share = answer.share;
  if (first) return;  // nothing is known yet
  if (const auto idle = idleness(session.cpu_seconds(), session.seconds());
      idle && options_.cpu && session.seconds() > kIdleAfterS && !std::exchange(idle_told_, true))
    notice_now(fmt::format("\rfathom: {} so far\033[K\n", *idle));
  const bool has_sentence = triage_ && !answer.sentence.empty();
  const auto line = [&](std::size_t columns) {
    return has_sentence ? sentence_line(figures, answer.sentence, columns) : progress_line(figures, columns);
  };
  if (shares_screen) {
    notice_now("fathom: " + line(0) + "\n");
    return;
  }
  shown_ = true;
  notice_now("\r" + line(columns_there() - 1) + "\033[K");
}

// The expected cost is printed to files too: a script's author reads it afterwards.
void Progress::tell_opening(const session::Session& session) {
  if (quiet_ || opening_told_ || session.phase() != session::Phase::kRecording) return;
  const bool watched = somebody_looks();
  if (watched && launched_ && somebody_draws()) return;
  opening_told_ = true;
  if (watched)
    notice_now(fmt::format("fathom: {} (Ctrl-C ends the recording)\n",
                           opening_line(options_, session.command_pid())));
  notice_now(
      fmt::format("fathom: {}\n", cost_line(options_, activity_between(activity_, read_activity(pids_)))));
}

void Progress::tell_unseen(const session::Session& session) {
  constexpr std::size_t kMost = 8;
  if (quiet_) return;
  const auto tell = [this, kMost](const std::vector<std::string>& all, std::size_t& told) {
    for (; told < std::min(all.size(), kMost); ++told)
      notice_now(
          fmt::format("{}fathom: heap: {}\n", shown_ ? "\r\033[K" : "", analysis::printable(all[told])));
  };
  tell(session.unseen_allocators(), unseen_told_);
  tell(session.allocators_found_by_code(), found_by_code_told_);
}

// Within the first second, so that a user who waits for a heap sees that it is there.
void Progress::tell_tracing(const session::Session& session) {
  if (tracing_told_ || session.seconds() < kTracingAfterS) return;
  tracing_told_ = true;
  if (const std::string traced = session.traced_allocators(); !traced.empty())
    notice_now(fmt::format("\rfathom: the heap is traced: {}\033[K\n", analysis::printable(traced)));
}

ProgressFigures Progress::figures_of(const session::Session& session) {
  const model::Quality& quality = session.quality();
  ProgressFigures figures;
  figures.seconds = session.seconds();
  figures.of_seconds = of_seconds_;
  figures.samples = quality.samples;
  figures.lost = quality.lost_ring_full + quality.lost_stack + quality.lost_disk;
  for (const std::int32_t pid : pids_) figures.target_bytes += resident_bytes(pid);
  if (const auto command = session.command_pid()) figures.target_bytes += resident_bytes(*command);
  const std::uint64_t now = monotonic_ns(), cpu = own_cpu_ns();
  if (before_ns_ != 0 && now > before_ns_)
    figures.own_cpu = static_cast<double>(cpu - cpu_before_ns_) / static_cast<double>(now - before_ns_);
  const std::optional<double> target_s = session.cpu_seconds();
  if (target_s && target_before_s_ && now > before_ns_)
    figures.target_cpus =
        std::max(0.0, *target_s - *target_before_s_) / (static_cast<double>(now - before_ns_) * 1e-9);
  target_before_s_ = target_s;
  before_ns_ = now;
  cpu_before_ns_ = cpu;
  figures.own_bytes = resident_bytes(::getpid());
  figures.file_bytes = session.bytes_written();
  return figures;
}

void Progress::tell_phase(const session::Session& session, int signal) {
  if (session.phase() == told_) return;
  told_ = session.phase();
  if (quiet_ || !somebody_looks()) return;
  clear();
  if (told_ == session::Phase::kTargetAsked)
    notice_now(fmt::format(
        "fathom: the command got {}, and is recorded until it ends; once more ends the recording now\n",
        signal == 0 ? "SIGTERM" : fmt::format("SIG{}", ::sigabbrev_np(signal))));
  if (told_ == session::Phase::kWaiting)
    notice_now(
        fmt::format("fathom: waiting for the command (pid {}) to end, for {} s at most; Ctrl-C leaves it\n",
                    session.command_pid().value_or(0), session::kPatienceNs / kSecondNs));
}

void Progress::clear() {
  if (shown_) notice_now("\r\033[K");
}

}  // namespace fathom::cli

// fathom top: what running processes do now, a table each second. It records as `fathom record` does, so that what was seen can be
// kept: the key s keeps the recording, which is removed otherwise.
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "attach/inject/tracer/detach_guardian.h"
#include "base/clock.h"
#include "base/shell_word.h"
#include "cli/command.h"
#include "cli/notices.h"
#include "cli/option_groups.h"
#include "cli/output.h"
#include "cli/record_arguments.h"
#include "cli/record_option_list.h"
#include "cli/seconds_word.h"
#include "cli/stale_tracers.h"
#include "cli/stop_requests.h"
#include "cli/top_companion.h"
#include "cli/top_screen.h"
#include "linux/process/group.h"
#include "model/store/default_path.h"
#include "record/session/session.h"

namespace fathom::cli {
namespace {

struct TopArguments {
  RecordArguments record;
  std::string metric = "cpu";
  double interval_s = 1;
  std::size_t rows = 10;
};

// Keys come one by one and are not shown, and the screen is another one, until the object goes away. Signals that end us are
// requests by then (StopRequests).
class TopTerminal {
 public:
  TopTerminal() {
    if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1 ||
        ::tcgetattr(STDIN_FILENO, &before_) != 0)
      return;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
    raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    active_ = ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) == 0;
    if (active_) put("\x1b[?1049h\x1b[?25l\x1b[2J");
  }
  ~TopTerminal() {
    if (!active_) return;
    put("\x1b[0m\x1b[?25h\x1b[?1049l");
    (void)::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }
  TopTerminal(const TopTerminal&) = delete;
  TopTerminal& operator=(const TopTerminal&) = delete;
  bool active() const { return active_; }

  void draw(const TopScreen& screen) const {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
      size = {.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    put(tui::drawn(screen.styled(size.ws_col, size.ws_row), output_has_color()));
  }
  // True: a key changed something.
  bool read_keys(TopScreen& screen) const {
    std::array<char, 64> keys;
    bool changed = false;
    const ssize_t count = ::read(STDIN_FILENO, keys.data(), keys.size());
    for (ssize_t i = 0; i < count; ++i) changed = screen.key(keys[static_cast<std::size_t>(i)]) || changed;
    return changed;
  }

 private:
  static void put(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
      if (written <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  termios before_{};
  bool active_ = false;
};

// Shows tables until the target ends, the user ends it or the time is over.
Result<session::RecordOutcome> show_top(const TopArguments& arguments, session::RecordOptions options,
                                        TopScreen& screen) {
  TopCompanion companion(screen, arguments.interval_s);
  StopRequests stops(false);
  options.companions.push_back(&companion);
  options.free_tables = false;
  session::Session session(std::move(options));
  const auto& group = arguments.record.group;
  if (group) session.follow([&group] { return process::members_of(*group); });
  if (auto started = session.start(); !started) return tl::unexpected<Error>(started.error());
  const TopTerminal terminal;
  for (session.step(); !session.ended(); session.step()) {
    const bool fresh = companion.take_fresh();
    if (fresh && !terminal.active()) {
      const std::string text = screen.plain(arguments.rows);
      if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        session.request_stop({.pass_on = 0, .at_once = true});  // the reader has gone
    }
    if (terminal.active() && (terminal.read_keys(screen) || fresh)) terminal.draw(screen);
    if (screen.wants_end()) session.request_stop({.pass_on = 0, .at_once = true});
    pollfd ready[] = {{session.poll_fd(), POLLIN, 0},
                      {stops.fd(), POLLIN, 0},
                      {terminal.active() ? STDIN_FILENO : -1, POLLIN, 0}};
    (void)::poll(ready, 3, session.wait_ms());
    while (const auto received = stops.take(session.command_pid())) session.request_stop(received->request);
  }
  return session.outcome();
}

Result<int> run_top(TopArguments& arguments) {
  RecordArguments& record = arguments.record;
  session::RecordOptions& options = record.options;
  record.quiet = true;
  if (auto settled = settle(record); !settled) return tl::unexpected<Error>(settled.error());
  const bool keep = !options.output.empty();
  options.overwrite = keep;
  if (!keep) options.output = store::default_path(options.target, wall_clock_ns());
  options.name_reader = "/proc/self/exe";  // main() knows what it is then
  options.give_up_privileges = true;
  if (arguments.metric == "allocations" && options.heap == session::Heap::kNone)
    return fail(ErrorKind::kUsage, "--metric allocations needs --heap", "fathom top --heap -p PID");
  repair_stale_tracers(options.pids);
  // Before any thread is started: from then on our death, however it comes, takes the tracer out.
  std::optional<inject::DetachGuardian> guardian;
  if (options.heap != session::Heap::kNone) {
    auto started = inject::DetachGuardian::start();
    if (!started) return tl::unexpected<Error>(started.error());
    options.guardian = &guardian.emplace(std::move(*started));
  }
  TopScreen screen(arguments.metric == "cpu"     ? TopMetric::kCpu
                   : arguments.metric == "waits" ? TopMetric::kWaits
                                                 : TopMetric::kAllocations);
  const auto outcome = show_top(arguments, options, screen);
  if (!outcome) return tl::unexpected<Error>(outcome.error());
  if (keep || screen.wants_save()) {
    say("fathom: saved in {}\nnext: fathom report {}\n", outcome->path, shell_word(outcome->path));
    return kDone;
  }
  std::error_code ignored;
  const std::filesystem::path file(outcome->path), folder = file.parent_path();
  // The folders too, if nothing else is in them.
  for (const std::filesystem::path& each : {file, folder, folder.parent_path()})
    std::filesystem::remove(each, ignored);
  return kDone;
}

}  // namespace

Run add_top(CLI::App& app) {
  auto arguments = std::make_shared<TopArguments>();
  add_top_options(app, arguments->record);
  begin_group(app, kOutputGroup);
  app.add_option("--metric", arguments->metric,
                 "cpu, waits or allocations; the key m changes it (default: cpu)")
      ->check(CLI::IsMember({"cpu", "waits", "allocations"}));
  app.add_option("-i,--interval", arguments->interval_s, "time between two tables (default: 1 s)")
      ->transform(seconds_word())
      ->check(CLI::Range(0.1, 3600.0))
      ->type_name("TIME");
  app.add_option("--rows", arguments->rows, "functions per printed table (default: 10)")
      ->check(CLI::Range(1, 200))
      ->type_name("N");
  app.footer(
      "Keys: m metric, o order by self or total, f filter, x no filter, space freeze, s save as a recording, q quit. If the output is not a terminal, fathom prints one table per interval.");
  return [arguments] { return run_top(*arguments); };
}

}  // namespace fathom::cli

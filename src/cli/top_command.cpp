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
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/core/call_tree.h"
#include "analysis/core/functions.h"
#include "base/clock.h"
#include "base/shell_word.h"
#include "cli/command.h"
#include "cli/notices.h"
#include "cli/option_groups.h"
#include "cli/record_arguments.h"
#include "cli/record_option_list.h"
#include "cli/seconds_word.h"
#include "cli/stop_requests.h"
#include "cli/top_screen.h"
#include "linux/process/group.h"
#include "model/store/default_path.h"
#include "record/session/companion.h"
#include "record/session/session.h"

namespace fathom::cli {
namespace {

constexpr std::size_t kMostTopRows = 200;

struct TopArguments {
  RecordArguments record;
  std::string metric = "cpu";
  double interval_s = 1;
  std::size_t rows = 10;
};

// Looks at the rows of each interval before they go into the file.
class TopCompanion final : public session::Companion {
 public:
  TopCompanion(TopScreen& screen, double interval_s)
      : screen_(screen), interval_ns_(static_cast<std::uint64_t>(interval_s * 1e9)) {}

  void step(const Lent& lent, std::uint64_t now_ns) override {
    if (began_ns_ == 0) began_ns_ = from_ns_ = now_ns;
    if (now_ns < from_ns_ + interval_ns_) return;
    lent.readings.take_names();
    (void)lent.readings.names_are_known();  // somebody looks on: finding names is not left to idle CPUs
    collect(lent.profile, lent.readings.open_waits(now_ns));
    screen_.take(table(lent.profile, now_ns));
    from_ns_ = now_ns;
    cpu_.clear();
    waits_.clear();
    cpu_ns_ = waited_ns_ = 0;
    fresh_ = true;
  }

  // Rows leave the profile once a second, whatever the interval is.
  Save before_save(const Lent& lent, bool /*last*/) override {
    collect(lent.profile, {});
    samples_seen_ = waits_seen_ = 0;
    return Save::kAppend;
  }

  bool take_fresh() { return std::exchange(fresh_, false); }

 private:
  struct Sums {
    double self = 0, total = 0;
  };
  using Book = std::map<std::pair<std::string, std::string>, Sums>;  // by function and module

  // The part of a wait that lies in this interval: it may have begun long before.
  void cut_to_interval(model::Wait& wait) const {
    const std::uint64_t before = from_ns_ > wait.start_ns ? from_ns_ - wait.start_ns : 0;
    const std::uint64_t waited = std::min(before, wait.waited_ns);
    wait.waited_ns -= waited;
    wait.queued_ns -= std::min(before - waited, wait.queued_ns);
    wait.start_ns += before;
  }

  // Adds the rows that came since the last call; the profile still has those before them. `open`: waits in progress, up to now.
  void collect(model::Profile& profile, const std::vector<model::Wait>& open) {
    std::vector<model::Sample> samples(profile.samples.begin() + static_cast<std::ptrdiff_t>(samples_seen_),
                                       profile.samples.end());
    std::vector<model::Wait> waits(profile.waits.begin() + static_cast<std::ptrdiff_t>(waits_seen_),
                                   profile.waits.end());
    samples_seen_ = profile.samples.size();
    waits_seen_ = profile.waits.size();
    waits.insert(waits.end(), open.begin(), open.end());
    for (model::Wait& wait : waits) cut_to_interval(wait);
    std::erase_if(waits, [](const model::Wait& wait) { return wait.waited_ns + wait.queued_ns == 0; });
    samples.swap(profile.samples);
    waits.swap(profile.waits);
    cpu_ns_ += add(profile, model::Metric::kCpu,
                   profile.meta.frequency_hz == 0 ? 0 : 1e9 / profile.meta.frequency_hz, cpu_);
    waited_ns_ += add(profile, model::Metric::kOffCpu, 1, waits_);
    samples.swap(profile.samples);
    waits.swap(profile.waits);
  }

  // Nanoseconds in all.
  static double add(const model::Profile& profile, model::Metric metric, double unit_ns, Book& book) {
    analysis::TreeOptions options;
    options.selection.metric = metric;
    options.thread_roots = false;
    options.drop_idle = true;
    const analysis::CallTree tree = analysis::build_call_tree(profile, options);
    for (const analysis::FunctionRow& row : analysis::function_table(tree, analysis::SortBy::kTotal)) {
      Sums& sums = book[{tree.names[row.name], tree.modules[row.module].name}];
      sums.self += unit_ns * static_cast<double>(row.self);
      sums.total += unit_ns * static_cast<double>(row.total);
    }
    return unit_ns * static_cast<double>(tree.total);
  }

  TopTable table(const model::Profile& profile, std::uint64_t now_ns) const {
    const auto length_ns = static_cast<double>(std::max<std::uint64_t>(now_ns - from_ns_, 1));
    TopTable table;
    table.target = profile.meta.target;
    table.at_s = static_cast<double>(now_ns - began_ns_) * 1e-9;
    table.interval_s = length_ns * 1e-9;
    table.cpus = cpu_ns_ / length_ns;
    table.waiting = waited_ns_ / length_ns;
    table.threads = static_cast<std::size_t>(std::ranges::count_if(
        profile.threads, [](const model::Thread& thread) { return thread.end_ns == 0; }));
    const auto rows = [&](const Book& book) {
      std::vector<TopRow> out;
      for (const auto& [of, sums] : book)
        out.push_back({of.first, of.second, sums.self / length_ns, sums.total / length_ns});
      std::ranges::stable_sort(out, std::ranges::greater(), &TopRow::total);
      if (out.size() > kMostTopRows) out.resize(kMostTopRows);
      return out;
    };
    table.cpu = rows(cpu_);
    table.waits = rows(waits_);
    return table;
  }

  TopScreen& screen_;
  std::uint64_t interval_ns_, began_ns_ = 0, from_ns_ = 0;
  std::size_t samples_seen_ = 0, waits_seen_ = 0;
  Book cpu_, waits_;
  double cpu_ns_ = 0, waited_ns_ = 0;
  bool fresh_ = false;
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
    std::string out = "\x1b[H";
    const auto lines = screen.lines(size.ws_col, size.ws_row);
    for (std::size_t i = 0; i < lines.size(); ++i)
      out += (i == 0                  ? "\x1b[1m"
              : i + 1 == lines.size() ? "\r\n\x1b[7m"
                                      : "\r\n") +
             lines[i] + "\x1b[0m\x1b[K";
    put(out);
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
  if (!options.command.empty())
    return fail(ErrorKind::kUsage, "fathom top shows processes that run already", "fathom top -p PID");
  if (auto settled = settle(record); !settled) return tl::unexpected<Error>(settled.error());
  const bool keep = !options.output.empty();
  options.overwrite = keep;
  if (!keep) options.output = store::default_path(options.target, wall_clock_ns());
  options.name_reader = "/proc/self/exe";  // main() knows what it is then
  options.give_up_privileges = true;
  TopScreen screen(arguments.metric == "cpu" ? TopMetric::kCpu : TopMetric::kWaits);
  const auto outcome = show_top(arguments, options, screen);
  if (!outcome) return tl::unexpected<Error>(outcome.error());
  if (keep || screen.wants_save()) {
    say("fathom: saved in {}\nnext: fathom report {}\n", outcome->path, shell_word(outcome->path));
    return kDone;
  }
  std::error_code ignored;
  std::filesystem::remove(outcome->path, ignored);
  std::filesystem::remove(std::filesystem::path(outcome->path).parent_path(), ignored);  // if it is empty
  return kDone;
}

}  // namespace

Run add_top(CLI::App& app) {
  auto arguments = std::make_shared<TopArguments>();
  add_top_options(app, arguments->record);
  begin_group(app, kOutputGroup);
  app.add_option("--metric", arguments->metric, "cpu or waits; the key m changes it (default: cpu)")
      ->check(CLI::IsMember({"cpu", "waits"}));
  app.add_option("-i,--interval", arguments->interval_s, "time between two tables (default: 1 s)")
      ->transform(seconds_word())
      ->check(CLI::Range(0.1, 3600.0))
      ->type_name("TIME");
  app.add_option("--rows", arguments->rows, "functions per printed table (default: 10)")
      ->check(CLI::Range(1, 200))
      ->type_name("N");
  app.footer(
      "Keys: m metric, o order by self or total, f filter, x no filter, space freeze, s save as a recording, q quit. If the output is no terminal, fathom prints one table per interval.");
  return [arguments] { return run_top(*arguments); };
}

}  // namespace fathom::cli

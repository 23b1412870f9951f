#include "cli/watch_loop.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/live_terminal.h"
#include "cli/notices.h"
#include "cli/output.h"
#include "cli/watch_metrics.h"
#include "linux/metrics/server.h"
#include "linux/process/ending.h"
#include "linux/process/find.h"
#include "linux/process/status.h"
#include "present/keys/key_map.h"
#include "record/session/memory/oom_watch.h"
#include "tools/watch/exposition.h"
#include "tools/watch/history.h"
#include "tools/watch/json.h"
#include "tools/watch/log.h"
#include "tools/watch/text.h"

namespace fathom::cli {
namespace {

std::uint64_t own_process_cpu_ns() {
  return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}
// At most a second old: it is asked for at each look, and costs as much as half of one.
std::uint64_t own_rss() {
  constexpr std::uint64_t kOld = 1'000'000'000;
  static std::uint64_t read_ns = 0, rss = 0;
  const std::uint64_t now = monotonic_ns();
  if (read_ns != 0 && now < read_ns + kOld) return rss;
  read_ns = now;
  const auto status = process::read_status(::getpid());
  return rss = status ? status->rss_anon + status->rss_file + status->rss_shmem : 0;
}

class Watch {
 public:
  Watch(const WatchArguments& arguments, bool screen) : arguments_(arguments), screen_(screen) {}

  Result<> open(const std::vector<std::int32_t>& pids) {
    for (const std::int32_t pid : pids)
      if (auto added = add(pid); !added) return added;
    if (!arguments_.metrics.url.empty()) {
      auto metrics =
          WatchMetrics::start(arguments_.metrics, arguments_.interval_s, arguments_.once, pids.size());
      if (!metrics) return tl::unexpected<Error>(metrics.error());
      metrics_.emplace(std::move(*metrics));
    }
    if (!arguments_.listen.empty())
      if (auto listening = listen(); !listening) return listening;
    if (!arguments_.log.empty()) {
      auto log =
          watch::Log::open(arguments_.log, watch::Log::is_csv(arguments_.log) ? watch::csv_head() : "");
      if (!log) return tl::unexpected<Error>(log.error());
      log_.emplace(std::move(*log));
    }
    if (screen_) terminal_.emplace();
    return {};
  }

  // All of them once. False: there is no reader, or no process is left and none is awaited.
  Result<bool> look() {
    if (server_) follow_names();
    if (arguments_.group) follow_group(*arguments_.group);
    for (auto target = targets_.begin(); target != targets_.end();) {
      auto look = target->watched.look(arguments_.once);
      if (!look && look.error().kind != ErrorKind::kNotFound) return tl::unexpected<Error>(look.error());
      if (!look || target->ending.has_ended()) {
        if (auto told = tell_ending(*target); !told || !*told) return told;
        places_.leave(target->place);
        target = targets_.erase(target);
        continue;
      }
      if (target->history.is_of_an_ending_process(*look)) {
        ++target;
        continue;
      }
      target->oom.look(target->watched.process().pid);  // it may have been moved
      target->history.set_name(target->watched.process().name);
      target->view =
          target->history.add(std::move(*look), own_process_cpu_ns(), own_rss(), target->watched.missing());
      if (metrics_ && target->place.number == 1) metrics_->add_to(*target->view);
      if (auto logged = log_look(*target->view); !logged) return tl::unexpected<Error>(logged.error());
      if (!screen_ && !tui::put_on_output(text_of(*target->view))) return false;
      ++target;
    }
    if (server_) publish();
    return draw() && (!targets_.empty() || waits_for_names());
  }

  // Nothing without a screen. False: the terminal is gone.
  bool draw() {
    if (!terminal_) return true;
    if (!frozen_ && !targets_.empty()) {
      shown_.clear();
      for (const Target& target : targets_)
        if (target.view) shown_.push_back(*target.view);
    }
    const auto [width, height] = terminal_->size();
    const auto key = [](std::string_view name) { return present::key_for(present::Surface::kWatch, name); };
    std::vector<tui::ScreenLine> lines = shown_lines(width, height);
    lines.resize(height - 1);
    lines.push_back(
        {fmt::format("{} order by {}  {} {}  {} quit", key("order"), by_growth_ ? "size" : "growth",
                     key("pause"), frozen_ ? "continue (frozen)" : "freeze", key("quit")),
         tui::Style::kStatus});
    for (tui::ScreenLine& line : lines) line.text = tui::cut(line.text, width);
    return terminal_->draw(lines);
  }

  // Reads the keys that were typed. False: q was one of them, or the terminal is gone.
  bool obey_keys() {
    for (const char key : terminal_->read_keys()) {
      const std::string_view name = present::action_of_byte(present::Surface::kWatch, key);
      if (name == "quit") return false;
      if (name == "pause") frozen_ = !frozen_;
      if (name == "order") by_growth_ = !by_growth_;
    }
    return draw();
  }
  int keys_fd() const { return terminal_ && terminal_->active() ? STDIN_FILENO : -1; }

  // Puts the terminal back and prints what its screen showed last.
  void leave_screen() {
    if (!terminal_) return;
    const auto [width, height] = terminal_->size();
    terminal_.reset();
    const bool color = output_has_color();
    std::string all;
    for (const tui::ScreenLine& line : shown_lines(width, height))
      all += (color ? tui::styled_text(line) : line.text) + "\n";
    (void)tui::put_on_output(all);
  }

 private:
  struct Target {
    watch::Watched watched;
    process::Ending ending;
    watch::History history;
    session::OomWatch oom;
    std::optional<watch::View> view;
    watch::Places::Place place;
  };

  Result<> add(std::int32_t pid) {
    // The name by which it was found need not be the one that it has: that of its file, or a longer one.
    for (const Target& target : targets_)
      if (target.watched.process().pid == pid) return {};
    auto watched = watch::Watched::open(pid);
    if (!watched) return tl::unexpected<Error>(watched.error());
    Target target{std::move(*watched), process::Ending(pid), watch::History(pid, ""), {}, {}, {}};
    const std::string& name = target.watched.process().name;
    target.history = watch::History(pid, name);
    target.oom.look(pid);
    target.place = places_.take(name_served(target.watched.process()));
    targets_.push_back(std::move(target));
    return {};
  }

  // The name that was asked for, where there is one: a program can change its own as often as it likes.
  std::string name_served(const process::ProcessInfo& process) const {
    const auto asked = std::find_if(names_.begin(), names_.end(), [&](const std::string& name) {
      return process::is_named(process, name);
    });
    return asked == names_.end() ? process.name : *asked;
  }

  Result<> listen() {
    auto address = metrics::parse_address(arguments_.listen);
    if (!address) return within("--listen", address.error());
    std::string token;
    if (!arguments_.token_file.empty()) {
      auto read = metrics::read_token(arguments_.token_file);
      if (!read) return within("--listen-token", read.error());
      token = std::move(*read);
    }
    auto server = metrics::Server::open({std::move(*address), std::move(token)});
    if (!server) return within("--listen", server.error());
    server_ = std::move(*server);
    const metrics::Address& at = server_->address();
    notice_now(fmt::format("fathom: metrics are at {}{}{}\n", at.is_unix() ? "" : "http://", at.to_string(),
                           at.is_unix() ? ", path /metrics" : "/metrics"));
    if (targets_.empty()) notice_now("fathom: no process has that name yet; it is waited for\n");
    return {};
  }

  // A server of a node's metrics continues after a restart. Only names can be followed: the number of an
  // ended process may be reused.
  bool waits_for_names() const { return server_ && !names_.empty(); }
  void follow_names() {
    for (const std::string& name : names_) {
      const auto alive =
          static_cast<std::size_t>(std::count_if(targets_.begin(), targets_.end(), [&](const Target& target) {
            return process::is_named(target.watched.process(), name);
          }));
      Followed& followed = followed_[name];
      followed.most = std::max(followed.most, alive);
      // Looking through all processes costs some milliseconds: soon while one is missing, and now and then for one more.
      constexpr std::uint64_t kMissingNs = 2'000'000'000, kMoreNs = 10'000'000'000;
      const std::uint64_t now = monotonic_ns();
      if (alive != 0 && now < followed.looked_ns + (alive < followed.most ? kMissingNs : kMoreNs)) continue;
      followed.looked_ns = now;
      const auto found = process::find_by_name(name);
      if (!found) continue;
      for (const process::ProcessInfo& process : *found) (void)add(process.pid);  // or it has ended already
    }
  }

  // Processes that the group got since.
  void follow_group(const process::Group& group) {
    constexpr std::uint64_t kEveryNs = 2'000'000'000;
    const std::uint64_t now = monotonic_ns();
    if (now < group_looked_ns_ + kEveryNs) return;
    group_looked_ns_ = now;
    for (const int pid : process::members_of(group)) (void)add(pid);  // or it has ended already
  }

  void publish() {
    std::vector<watch::ServedView> views;
    for (const Target& target : targets_)
      if (target.view) views.push_back({target.place, &*target.view});
    server_->publish(watch::make_families(
        views, places_, {own_process_cpu_ns(), own_rss(), server_->served(), server_->refused()}));
  }

  std::string text_of(const watch::View& view) const {
    if (arguments_.json) return watch::look_json(view) + "\n";
    if (!arguments_.once) return watch::line_text(view) + "\n";
    return watch::screen_text(
        view, {.width = output_is_narrow() ? output_width() : 0, .color = output_has_color()});
  }

  Result<> log_look(const watch::View& view) {
    if (!log_) return {};
    return log_->add(watch::Log::is_csv(arguments_.log) ? watch::csv_row(view) : watch::look_json(view));
  }

  static std::string words_of(const session::OomWatch::Group& kill) {
    using Cause = session::OomWatch::Group::Cause;
    std::string words =
        fmt::format(", and the kernel killed for lack of memory in control group {}", kill.cgroup);
    if (kill.cause == Cause::kLimit)
      words += kill.limited == kill.cgroup ? ": its limit was met"
                                           : fmt::format(": the limit of {} was met", kill.limited);
    if (kill.cause == Cause::kMachine) words += ": no limit of a group was met, the machine was full";
    return words;
  }

  Result<bool> tell_ending(Target& target) {
    // Checked once: a moment later it may be unknown.
    const auto status = target.ending.status();
    std::string how = process::ending_in_words(status);
    const process::ProcessInfo& process = target.watched.process();
    target.oom.refresh();
    const auto group = target.oom.group_of(process.pid);
    if (const auto kill = target.oom.kill())
      how += words_of(*kill);
    else if (group && group->gone && (!status || (WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL)))
      how += fmt::format(
          "; whether memory was the reason is not known: control group {} was gone before its kills were counted",
          group->cgroup);
    const std::uint64_t rss = target.history.last_rss();
    const std::string json = watch::ending_json(process.pid, process.name, how, rss, wall_clock_ns());
    const std::string text = watch::ending_text(process.pid, process.name, how, rss);
    ended_.push_back(text);
    if (log_ && !watch::Log::is_csv(arguments_.log))
      if (auto logged = log_->add(json); !logged) return tl::unexpected<Error>(logged.error());
    if (screen_) return true;  // leave_screen() prints it
    return tui::put_on_output((arguments_.json ? json : text) + "\n");
  }

  std::vector<tui::ScreenLine> shown_lines(std::size_t width, std::size_t height) const {
    const std::size_t each = (height - 1) / std::max<std::size_t>(shown_.size(), 1);  // without the keys
    std::vector<tui::ScreenLine> lines;
    for (const watch::View& view : shown_)
      for (tui::ScreenLine& line : watch::screen_lines(view, {.width = width,
                                                             .height = std::max<std::size_t>(each, 8),
                                                             .color = false,
                                                             .by_growth = by_growth_}))
        lines.push_back(std::move(line));
    for (const std::string& ended : ended_) lines.push_back({ended});
    return lines;
  }

  const WatchArguments& arguments_;
  const bool screen_;
  std::optional<LiveTerminal> terminal_;  // with screen_: from open() to leave_screen()
  std::vector<watch::View> shown_;        // the readings on the screen
  bool frozen_ = false, by_growth_ = false;
  std::vector<Target> targets_;
  std::vector<std::string> ended_;
  std::optional<watch::Log> log_;
  const std::vector<std::string> names_ = watched_names(arguments_);
  watch::Places places_;
  std::unique_ptr<metrics::Server> server_;
  std::optional<WatchMetrics> metrics_;
  struct Followed {
    std::size_t most = 0;  // at once, so far
    std::uint64_t looked_ns = 0;
  };
  std::map<std::string, Followed> followed_;
  std::uint64_t group_looked_ns_ = 0;
};

Result<int> look_until_end(Watch& watch, const WatchArguments& arguments, WatchSignals& signals) {
  const auto interval_ns = static_cast<std::uint64_t>(std::llround(arguments.interval_s * 1e9));
  for (std::uint64_t next = monotonic_ns();;) {
    const auto goes_on = watch.look();
    if (!goes_on) return tl::unexpected<Error>(goes_on.error());
    if (!*goes_on || arguments.once) return kDone;
    next = std::max(next + interval_ns, monotonic_ns());  // a look that took longer is not caught up with
    for (;;) {
      const WatchSignals::Wake wake = signals.wait_until(next, watch.keys_fd());
      if (wake == WatchSignals::Wake::kEnd) return kDone;
      if (wake == WatchSignals::Wake::kTime) break;
      if (wake == WatchSignals::Wake::kResize && !watch.draw()) return kDone;
      if (wake == WatchSignals::Wake::kKeys && !watch.obey_keys()) return kDone;
    }
  }
}

}  // namespace

Result<int> watch_until_end(const WatchArguments& arguments, const std::vector<std::int32_t>& pids,
                            WatchSignals& signals) {
  Watch watch(arguments, LiveTerminal::is_there() && !arguments.json && !arguments.once);
  if (auto opened = watch.open(pids); !opened) return tl::unexpected<Error>(opened.error());
  const auto status = look_until_end(watch, arguments, signals);
  watch.leave_screen();
  return status;
}

}  // namespace fathom::cli

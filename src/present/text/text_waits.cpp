#include "present/text/text_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "analysis/core/prose_name.h"
#include "analysis/core/rounding.h"
#include "analysis/core/words.h"
#include "analysis/waits/other_locks.h"
#include "present/sentences/wait_sentences.h"
#include "present/text/heading.h"
#include "present/text/rows_shown.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using analysis::percent_number;
using analysis::printable;
using analysis::with_commas;

std::string time_of(double ns) {
  return analysis::seconds(ns * 1e-9);
}
std::string time_of(std::uint64_t ns) {
  return time_of(static_cast<double>(ns));
}
std::string total_of(const analysis::WaitSum& sum) {
  std::string text = time_of(static_cast<double>(sum.total_ns()));
  if (sum.error_ns() > 0.005 * static_cast<double>(sum.total_ns())) text += " ±" + time_of(sum.error_ns());
  return text;
}
std::string count_of(const analysis::WaitSum& sum) {
  return analysis::count_with_error(sum.waits(), sum.waits_error());
}

class WaitText {
 public:
  WaitText(const analysis::WaitReport& waits, const TextOptions& options)
      : waits_(waits), options_(options) {}

  std::string causes() {
    const double all =
        static_cast<double>(waits_.waited.total_ns()) + static_cast<double>(waits_.queued.total_ns());
    if (all <= 0) return "";
    heading(fmt::format("Waiting by cause (% of {})", time_of(all)));
    TextTable table({{"%", Align::kRight},
                     {"time", Align::kRight},
                     {"waits", Align::kRight},
                     {"p50", Align::kRight},
                     {"p99", Align::kRight},
                     {"max", Align::kRight},
                     {"cause", Align::kLeft, true}});
    for (const analysis::CauseRow& row : waits_.causes) {
      if (row.waits.sum().walked() == 0) continue;
      table.add(with_spread(row.waits, static_cast<double>(row.waits.sum().total_ns()) / all,
                            std::string(analysis::describe(row.cause))));
    }
    for (const analysis::IdleRow& row : waits_.idle) {
      table.add(
          {percent_number(static_cast<double>(row.sum.total_ns()) / all), total_of(row.sum),
           count_of(row.sum), "", "", time_of(row.sum.max_ns()),
           fmt::format("(idle: {}, {})", printable(row.name), analysis::counted(row.threads, "thread"))},
          true);
    }
    write(table);
    return std::move(out_);
  }

  std::string who_waits() {
    if (!waits_.blocked.empty()) {
      heading("What each thread waits for" + rows_of_all(waits_.blocked.size(), options_) +
              " (% of the wall time of these threads)");
      TextTable table({{"%", Align::kRight},
                       {"time", Align::kRight},
                       {"waits", Align::kRight},
                       {"max", Align::kRight},
                       {"thread"},
                       {"cause"},
                       {"what", Align::kLeft, true}});
      for (std::size_t i = 0; i < rows_shown(waits_.blocked.size(), options_); ++i) {
        const analysis::BlockedRow& row = waits_.blocked[i];
        table.add({percent_number(row.share), total_of(row.sum), count_of(row.sum), time_of(row.sum.max_ns()),
                   printable(row.thread), std::string(analysis::describe(row.cause)),
                   row.released ? "woken by " + analysis::prose_name(row.what) : printable(row.what)});
      }
      write(table);
    }
    reasons();
    tasks();
    threads();
    chains();
    return std::move(out_);
  }

  std::string locks() {
    if (waits_.locks.by_site.empty()) {
      heading(analysis::other_locks(waits_).empty()
                  ? "Locks: no thread waited for one, except idle threads"
                  : "Futexes: no thread waited on one, except idle threads");
      other_locks();
      return std::move(out_);
    }
    // What was waited for longer comes first.
    const auto others = analysis::other_locks(waits_);
    const bool others_first = !others.empty() && others.front().row->sum.total_ns() >
                                                     waits_.locks.by_site.front().waits.sum().total_ns();
    if (others_first) other_locks();
    contention("Futexes by waiting function", waits_.locks.by_site, false);
    contention("Locks and other futexes", waits_.locks.by_object, true);
    if (std::ranges::any_of(waits_.locks.by_object, [](const auto& row) { return row.address == 0; }))
      out_ += fill(
          "  ",
          "Rows \"parked\": these threads waited on their own parking futex (parking_lot, std::thread::park, PostgreSQL). Which lock they waited for is unknown, so several locks of one function share a row.",
          options_.width, 2);
    histogram(waits_.locks.by_site.front().waits, printable(waits_.locks.by_site.front().name));
    double parked = 0;
    for (const analysis::CauseRow& row : waits_.causes) {
      if (row.cause == analysis::Cause::kFutex) parked = static_cast<double>(row.idle.total_ns());
    }
    if (parked > 0)
      out_ += fill("  ", fmt::format("Idle threads waited on futexes for another {}.", time_of(parked)),
                   options_.width, 2);
    if (!others_first) other_locks();
    return std::move(out_);
  }

  std::string files() {
    if (waits_.files.empty()) {
      heading("Files: no thread waited for one");
      return std::move(out_);
    }
    heading("Files and peers" + rows_of_all(waits_.files.size(), options_));
    out_ += fill(
        "  ",
        "This counts only calls that waited, with the bytes they requested and moved. The position in a file is known only for page faults.",
        options_.width, 2);
    // What no row has takes no room from the names.
    const auto shown_rows = std::span(waits_.files).first(rows_shown(waits_.files.size(), options_));
    const auto any = [&](auto has) { return std::ranges::any_of(shown_rows, has); };
    const bool asked = any([](const analysis::FileRow& row) { return row.bytes_asked > 0; });
    const bool has_moved = any([](const analysis::FileRow& row) { return row.returned.bytes > 0; });
    const bool failed = any([](const analysis::FileRow& row) { return row.returned.failed > 0; });
    const bool major = any([](const analysis::FileRow& row) { return row.faults.major > 0; });
    const bool minor = any([](const analysis::FileRow& row) { return row.faults.minor > 0; });
    std::vector<TextTable::Column> columns = {{"time", Align::kRight},
                                              {"waits", Align::kRight},
                                              {"p50", Align::kRight},
                                              {"p99", Align::kRight},
                                              {"max", Align::kRight}};
    if (asked) columns.push_back({"asked for", Align::kRight});
    if (has_moved) columns.push_back({"moved", Align::kRight});
    if (failed) columns.push_back({"failed", Align::kRight});
    if (major) columns.push_back({"major", Align::kRight});
    if (minor) columns.push_back({"minor", Align::kRight});
    columns.push_back({"for"});
    columns.push_back({"file", Align::kLeft, true});
    TextTable table(columns);
    for (const analysis::FileRow& row : shown_rows) {
      std::vector<std::string> cells = {
          total_of(row.waits.sum()), count_of(row.waits.sum()), time_of(row.waits.quantile_ns(0.5)),
          time_of(row.waits.quantile_ns(0.99)), time_of(row.waits.sum().max_ns())};
      if (asked) cells.push_back(row.bytes_asked > 0 ? analysis::bytes(row.bytes_asked) : "");
      if (has_moved) cells.push_back(row.returned.bytes > 0 ? analysis::bytes(row.returned.bytes) : "");
      if (failed)
        cells.push_back(row.returned.failed > 0 ? with_commas(static_cast<std::int64_t>(row.returned.failed))
                                                : "");
      if (major) cells.push_back(faults_of(row.faults.major, 0, ""));
      if (minor) cells.push_back(faults_of(row.faults.minor, row.faults.minor_error(), "~"));
      cells.push_back(std::string(analysis::describe(row.cause)));
      cells.push_back(printable(row.name));
      table.add(std::move(cells));
    }
    write(table);
    constexpr std::size_t kMostFiles = 3, kMostStacks = 3;
    for (std::size_t i = 0; i < std::min(waits_.files.size(), kMostFiles); ++i) {
      const analysis::FileRow& row = waits_.files[i];
      out_ += fill("  ", fmt::format("{} ({}) from:", printable(row.name), analysis::describe(row.cause)),
                   options_.width, 4);
      for (std::size_t s = 0; s < std::min(row.stacks.size(), kMostStacks); ++s) {
        const analysis::FileRow::StackRow& stack = row.stacks[s];
        const std::string moved =
            stack.returned.bytes > 0 ? ", " + analysis::bytes(stack.returned.bytes) : std::string();
        std::string faults = faults_of(stack.faults.major, 0, ", ", " major faults");
        faults += faults_of(stack.faults.minor, stack.faults.minor_error(), ", ~", " minor faults");
        const std::string reason = stack.reason.empty() ? "" : "for " + printable(stack.reason) + ": ";
        out_ += fill("    ", total_of(stack.sum) + moved + faults + "  " + reason + printable(stack.path),
                     options_.width, 6);
      }
      if (!row.ranges.empty()) out_ += fill("    ", ranges_of(row), options_.width, 6);
    }
    histogram(waits_.files.front().waits, printable(waits_.files.front().name));
    return std::move(out_);
  }

 private:
  // "pages missed at 1.2 GiB to 1.3 GiB (61 %), 0 bytes to 16.0 KiB (20 %), and in 12 more ranges"
  static std::string ranges_of(const analysis::FileRow& row) {
    constexpr std::size_t kMost = 3;
    double all = 0;
    for (const analysis::FileRange& range : row.ranges) all += range.faults;
    std::string text = "page faults at ";
    for (std::size_t i = 0; i < std::min(row.ranges.size(), kMost); ++i) {
      const analysis::FileRange& range = row.ranges[i];
      text += fmt::format("{}{} to {} ({:.0f} %)", i == 0 ? "" : ", ",
                          analysis::bytes(static_cast<double>(range.from)),
                          analysis::bytes(static_cast<double>(range.to)), 100 * range.faults / all);
    }
    if (row.ranges.size() > kMost)
      text += ", and in " + analysis::counted(row.ranges.size() - kMost, "more range", "more ranges");
    return text;
  }
  // Nothing for none.
  static std::string faults_of(double count, double error, const std::string& before,
                               const std::string& after = "") {
    return count > 0 ? before + analysis::count_with_error(count, error) + after : "";
  }
  void heading(const std::string& text) { out_ += present::heading(text, options_); }
  void write(const TextTable& table) { out_ += table.text(table_width(options_), options_.color); }

  static std::vector<std::string> with_spread(const analysis::Distribution& waits, double share,
                                              std::string name) {
    return {percent_number(share),
            total_of(waits.sum()),
            count_of(waits.sum()),
            time_of(waits.quantile_ns(0.5)),
            time_of(waits.quantile_ns(0.99)),
            time_of(waits.sum().max_ns()),
            std::move(name)};
  }

  void reasons() {
    if (waits_.reasons.empty()) return;
    heading("Recognised waits" + rows_of_all(waits_.reasons.size(), options_));
    TextTable table({{"time", Align::kRight},
                     {"waits", Align::kRight},
                     {"max", Align::kRight},
                     {"threads", Align::kRight},
                     {"for"},
                     {"in", Align::kLeft, true},
                     {"as written in", Align::kLeft, true}});
    for (std::size_t i = 0; i < rows_shown(waits_.reasons.size(), options_); ++i) {
      const analysis::ReasonRow& row = waits_.reasons[i];
      const std::string evidence = printable(row.evidence);
      table.add({total_of(row.sum), count_of(row.sum), time_of(row.sum.max_ns()), std::to_string(row.threads),
                 printable(row.reason), printable(row.site), evidence});
    }
    write(table);
  }

  void tasks() {
    if (waits_.tasks.empty()) return;
    heading("Async tasks that worker threads polled" + rows_of_all(waits_.tasks.size(), options_));
    TextTable table({{"ran", Align::kRight},
                     {"blocked", Align::kRight},
                     {"waits", Align::kRight},
                     {"longest wait", Align::kRight},
                     {"held a worker", Align::kRight},
                     {"task", Align::kLeft, true},
                     {"blocked in", Align::kLeft, true}});
    for (std::size_t i = 0; i < rows_shown(waits_.tasks.size(), options_); ++i) {
      const analysis::AsyncTaskRow& row = waits_.tasks[i];
      const bool blocked = row.blocked.walked() != 0;
      table.add({time_of(row.ran_ns), blocked ? total_of(row.blocked) : "",
                 blocked ? count_of(row.blocked) : "", blocked ? time_of(row.blocked.max_ns()) : "",
                 "≤ " + time_of(row.longest_ns), analysis::prose_name(row.task),
                 blocked ? analysis::prose_name(row.site) : ""});
    }
    write(table);
    out_ += fill(
        "  ",
        "A wait is inside of one poll. Polls of one task that follow each other directly count as one in \"held a worker\", so that is an upper bound. Tasks that were ready and not polled are not seen.",
        options_.width, 2);
  }

  void threads() {
    if (waits_.threads.empty()) return;
    heading("Where threads spend their time" + rows_of_all(waits_.threads.size(), options_));
    TextTable table({{"wall", Align::kRight},
                     {"ran %", Align::kRight},
                     {"waited %", Align::kRight},
                     {"idle %", Align::kRight},
                     {waits_.throttled_ns > 0 ? "no CPU %" : "run queue %", Align::kRight},
                     {"threads", Align::kRight},
                     {"name", Align::kLeft, true}});
    for (std::size_t i = 0; i < rows_shown(waits_.threads.size(), options_); ++i) {
      const analysis::WaitThreadRow& row = waits_.threads[i];
      const double wall = row.wall_ns();
      table.add({time_of(wall) + (row.exact ? "" : " ~"), percent_number(row.ran_ns / wall),
                 percent_number((row.waited_ns - row.idle_ns) / wall), percent_number(row.idle_ns / wall),
                 percent_number(row.queued_ns / wall), std::to_string(row.threads), printable(row.name)});
    }
    write(table);
  }

  void chains() {
    if (waits_.chains.empty()) return;
    heading("Chains of waits: who waits for whom");
    constexpr std::size_t kMost = 5;
    for (std::size_t i = 0; i < std::min(waits_.chains.size(), kMost); ++i) {
      const analysis::ChainRow& chain = waits_.chains[i];
      out_ += fill("  ",
                   fmt::format("{} in {}: {}", total_of(chain.sum),
                               analysis::counted(chain.sum.walked(), "wait"), in_words(chain)),
                   options_.width, 4);
    }
  }

  void contention(const std::string& title, const std::vector<analysis::ContentionRow>& rows, bool objects) {
    if (rows.empty()) return;
    // If all locks belong to one process, it is printed once.
    std::string of_process;
    for (const analysis::ContentionRow& row : rows)
      if (const std::string own = fmt::format(" of pid {}", row.pid);
          row.address != 0 && row.name.ends_with(own)) {
        if (!of_process.empty() && of_process != own) {
          of_process.clear();
          break;
        }
        of_process = own;
      }
    if (!objects || table_width(options_) == 0) of_process.clear();
    heading(title + of_process + rows_of_all(rows.size(), options_));
    std::vector<TextTable::Column> columns = {{"time", Align::kRight},
                                              {"waits", Align::kRight},
                                              {"mean", Align::kRight},
                                              {"p50", Align::kRight},
                                              {"p99", Align::kRight},
                                              {"max", Align::kRight},
                                              {"kind"}};
    constexpr std::size_t kRoomy = 120;  // columns of a terminal
    const bool roomy = options_.width == 0 || options_.width >= kRoomy;
    constexpr std::ptrdiff_t kBehindMean = 3;
    if (roomy) columns.insert(columns.begin() + kBehindMean, {"min", Align::kRight});
    const bool holds =
        objects && std::any_of(rows.begin(), rows.end(), [](const analysis::ContentionRow& row) {
          return row.holds.sum().walked() != 0;
        });
    if (holds) columns.push_back({"held p50", Align::kRight});
    columns.push_back(
        {objects ? "lock" : "waits in", Align::kLeft, !objects});  // an address that is cut is none
    columns.push_back({objects ? "mostly in" : "mostly woken by", Align::kLeft, true});
    if (objects) columns.push_back({"released by", Align::kLeft, true});
    TextTable table(columns);
    const bool narrow = table_width(options_) != 0 && !roomy;
    const auto lock_of = [&](const analysis::ContentionRow& row) {
      // Where it is waited for stands in a column of its own.
      if (narrow && objects && row.address == 0 && !row.released) return std::string("parked");
      std::string lock = row.released ? "woken by " + analysis::prose_name(row.name) : printable(row.name);
      if (!of_process.empty() && lock.ends_with(of_process)) lock.resize(lock.size() - of_process.size());
      return lock;
    };
    for (std::size_t i = 0; i < rows_shown(rows.size(), options_); ++i) {
      const analysis::ContentionRow& row = rows[i];
      std::vector<std::string> cells = {total_of(row.waits.sum()),
                                        count_of(row.waits.sum()),
                                        time_of(row.waits.sum().mean_ns()),
                                        time_of(row.waits.quantile_ns(0.5)),
                                        time_of(row.waits.quantile_ns(0.99)),
                                        time_of(row.waits.sum().max_ns()),
                                        std::string(analysis::to_string(row.kind))};
      if (roomy) cells.insert(cells.begin() + kBehindMean, time_of(row.waits.quantile_ns(0)));
      if (holds) cells.push_back(row.holds.sum().walked() == 0 ? "" : time_of(row.holds.quantile_ns(0.5)));
      cells.push_back(lock_of(row));
      cells.push_back(party(objects ? row.waiters : row.releasers));
      if (objects) cells.push_back(party(row.releasers));
      table.add(cells);
    }
    write(table);
  }

  void other_locks() {
    const std::vector<analysis::OtherLockRow> rows = analysis::other_locks(waits_);
    if (rows.empty()) return;
    heading("Locks other than futexes" + rows_of_all(rows.size(), options_));
    const bool one_thread = std::ranges::all_of(rows, [&](const analysis::OtherLockRow& each) {
      return each.row->thread == rows.front().row->thread;
    });
    std::vector<TextTable::Column> columns = {{"time", Align::kRight},
                                              {"waits", Align::kRight},
                                              {"mean", Align::kRight},
                                              {"max", Align::kRight},
                                              {"lock"},
                                              {"in", Align::kLeft, true}};
    if (!one_thread) columns.push_back({"thread"});
    TextTable table(columns);
    for (std::size_t i = 0; i < rows_shown(rows.size(), options_); ++i) {
      const analysis::BlockedRow& row = *rows[i].row;
      table.add({total_of(row.sum), count_of(row.sum), time_of(row.sum.mean_ns()), time_of(row.sum.max_ns()),
                 printable(rows[i].lock), printable(rows[i].place), printable(row.thread)});
    }
    write(table);
    out_ += fill("  ", "The kernel does not report who holds this lock.", options_.width, 2);
  }

  static std::string party(const std::vector<analysis::PartyRow>& rows) {
    // The first that is known; one that is not says nothing.
    for (const analysis::PartyRow& row : rows) {
      if (!row.site.empty()) return printable(row.site);
      if (!row.thread.empty()) return "thread " + printable(row.thread);
    }
    return "(unknown)";
  }

  void histogram(const analysis::Distribution& waits, const std::string& of) {
    const std::vector<analysis::Distribution::Bucket> buckets = waits.histogram();
    if (buckets.size() < 2) return;
    double most = 0;
    for (const auto& bucket : buckets) most = std::max(most, bucket.waits);
    out_ += fill("  ", "How long, of " + of + ":", options_.width, 4);
    constexpr double kBar = 40;
    for (const auto& bucket : buckets) {
      const auto length = static_cast<std::size_t>(bucket.waits / most * kBar + 0.5);
      std::string line = fmt::format("  {:>8}  {:<40} {}", time_of(bucket.from_ns), std::string(length, '#'),
                                     analysis::count_with_error(bucket.waits, bucket.error));
      out_ += line + "\n";
    }
  }

  const analysis::WaitReport& waits_;
  const TextOptions& options_;
  std::string out_;
};

}  // namespace

std::string causes_text(const analysis::WaitReport& waits, const TextOptions& options) {
  return WaitText(waits, options).causes();
}
std::string waits_text(const analysis::WaitReport& waits, const TextOptions& options) {
  return WaitText(waits, options).who_waits();
}
std::string locks_text(const analysis::WaitReport& waits, const TextOptions& options) {
  return WaitText(waits, options).locks();
}
std::string files_text(const analysis::WaitReport& waits, const TextOptions& options) {
  return WaitText(waits, options).files();
}

}  // namespace fathom::present

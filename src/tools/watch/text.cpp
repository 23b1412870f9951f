#include "tools/watch/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/core/words.h"
#include "base/stable_sort.h"
#include "present/sentences/component_sentences.h"
#include "present/sentences/limit_sentences.h"
#include "present/sentences/resource_sentences.h"
#include "present/text/text_table.h"

namespace fathom::watch {
namespace {

using analysis::bytes;
using analysis::printable;
using present::Align;
using present::TextTable;

constexpr std::size_t kSparkColumns = 12;
constexpr double kLeastTold = 4096;  // bytes: less is not a page

std::string size_of(std::uint64_t value) {
  return bytes(static_cast<double>(value));
}
std::string signed_bytes(double value) {
  return (value < 0 ? "-" : "+") + bytes(std::fabs(value));
}

std::string clock_text(std::uint64_t wall_ns) {
  const auto at = static_cast<time_t>(wall_ns / 1'000'000'000);
  tm local{};
  ::localtime_r(&at, &local);
  return fmt::format("{:%H:%M:%S}", local);
}

// "+0.9 GiB/h ±0.1", in the best-fitting unit; "level" if nothing is certain.
std::string slope_text(const std::optional<analysis::Slope>& slope) {
  if (!slope) return "";
  if (!slope->grows() && !slope->shrinks()) return "level";
  const double error = (slope->high - slope->low) / 2;
  const auto told = [&](double factor, std::string_view unit) {
    return fmt::format("{}/{} ±{}", signed_bytes(slope->per_second * factor), unit, bytes(error * factor));
  };
  const double size = std::fabs(slope->per_second);
  if (size >= 1 << 20) return told(1, "s");
  if (size * 60 >= 1 << 20) return told(60, "min");
  return told(3600, "h");
}

std::string duration(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 2 * 86400) return fmt::format("{:.1f} h", seconds / 3600);
  return seconds < 3650.0 * 86400 ? fmt::format("{:.0f} days", seconds / 86400) : "years";
}

// "rose by 76 MiB in 2 s; at this rate the limit is reached in 40 s"; "" where nothing rose fast, or the slope says it already.
std::string rise_text(const View& view) {
  if (!view.recent_rise || (view.rss_slope && view.rss_slope->grows())) return "";
  std::string text = fmt::format("rose by {} in {:.0f} s", size_of(view.recent_rise->bytes),
                                 std::max(1.0, view.recent_rise->seconds));
  if (view.recent_rise->left_s)
    text += fmt::format("; at this rate the limit is reached in {}", duration(*view.recent_rise->left_s));
  return text;
}

// The growth as the head of a view has it: the last seconds if they rose fast, else the slope over all looks.
std::string growth_text(const View& view) {
  const std::string rise = rise_text(view);
  return rise.empty() ? slope_text(view.rss_slope) : rise;
}

std::string limit_name(const sources::MemoryLimit& limit) {
  switch (limit.kind) {
    case sources::LimitKind::kControlGroup:
      return "control group " + printable(limit.where);
    case sources::LimitKind::kAddressSpace:
      return "limit of address space";
    case sources::LimitKind::kData:
      return "limit of data";
    case sources::LimitKind::kMachine:
      break;
  }
  return "machine";
}

std::string limit_text(const View& view) {
  if (!view.limit) return "";
  const sources::MemoryLimit& limit = *view.limit;
  std::string text =
      fmt::format("{} {} of {} free", limit_name(limit), size_of(limit.room()), size_of(limit.limit));
  if (view.time_left) {
    text += fmt::format(", full in {}", duration(view.time_left->seconds));
    if (view.time_left->most > 1.05 * view.time_left->seconds)
      text += fmt::format(" ({} to {})", duration(view.time_left->least), duration(view.time_left->most));
  } else if (view.anonymous_slope && !view.recent_rise) {
    text += ", not growing";
  }
  return text;
}

// "file descriptors grow by 50/s to 620; the limit of 1,024 (ulimit -n) is reached in 8 s"
std::string count_growth_text(const CountGrowth& growth) {
  std::string text = fmt::format("{} grow by {} to {}", present::noun_of(growth.resource),
                                 present::rate_of_counts(growth.per_s),
                                 analysis::with_commas(static_cast<std::int64_t>(growth.now)));
  const std::string limit = present::limit_in_words(growth.resource, growth.limit, growth.left_s);
  return limit.empty() ? text : text + "; " + limit;
}

std::string rates_text(const View& view) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " · ") + part; };
  if (view.minor_faults_per_s)
    add(fmt::format("faults {}/s, {} of them from disk",
                    analysis::with_commas(std::llround(*view.minor_faults_per_s + *view.major_faults_per_s)),
                    analysis::with_commas(std::llround(*view.major_faults_per_s))));
  if (view.pressure_some)
    add(fmt::format("pressure {:.1f} %{}", 100 * *view.pressure_some,
                    view.look.pressure_of_group ? " (its group)" : " (machine)"));
  return text;
}

std::string unexplained_text(const Composition& composition) {
  const auto value = static_cast<double>(composition.lines.unexplained_bytes);
  if (composition.way == Way::kStatus) return "";
  if (std::fabs(value) < kLeastTold) return "unexplained 0";
  return fmt::format("unexplained {}{}", signed_bytes(value),
                     composition.moved ? ", moved during the reading" : "");
}

std::string beside_text(const View& view) {
  const Figures& figures = view.look.figures;
  std::string text;
  const auto add = [&](std::uint64_t value, std::string_view words) {
    if (value != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", size_of(value), words);
  };
  add(figures.page_tables, "page tables");
  add(figures.swap, "swapped out");
  add(figures.huge_files, "explicit huge pages");
  if (view.look.composition != nullptr) {
    std::uint64_t huge = 0;
    for (const LineView& line : view.lines) huge += line.line.huge_bytes;
    add(huge, "of RSS on huge pages");
    if (const auto& sharing = view.look.composition->sharing)
      add(sharing->lazy_free, "of RSS already free (MADV_FREE)");
  }
  if (const auto& group = view.look.limits.group) {
    add(group->used, "in its control group");
    add(group->memory.page_cache, "of it page cache");
    add(group->memory.kernel.value_or(0), "of it kernel memory");
  }
  add(figures.virtual_size, "address space");
  return text;
}

std::string sharing_text(const sources::SmapsRollup& sharing) {
  return fmt::format("{} private, {} of it dirty; {} shared with other processes; PSS {}",
                     size_of(sharing.private_clean + sharing.private_dirty), size_of(sharing.private_dirty),
                     size_of(sharing.shared_clean + sharing.shared_dirty), size_of(sharing.proportional));
}

// A line has no room for folders.
std::string short_name(const std::string& name) {
  const std::size_t slash = name.rfind('/'), path = name.find('/');
  if (slash == std::string::npos) return printable(name);
  return printable(name.substr(0, path) + name.substr(slash + 1));
}

// Each line of `text` in one style. Each ends with "\n".
void add_lines(std::vector<tui::ScreenLine>& lines, std::string_view text, tui::Style style) {
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    lines.push_back({std::string(text.substr(0, end)), style});
    text.remove_prefix(end + 1);
  }
}

struct Row {
  std::string size, change, spark, slope, name;
  bool grows = false;  // with certainty
};

Row row_of(const LineView& view) {
  std::string name = view.line.name;
  if (const std::string_view database = sources::database_of(name);
      view.line.kind == "file" && !database.empty())
    name += fmt::format(" ({})", database);
  if (view.line.kind == "thread-stacks") name += fmt::format(" ({})", view.line.ranges);
  return {size_of(view.line.bytes),
          view.change && *view.change != 0 ? signed_bytes(static_cast<double>(*view.change)) : "",
          sparkline(view.values, kSparkColumns),
          slope_text(view.slope),
          printable(name),
          view.slope && view.slope->grows()};
}

// Mapped files with their cached pages; without files that could not be queried.
std::string files_text(const Composition& composition, const TextOptions& options) {
  TextTable table({{"in page cache", Align::kRight},
                   {"resident here", Align::kRight},
                   {"dirty", Align::kRight},
                   {"just evicted", Align::kRight},
                   {"size", Align::kRight},
                   {"mapped file", Align::kLeft, true}});
  for (const sources::CachedFile& file : composition.files) {
    const sources::CacheUse& cache = file.cache;
    const bool known = cache.way != sources::CacheWay::kUnknown,
               all = cache.way == sources::CacheWay::kCachestat;
    const auto some = [](bool told, std::uint64_t value) {
      return !told ? std::string("not known") : value == 0 ? std::string() : size_of(value);
    };
    std::string name = printable(file.path);
    if (!file.database.empty()) name += fmt::format(" ({})", file.database);
    if (file.files > 1) name += fmt::format(", {} files", file.files);
    std::string cached = some(known, cache.cached);
    if (known && !cache.whole) cached += "+";  // not all of it could be asked
    table.add({std::move(cached), some(true, file.resident), some(all, cache.dirty + cache.writeback),
               some(all, cache.recently_evicted), size_of(file.file_bytes), std::move(name)});
  }
  return table.empty() ? "" : table.text(options.width, options.color);
}

double certain_growth(const LineView& line) {
  return line.slope && line.slope->grows() ? line.slope->per_second : 0;
}

// Lines of less than a thousandth of RSS, and those that there is no room for, are one.
std::vector<Row> rows_of(const View& view, std::size_t most, bool by_growth) {
  std::vector<Row> rows;
  const std::uint64_t least = view.look.figures.rss / 1000;
  std::uint64_t rest = 0;
  std::size_t rest_count = 0;
  std::vector<const LineView*> lines;
  for (const LineView& line : view.lines) lines.push_back(&line);
  if (by_growth)
    stable_sort_rows(
        lines, [](const LineView* a, const LineView* b) { return certain_growth(*a) > certain_growth(*b); });
  for (const LineView* line : lines) {
    if (rows.size() + 1 < most && line->line.bytes >= least && line->line.bytes != 0) {
      rows.push_back(row_of(*line));
    } else if (line->line.bytes != 0) {
      rest += line->line.bytes;
      ++rest_count;
    }
  }
  if (rest_count > 0)
    rows.push_back({size_of(rest), "", "", "",
                    fmt::format("in {} {} parts", rest_count, by_growth ? "other" : "smaller"), false});
  return rows;
}

}  // namespace

std::string sparkline(std::span<const double> values, std::size_t columns) {
  static constexpr std::array<std::string_view, 8> kHeights{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (values.size() < 2) return "";
  // The newest value is the last column; of more values than columns each column has the last of its share.
  std::vector<double> shown;
  const std::size_t count = std::min(values.size(), columns);
  for (std::size_t i = 1; i <= count; ++i) shown.push_back(values[values.size() * i / count - 1]);
  const auto [low, high] = std::minmax_element(shown.begin(), shown.end());
  const double base = *low, range = *high - *low;
  std::string out;
  for (const double value : shown) {
    const double height = range > 0 ? (value - base) / range : 0;
    out += kHeights[static_cast<std::size_t>(std::lround(height * 7))];
  }
  return out;
}

std::vector<tui::ScreenLine> screen_lines(const View& view, const TextOptions& options) {
  const Figures& figures = view.look.figures;
  std::string head =
      fmt::format("{} (pid {}) · RSS {}", printable(view.name), view.pid, size_of(figures.rss));
  if (view.rss_change && *view.rss_change != 0)
    head += fmt::format(" {}", signed_bytes(static_cast<double>(*view.rss_change)));
  head += fmt::format(" · peak {}", size_of(figures.rss_peak));
  if (const std::string growth = growth_text(view); !growth.empty()) head += " · " + growth;
  std::vector<tui::ScreenLine> lines;
  add_lines(lines, present::fill("", head, options.width, 2), tui::Style::kTitle);
  std::vector<std::string> below;
  if (const std::string limit = limit_text(view); !limit.empty()) below.push_back(limit);
  for (const CountGrowth& growth : view.growing_counts) below.push_back(count_growth_text(growth));
  for (const model::CountedLimit& near : model::near_limits(view.look.counted))
    below.push_back(fmt::format("{}; {}", present::limit_text(near), present::limit_consequence(near.kind)));
  if (const std::string rates = rates_text(view); !rates.empty()) below.push_back(rates);
  for (const std::string& line : below)
    add_lines(lines, present::fill("  ", line, options.width, 4), tui::Style::kPlain);

  std::string tail;
  if (const auto& composition = view.look.composition) {
    std::string note = unexplained_text(*composition);
    if (view.composition_age_s > 2)
      note += fmt::format("{}read {} ago", note.empty() ? "" : "; ", duration(view.composition_age_s));
    if (!note.empty()) tail += present::fill("  ", note, options.width, 4);
  }
  if (const std::string beside = beside_text(view); !beside.empty())
    tail += present::fill("  also: ", beside, options.width, 13);
  if (view.look.composition && view.look.composition->sharing)
    tail += present::fill("  sharing: ", sharing_text(*view.look.composition->sharing), options.width, 11);
  for (const std::string& what : view.missing) tail += present::fill("  missing: ", what, options.width, 11);
  if (view.metrics) {
    if (!view.metrics->problem.empty())
      tail += present::fill("  metrics: ", printable(view.metrics->problem), options.width, 11);
    for (const std::string& sentence : present::sentences_of(view.metrics->components))
      tail += present::fill("  ", sentence, options.width, 4);
  }
  std::string own =
      fmt::format("fathom: {:.2f} % of a CPU, {}", 100 * view.own_cpu_share, size_of(view.own_rss));
  if (view.look.composition != nullptr && view.look.composition->longest_call_ns != 0)
    own += fmt::format("; the target waited for no reading longer than {}",
                       analysis::seconds(static_cast<double>(view.look.composition->longest_call_ns) * 1e-9));
  const std::string own_text = present::fill("  ", own, options.width, 4);

  std::size_t most = 1000;
  if (options.height != 0) {
    const auto used =
        lines.size() + static_cast<std::size_t>(std::count(tail.begin(), tail.end(), '\n') +
                                                std::count(own_text.begin(), own_text.end(), '\n'));
    most = options.height > used + 3 ? options.height - used - 2 : 2;
  }
  TextTable table({{"resident", Align::kRight},
                   {"change", Align::kRight},
                   {"", Align::kLeft},
                   {"slope", Align::kLeft},
                   {"part", Align::kLeft, true}});
  const std::size_t table_line = lines.size();
  const std::vector<Row> rows = rows_of(view, most, options.by_growth);
  for (const Row& row : rows) table.add({row.size, row.change, row.spark, row.slope, row.name});
  if (!table.empty()) {
    add_lines(lines, table.text(options.width, false), tui::Style::kPlain);
    lines[table_line].style = tui::Style::kHead;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i].grows) lines[table_line + 1 + i].style = tui::Style::kHot;
  }
  if (options.height == 0 && view.look.composition != nullptr)
    add_lines(lines, files_text(*view.look.composition, options), tui::Style::kPlain);
  add_lines(lines, tail, tui::Style::kPlain);
  add_lines(lines, own_text, tui::Style::kFaint);
  return lines;
}

std::string screen_text(const View& view, const TextOptions& options) {
  std::string out;
  for (const tui::ScreenLine& line : screen_lines(view, options))
    out += (options.color ? tui::styled_text(line) : line.text) + "\n";
  return out;
}

std::string line_text(const View& view) {
  const Figures& figures = view.look.figures;
  std::string out = fmt::format("{} {} (pid {}): RSS {}", clock_text(view.look.wall_ns), printable(view.name),
                                view.pid, size_of(figures.rss));
  if (view.rss_change) out += " " + signed_bytes(static_cast<double>(*view.rss_change));
  if (const std::string growth = growth_text(view); !growth.empty()) out += " (" + growth + ")";
  std::size_t shown = 0;
  for (const LineView& line : view.lines)
    if (line.line.bytes != 0 && ++shown <= 4)
      out += fmt::format(", {} {}", short_name(line.line.name), size_of(line.line.bytes));
  if (shown != 0 && view.composition_age_s > 2)
    out += fmt::format(" (parts {} old)", duration(view.composition_age_s));
  if (view.look.composition != nullptr)
    if (const std::string text = unexplained_text(*view.look.composition); !text.empty()) out += ", " + text;
  if (view.major_faults_per_s && *view.major_faults_per_s >= 1)
    out += fmt::format(", {:.0f} faults/s from disk", *view.major_faults_per_s);
  if (const std::string limit = limit_text(view); !limit.empty()) out += "; " + limit;
  for (const CountGrowth& growth : view.growing_counts) out += "; " + count_growth_text(growth);
  for (const model::CountedLimit& near : model::near_limits(view.look.counted))
    out += "; " + present::limit_text(near);
  return out;
}

std::string ending_text(std::int32_t pid, const std::string& name, const std::string& how,
                        std::uint64_t last_rss) {
  const bool killed = how.starts_with("killed");
  return fmt::format("{} (pid {}) {}{}; its last RSS was {}", printable(name), pid, killed ? "was " : "", how,
                     size_of(last_rss));
}

}  // namespace fathom::watch

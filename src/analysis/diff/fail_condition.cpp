#include "analysis/diff/fail_condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "analysis/core/name_pattern.h"
#include "analysis/core/words.h"
#include "base/parse.h"
#include "base/stable_sort.h"
#include "base/text.h"

namespace fathom::analysis {
namespace {

std::optional<model::Metric> metric_of(std::string_view word) {
  if (const std::optional<model::Metric> metric = model::metric_from(word)) return metric;
  return model::metric_from("heap-" + std::string(word));  // "peak"
}

// A part of a name, or a regular expression; text that only looks like an expression is taken as one.
std::string as_pattern(std::string_view text) {
  if (text.size() > 1 && text.front() == '/' && text.back() == '/') return std::string(text);
  const bool plain = text.find_first_of("^$*+?|[](){}\\.") == std::string_view::npos;
  return plain ? std::string(text) : "/" + std::string(text) + "/";
}

}  // namespace

Result<FailCondition> parse_fail_condition(const std::string& text) {
  const auto refuse = [&](const std::string& what) {
    return fail(
        ErrorKind::kUsage, fmt::format("--fail-if '{}': {}", printable(text), what),
        "--fail-if 'total > +5%' or 'total > +5% : NAME', with total, self, module, crate, thread, cause, calls, waits, elapsed, rss, median, p95 or a metric");
  };
  FailCondition condition;
  condition.text = text;
  std::string_view rest = text;
  const std::size_t sign = rest.find_first_of("<>");
  if (sign == std::string_view::npos) return refuse("there is no > or <");
  const std::string_view word = trimmed(rest.substr(0, sign));
  condition.above = rest[sign] == '>';
  rest = rest.substr(sign + 1);

  using About = FailCondition::About;
  constexpr std::array<std::pair<std::string_view, About>, 6> kFigures = {{{"total", About::kTotal},
                                                                           {"self", About::kSelf},
                                                                           {"module", About::kModule},
                                                                           {"crate", About::kCrate},
                                                                           {"thread", About::kThread},
                                                                           {"cause", About::kCause}}};
  const auto figure =
      std::find_if(kFigures.begin(), kFigures.end(), [&](const auto& row) { return row.first == word; });
  constexpr std::array<std::pair<std::string_view, TotalKind>, 6> kTotals = {
      {{"elapsed", TotalKind::kWall},
       {"calls", TotalKind::kCalls},
       {"waits", TotalKind::kWaits},
       {"rss", TotalKind::kPeakRss},
       {"median", TotalKind::kSpanMedian},
       {"p95", TotalKind::kSpanP95}}};
  const auto total =
      std::find_if(kTotals.begin(), kTotals.end(), [&](const auto& row) { return row.first == word; });
  if (total != kTotals.end()) {
    condition.total = total->second;
  } else if (figure != kFigures.end()) {
    condition.about = figure->second;
    if (condition.about == About::kCause) condition.metric = model::Metric::kOffCpu;  // CPU time has none
  } else if (const std::optional<model::Metric> metric = metric_of(word)) {
    condition.metric = metric;
  } else {
    return refuse(fmt::format("nothing is called '{}'", printable(word)));
  }

  std::string_view number = rest;
  if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
    number = rest.substr(0, colon);
    const std::string_view pattern = trimmed(rest.substr(colon + 1));
    if (pattern.empty()) return refuse("no name follows the colon");
    condition.pattern = as_pattern(pattern);
    const Result<NamePattern> parsed = NamePattern::parse(condition.pattern);
    if (!parsed) return refuse(parsed.error().message);
  } else if (condition.about != About::kTotal) {
    return refuse("a name must follow, as in 'self > +5% : NAME'");
  }
  number = trimmed(number);
  if (number.ends_with('%')) {
    number.remove_suffix(1);
  } else if (number.ends_with("pt")) {
    number.remove_suffix(2);
    condition.points = true;
  } else {
    return refuse("the limit has no unit: 5% (of base) or 5pt (points of the figure)");
  }
  number = trimmed(number);
  if (number.starts_with('+')) number.remove_prefix(1);
  const auto limit = parse_number<double>(number);
  if (!limit || !std::isfinite(*limit)) return refuse(fmt::format("'{}' is not a number", printable(number)));
  condition.limit = *limit / 100;
  return condition;
}

namespace {

// Calls `take(name, change)` for every figure that the condition covers.
template <class Take>
void for_each_figure(const DiffReport& report, const FailCondition& condition, const Take& take) {
  if (condition.metric && *condition.metric != report.metric) return;
  if (condition.pattern.empty()) {
    take("", report.whole);
    return;
  }
  const Result<NamePattern> pattern = NamePattern::parse(condition.pattern);
  if (!pattern) return;
  using About = FailCondition::About;
  if (condition.about == About::kTotal || condition.about == About::kSelf) {
    for (const DiffRow& row : report.rows) {
      if (pattern->matches(row.name)) take(row.name, condition.about == About::kSelf ? row.self : row.total);
    }
    return;
  }
  const std::vector<DiffGroup>& groups = condition.about == About::kModule   ? report.modules
                                         : condition.about == About::kCrate  ? report.crates
                                         : condition.about == About::kThread ? report.threads
                                                                             : report.causes;
  for (const DiffGroup& group : groups) {
    if (pattern->matches(group.name)) take(group.name, group.self);
  }
}

template <class Take>
void for_each_figure(const std::vector<Total>& totals, const FailCondition& condition, const Take& take) {
  if (!condition.total) return;
  std::optional<NamePattern> pattern;
  if (!condition.pattern.empty()) {
    Result<NamePattern> parsed = NamePattern::parse(condition.pattern);
    if (!parsed) return;
    pattern = std::move(*parsed);
  }
  for (const Total& total : totals)
    if (total.kind == *condition.total && (!pattern || pattern->matches(total.name)))
      take(total.name, total.change);
}

// A figure that is new in the second recording exceeds every relative limit.
bool exceeds(const FailCondition& condition, const Change& change) {
  const double limit = condition.points ? condition.limit : condition.limit * change.base;
  return condition.above ? change.change > limit : change.change < limit;
}

// Judges only the figures of the condition: the number of other figures in the report does not matter. Uses
// Bonferroni's level, because each of these figures alone can make the condition hold. Half of the
// probability lies on the other side of the limit. `visit(take)` calls take(name, change) for every figure
// that the condition covers.
template <class Visit>
double level_of(const Visit& visit) {
  std::size_t figures = 0;
  visit([&](const std::string&, const Change& change) { figures += change.looked_at ? 1 : 0; });
  return 2 * kFalseAlarms / static_cast<double>(std::max<std::size_t>(figures, 1));
}

template <class Visit>
std::vector<Failure> failures_among(const FailCondition& condition, const Visit& visit) {
  std::vector<Failure> failures;
  const double level = level_of(visit);
  visit([&](const std::string& name, const Change& change) {
    if (change.looked_at && change.p <= level && exceeds(condition, change))
      failures.push_back({name, change});
  });
  stable_sort_rows(failures.begin(), failures.end(), [](const Failure& a, const Failure& b) {
    return std::fabs(a.change.change) > std::fabs(b.change.change);
  });
  return failures;
}

template <class Visit>
std::optional<Undecided> undecided_among(const FailCondition& condition, const Visit& visit) {
  const double level = level_of(visit);
  std::optional<Undecided> most;
  bool holds = false;
  visit([&](const std::string& name, const Change& change) {
    if (!change.looked_at || !exceeds(condition, change)) return;
    holds = holds || change.p <= level;
    if (most && std::fabs(change.change) <= std::fabs(most->change.change)) return;
    most = Undecided{name, change, detectable_change(change, level)};
  });
  return holds ? std::nullopt : most;
}

}  // namespace

std::vector<Failure> failures_of(const DiffReport& report, const FailCondition& condition) {
  if (condition.total) return {};
  return failures_among(condition, [&](const auto& take) { for_each_figure(report, condition, take); });
}

std::vector<Failure> failures_of(const std::vector<Total>& totals, const FailCondition& condition) {
  return failures_among(condition, [&](const auto& take) { for_each_figure(totals, condition, take); });
}

std::optional<Undecided> undecided_of(const DiffReport& report, const FailCondition& condition) {
  if (condition.total) return std::nullopt;
  return undecided_among(condition, [&](const auto& take) { for_each_figure(report, condition, take); });
}

std::optional<Undecided> undecided_of(const std::vector<Total>& totals, const FailCondition& condition) {
  return undecided_among(condition, [&](const auto& take) { for_each_figure(totals, condition, take); });
}

bool finds_its_name(const DiffReport& report, const FailCondition& condition) {
  bool found = false;
  for_each_figure(report, condition, [&](const std::string&, const Change&) { found = true; });
  return found;
}

bool finds_its_name(const std::vector<Total>& totals, const FailCondition& condition) {
  bool found = false;
  for_each_figure(totals, condition, [&](const std::string&, const Change&) { found = true; });
  return found;
}

bool is_judged(const DiffReport& report, const FailCondition& condition) {
  bool judged = false;
  for_each_figure(report, condition,
                  [&](const std::string&, const Change& change) { judged = judged || change.looked_at; });
  return judged;
}

bool is_judged(const std::vector<Total>& totals, const FailCondition& condition) {
  bool judged = false;
  for_each_figure(totals, condition,
                  [&](const std::string&, const Change& change) { judged = judged || change.looked_at; });
  return judged;
}

}  // namespace fathom::analysis

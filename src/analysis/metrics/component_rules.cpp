#include "analysis/metrics/component_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "analysis/core/code_name.h"
#include "analysis/core/idle.h"
#include "base/parse.h"
#include "base/text.h"

namespace fathom::analysis {
namespace {

std::vector<std::string_view> split(std::string_view text, std::string_view by) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(by);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == text.npos) return parts;
    text.remove_prefix(end + by.size());
  }
}

}  // namespace

Result<ComponentRules> ComponentRules::parse(std::string_view text, const std::string& name) {
  ComponentRules rules;
  const auto take = [&](std::string_view line) -> std::string {
    line = trimmed(line);
    if (line.empty() || line.front() == '#') return "";
    const std::string_view kind = line.substr(0, line.find(' '));
    ComponentRule rule;
    if (kind == "bytes")
      rule.meaning = MetricMeaning::kBytes;
    else if (kind == "count")
      rule.meaning = MetricMeaning::kCount;
    else if (kind == "all")
      rule.meaning = MetricMeaning::kAll;
    else if (kind == "file")
      rule.meaning = MetricMeaning::kFile;
    else
      return fmt::format("'{}' is not a kind of rule", kind);
    const bool has_crates = kind == "bytes" || kind == "count";
    auto parts = split(line.substr(kind.size()), " : ");
    if (rule.meaning == MetricMeaning::kBytes && parts.size() == 4) {
      constexpr std::string_view kUnit = " GiB";
      std::string_view size = parts.back();
      if (size.ends_with(kUnit)) size.remove_suffix(kUnit.size());
      const auto gigabytes = parse_number(size);
      if (!gigabytes || *gigabytes == 0 || *gigabytes > 1024)
        return fmt::format("'{}' is not a size, such as 2 GiB", parts.back());
      rule.unusual_bytes = *gigabytes << 30;
      parts.pop_back();
    }
    if (parts.size() != (has_crates ? 3U : 2U)) return "the parts of a rule are separated by ' : '";
    rule.component = parts.front();
    if (has_crates && parts[1] != "-")
      for (const std::string_view crate : split(parts[1], ",")) rule.crates.emplace_back(crate);
    for (const std::string_view glob : split(parts.back(), " | ")) rule.globs.emplace_back(glob);
    for (const auto* list : {&rule.crates, &rule.globs})
      for (const std::string& word : *list)
        if (word.empty() || word.find(' ') != word.npos) return fmt::format("'{}' is not a name", word);
    if (rule.component.empty()) return "a component has a name";
    rules.rules_.push_back(std::move(rule));
    return "";
  };
  for (std::size_t number = 1; !text.empty(); ++number) {
    if (const std::string problem = take(take_until(text, '\n')); !problem.empty())
      return fail(ErrorKind::kMalformed, fmt::format("{}:{}: {}", name, number, problem));
  }
  return rules;
}

const ComponentRules& ComponentRules::built_in() {
  static const ComponentRules kRules = [] {
    auto rules = parse(kMetricRulesText, "metric_rules.txt");
    assert(rules);  // a test reads them
    return rules ? std::move(*rules) : ComponentRules();
  }();
  return kRules;
}

const ComponentRule* ComponentRules::find(std::string_view series) const {
  const std::string_view name = series.substr(0, series.find('{'));
  for (const ComponentRule& rule : rules_)
    if (std::any_of(rule.globs.begin(), rule.globs.end(),
                    [&](const std::string& glob) { return matches_glob(glob, name); }))
      return &rule;
  return nullptr;
}

}  // namespace fathom::analysis

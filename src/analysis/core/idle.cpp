#include "analysis/core/idle.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/core/call_tree.h"
#include "analysis/core/functions.h"
#include "analysis/core/tracer_frames.h"
#include "base/parse.h"
#include "base/text.h"
#include "model/facts.h"
#include "model/system_call.h"

namespace fathom::analysis {
namespace {

constexpr std::size_t kMostRules = 128;

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    if (const std::string_view part = trimmed(text.substr(0, end)); !part.empty()) parts.push_back(part);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + separator.size());
  }
  return parts;
}

std::optional<Cause> cause_from(std::string_view word) {
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    if (to_string(static_cast<Cause>(i)) == word) return static_cast<Cause>(i);
  }
  return std::nullopt;
}

class Parser {
 public:
  Result<WaitRules> parse(std::string_view text, const std::string& name) {
    std::size_t number = 0;
    while (!text.empty()) {
      ++number;
      if (std::string problem = take(trimmed(take_until(text, '\n'))); !problem.empty())
        return fail(ErrorKind::kMalformed, fmt::format("{}:{}: {}", name, number, problem));
    }
    for (const WaitRule& rule : result_.rules) {
      if (rule.causes.none())
        return fail(ErrorKind::kMalformed, fmt::format("{}: '{}' has no line 'wait'", name, rule.name));
    }
    return std::move(result_);
  }

 private:
  // What is wrong with the line; empty if nothing.
  std::string take(std::string_view line) {
    if (line.empty() || line.front() == '#') return "";
    const std::size_t space = line.find_first_of(" \t");
    const std::string_view word = line.substr(0, space);
    const std::string_view rest = space == std::string_view::npos ? "" : trimmed(line.substr(space));
    if (rest.empty()) return fmt::format("nothing after '{}'", word);
    if (word == "idle" || word == "reason") {
      if (result_.rules.size() == kMostRules) return "too many rules";
      result_.rules.push_back({});
      result_.rules.back().name = rest;
      return "";
    }
    if (result_.rules.empty()) return "the first line of a rule is 'idle NAME' or 'reason NAME'";
    WaitRule& rule = result_.rules.back();
    if (word == "wait") {
      for (const std::string_view cause_word : split(rest, " ")) {
        const std::optional<Cause> cause = cause_from(cause_word);
        if (!cause) return fmt::format("there is no cause '{}'", cause_word);
        rule.causes.set(static_cast<std::size_t>(*cause));
      }
      return "";
    }
    if (word == "call") {
      for (const std::string_view call : split(rest, " ")) rule.calls.emplace_back(call);
      return "";
    }
    if (word == "by") {
      rule.by = rest == "fathom"   ? WaitRule::By::kFathom
                : rest == "tracer" ? WaitRule::By::kTracer
                                   : WaitRule::By::kAny;
      return rule.by != WaitRule::By::kAny ? "" : fmt::format("'by {}' is not known", rest);
    }
    if (word == "crowd")
      return take_number(rest, rule.crowd) ? "" : fmt::format("'{}' is not a number of threads", rest);
    if (word == "rest")
      return take_number(rest, rule.rest) && rule.rest <= 100
                 ? ""
                 : fmt::format("'{}' is not a number of percent", rest);
    const std::optional<PatternSet> patterns = pattern_set(rest);
    if (!patterns) return "too many patterns";
    if (word == "frame") {
      rule.frames.push_back(*patterns);
    } else if (word == "not") {
      rule.absent |= *patterns;
    } else if (word == "thread") {
      rule.threads = rule.threads.value_or(PatternSet()) | *patterns;
    } else {
      return fmt::format("'{}' is not a word of a rule", word);
    }
    return "";
  }

  static bool take_number(std::string_view text, std::uint32_t& number) {
    number = parse_number<std::uint32_t>(text).value_or(0);
    return number != 0;
  }

  std::optional<PatternSet> pattern_set(std::string_view text) {
    PatternSet set;
    for (const std::string_view part : split(text, " | ")) {
      const std::string pattern(part);
      const auto [row, added] = rows_.try_emplace(pattern, result_.patterns.size());
      if (row->second >= set.size()) return std::nullopt;
      if (added) result_.patterns.push_back(pattern);
      set.set(row->second);
    }
    return set;
  }

  WaitRules result_;
  std::map<std::string, std::size_t> rows_;
};

}  // namespace

// Where condition variables are waited for, in whatever file.
static bool waits_at_condition(std::string_view name) {
  return name.find("pthread_cond_") != std::string_view::npos && name.find("wait") != std::string_view::npos;
}

static bool is_python(const model::Profile& profile, const model::Module& module) {
  const std::string_view name = profile.strings[module.name];
  return name.starts_with("python3") || name.starts_with("libpython3");
}

// [take_gil] of wait_reasons.txt: `stack` waits at a condition variable, called by a function of Python that has no name.
static bool is_python_lock(const model::Profile& profile, model::StackId stack) {
  const auto frame_of = [&](model::StackId id) { return profile.stacks[id.value].frame; };
  if (!waits_at_condition(frame_name(profile, frame_of(stack)))) return false;
  const model::StackId caller = profile.stacks[stack.value].parent;
  if (caller.value == 0) return false;
  const model::Frame& frame = profile.frames[frame_of(caller).value];
  return is_python(profile, profile.modules[frame.module.value]) &&
         is_unnamed(frame_name(profile, frame_of(caller)));
}

bool matches_glob(std::string_view pattern, std::string_view text) {
  // Greedy with one way back: after a *, the shortest text that lets the rest match is enough.
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Result<WaitRules> parse_wait_rules(std::string_view text, const std::string& name) {
  return Parser().parse(text, name);
}

const WaitRules& built_in_idle_rules() {
  // A test reads them too, so they are well formed.
  static const WaitRules kRules = parse_wait_rules(kIdleRulesText, "idle_rules.txt").value_or(WaitRules{});
  return kRules;
}

const WaitRules& built_in_wait_reasons() {
  static const WaitRules kRules =
      parse_wait_rules(kWaitReasonsText, "wait_reasons.txt").value_or(WaitRules{});
  return kRules;
}

RuledWaits::RuledWaits(const model::Profile& profile, const WaitRules& rules)
    : profile_(profile),
      rules_(rules),
      fathom_pid_(model::facts_of<model::OriginFacts>(profile.meta).recorder_pid),
      tracers_(stacks_of_tracer(profile)),
      sets_(1) {
  if (profile.all_waits().empty()) return;
  PatternSet thread_patterns;
  for (const WaitRule& rule : rules.rules) {
    frame_patterns_ |= rule.absent;
    for (const PatternSet& frame : rule.frames) frame_patterns_ |= frame;
    if (rule.threads) thread_patterns |= *rule.threads;
  }
  of_thread_.resize(profile.threads.size());
  for (std::size_t i = 0; i < profile.threads.size(); ++i) {
    for (std::size_t p = 0; p < rules.patterns.size(); ++p) {
      if (thread_patterns[p] && matches_glob(rules.patterns[p], profile.strings[profile.threads[i].name]))
        of_thread_[i].set(p);
    }
  }
  match_stacks();
}

PatternSet RuledWaits::match_frame(const model::Frame& frame) {
  PatternSet set;
  for (std::uint32_t line = 0; line < frame.line_count; ++line) {
    const std::uint32_t function = profile_.lines[frame.first_line + line].function.value;
    std::optional<PatternSet>& known = of_function_[function];
    if (!known) {
      known.emplace();
      const std::string_view name = profile_.strings[profile_.functions[function].name];
      for (std::size_t p = 0; p < rules_.patterns.size(); ++p) {
        if (frame_patterns_[p] && matches_glob(rules_.patterns[p], name)) known->set(p);
      }
    }
    set |= *known;
  }
  return set;
}

void RuledWaits::match_stacks() {
  // Only functions below which a thread waited: a recording has many others.
  const std::size_t count = profile_.stacks.size();
  std::vector<char> waited(count, 0);
  for (const model::Wait& wait : profile_.all_waits()) waited[wait.stack.value] = 1;
  for (std::size_t i = count; i-- > 1;) {
    if (waited[i] != 0) waited[profile_.stacks[i].parent.value] = 1;
  }
  of_function_.assign(profile_.functions.size(), std::nullopt);
  const auto python = std::ranges::find(rules_.patterns, "[take_gil]") - rules_.patterns.begin();
  const bool asks_for_python = static_cast<std::size_t>(python) < rules_.patterns.size() &&
                               std::ranges::any_of(profile_.modules, [&](const model::Module& module) {
                                 return is_python(profile_, module);
                               });
  std::vector<std::optional<PatternSet>> of_frame(profile_.frames.size());
  std::map<std::string, std::uint32_t> rows{{PatternSet().to_string(), 0}};
  of_stack_.assign(count, 0);
  for (std::size_t i = 1; i < count; ++i) {
    if (waited[i] == 0) continue;
    const model::Stack& stack = profile_.stacks[i];
    std::optional<PatternSet>& frame = of_frame[stack.frame.value];
    if (!frame) frame = match_frame(profile_.frames[stack.frame.value]);
    PatternSet own = *frame;
    if (asks_for_python && is_python_lock(profile_, {static_cast<std::uint32_t>(i)}))
      own.set(static_cast<std::size_t>(python));
    const std::uint32_t below = of_stack_[stack.parent.value];
    of_stack_[i] = below;
    if ((own & ~sets_[below]).none()) continue;  // nearly always
    const PatternSet both = own | sets_[below];
    const auto [row, added] = rows.try_emplace(both.to_string(), static_cast<std::uint32_t>(sets_.size()));
    if (added) sets_.push_back(both);
    of_stack_[i] = row->second;
  }
  of_function_.clear();
}

std::optional<std::uint8_t> RuledWaits::rule_of(const model::Wait& wait, Cause cause) const {
  if (wait.state == model::WaitState::kPreempted || cause == Cause::kRunQueue) return std::nullopt;
  const PatternSet& frames = sets_[of_stack_[wait.stack.value]];
  for (std::size_t i = 0; i < rules_.rules.size(); ++i) {
    const WaitRule& rule = rules_.rules[i];
    if (rule.rest != 0 || !rule.causes[static_cast<std::size_t>(cause)] || (frames & rule.absent).any())
      continue;
    if (!is_by(rule.by, wait)) continue;
    if (rule.threads && (of_thread_[wait.thread.value] & *rule.threads).none()) continue;
    const auto holds = [&](const PatternSet& alternatives) { return (frames & alternatives).any(); };
    if (!std::all_of(rule.frames.begin(), rule.frames.end(), holds)) continue;
    if (!rule.calls.empty() && std::find(rule.calls.begin(), rule.calls.end(),
                                         model::system_call_name(wait.system_call)) == rule.calls.end()) {
      continue;
    }
    return static_cast<std::uint8_t>(i);
  }
  return std::nullopt;
}

bool RuledWaits::is_by(WaitRule::By who, const model::Wait& wait) const {
  switch (who) {
    case WaitRule::By::kAny:
      return true;
    case WaitRule::By::kFathom:
      return fathom_pid_ && wait.waker != model::kNoThread &&
             profile_.processes[profile_.threads[wait.waker.value].process.value].pid == *fathom_pid_;
    case WaitRule::By::kTracer:
      return !tracers_.empty() && tracers_[wait.stack.value] != 0;
  }
  return false;
}

std::optional<std::uint8_t> RuledWaits::rule_of_rest() const {
  for (std::size_t i = 0; i < rules_.rules.size(); ++i)
    if (rules_.rules[i].rest != 0) return static_cast<std::uint8_t>(i);
  return std::nullopt;
}

std::string RuledWaits::evidence(std::uint8_t rule, model::StackId stack) const {
  PatternSet named;
  for (const PatternSet& frame : rules_.rules[rule].frames) named |= frame;
  for (; stack.value != 0; stack = profile_.stacks[stack.value].parent) {
    const model::Frame& frame = profile_.frames[profile_.stacks[stack.value].frame.value];
    for (std::uint32_t line = 0; line < frame.line_count; ++line) {
      const model::FunctionId function = profile_.lines[frame.first_line + line].function;
      const std::string_view name = profile_.strings[profile_.functions[function.value].name];
      for (std::size_t p = 0; p < rules_.patterns.size(); ++p)
        if (named[p] && matches_glob(rules_.patterns[p], name)) return std::string(name);
    }
  }
  return "";
}

}  // namespace fathom::analysis

// Which waits are no problem: a parked worker, an event loop without events. The rules stand in
// idle_rules.txt, which says what they look like, and are part of the program.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/wait_cause.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::analysis {

extern const std::string_view kIdleRulesText;

// Alternatives by their numbers in IdleRules.
using PatternSet = std::bitset<384>;

struct IdleRule {
  std::string name;
  std::bitset<kCauseCount> causes;
  std::vector<std::string> calls;  // empty: any
  std::optional<PatternSet> threads;
  std::vector<PatternSet> frames;  // of each one must be there
  PatternSet absent;
};

struct IdleRules {
  std::vector<IdleRule> rules;        // at most 128
  std::vector<std::string> patterns;  // each text once
};

// kMalformed with the number of the line. `name` is the file's.
Result<IdleRules> parse_idle_rules(std::string_view text, const std::string& name);
// Those of idle_rules.txt.
const IdleRules& built_in_idle_rules();

// `pattern` with * for any text.
bool matches_glob(std::string_view pattern, std::string_view text);

// Asks the rules about the waits of one profile; names are matched once per function. Both outlive it.
class IdleWaits {
 public:
  IdleWaits(const model::Profile& profile, const IdleRules& rules);
  // The row of the rule that calls this wait, of this cause, idle.
  std::optional<std::uint8_t> rule_of(const model::Wait& wait, Cause cause) const;
  const std::string& name(std::uint8_t rule) const { return rules_.rules[rule].name; }
  // "(idle: tokio worker)": the frame that stands for all of them.
  std::string frame(std::uint8_t rule) const { return "(idle: " + name(rule) + ")"; }

 private:
  void match_stacks();
  PatternSet match_frame(const model::Frame& frame);

  const model::Profile& profile_;
  const IdleRules& rules_;
  std::vector<PatternSet> sets_;         // the different ones; row 0 is empty
  std::vector<std::uint32_t> of_stack_;  // rows of sets_: what matches anywhere on the stack
  std::vector<PatternSet> of_thread_;
  std::vector<std::optional<PatternSet>> of_function_;  // while matching
  PatternSet frame_patterns_;                           // those that a frame can match
};

}  // namespace fathom::analysis

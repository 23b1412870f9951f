// Rules about waits: which of them are no problem (idle_rules.txt: a parked worker, an event loop without events), and
// what others are for (wait_reasons.txt: a full channel, the lock of a database). Both files are part of the program; the
// first says what rules look like.
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
extern const std::string_view kWaitReasonsText;

// Alternatives by their numbers in WaitRules.
using PatternSet = std::bitset<384>;

struct WaitRule {
  std::string name;
  std::bitset<kCauseCount> causes;
  std::vector<std::string> calls;  // empty: any
  std::optional<PatternSet> threads;
  std::vector<PatternSet> frames;  // of each one must be there
  PatternSet absent;
  enum class By : std::uint8_t { kAny, kFathom, kTracer };
  By by = By::kAny;  // kFathom: fathom ended it; kTracer: a thread of the target waits in fathom's code
  std::uint32_t crowd = 0;  // not 0: so many threads must have done nothing else, at one futex
  std::uint32_t rest = 0;   // not 0: a place at rest (places_at_rest.h) by so many percent, and no name
};

struct WaitRules {
  std::vector<WaitRule> rules;        // at most 128
  std::vector<std::string> patterns;  // each text once
};

// kMalformed with the number of the line. `name` is the file's; a rule begins with the word "idle" or "reason".
Result<WaitRules> parse_wait_rules(std::string_view text, const std::string& name);
// Those of idle_rules.txt.
const WaitRules& built_in_idle_rules();
// Those of wait_reasons.txt.
const WaitRules& built_in_wait_reasons();

// "(idle: tokio worker)", of the name of a rule.
inline std::string idle_frame(const std::string& name) {
  return "(idle: " + name + ")";
}

// `pattern` with * for any text.
bool matches_glob(std::string_view pattern, std::string_view text);

// Asks the rules about the waits of one profile; names are matched once per function. Both outlive it.
class RuledWaits {
 public:
  RuledWaits(const model::Profile& profile, const WaitRules& rules);
  // The row of the rule that holds for this wait, of this cause; a crowd is not asked for here, and a rule about rest never
  // holds.
  std::optional<std::uint8_t> rule_of(const model::Wait& wait, Cause cause) const;
  std::uint32_t crowd(std::uint8_t rule) const { return rules_.rules[rule].crowd; }
  // The row of the first rule about rest.
  std::optional<std::uint8_t> rule_of_rest() const;
  std::uint32_t rest(std::uint8_t rule) const { return rules_.rules[rule].rest; }
  // It is about waits that fathom itself caused.
  bool by_fathom(std::uint8_t rule) const { return rules_.rules[rule].by != WaitRule::By::kAny; }
  const std::string& name(std::uint8_t rule) const { return rules_.rules[rule].name; }
  // "(idle: tokio worker)": the frame that stands for all of them.
  std::string frame(std::uint8_t rule) const { return idle_frame(name(rule)); }
  // The innermost function on the stack that a `frame` line of the rule names: why it holds. "" without such a line.
  std::string evidence(std::uint8_t rule, model::StackId stack) const;

 private:
  void match_stacks();
  PatternSet match_frame(const model::Frame& frame);

  bool is_by(WaitRule::By who, const model::Wait& wait) const;

  const model::Profile& profile_;
  const WaitRules& rules_;
  std::optional<std::int32_t> fathom_pid_;  // of the one that recorded this
  std::vector<char> tracers_;               // by stack: it is that of the tracer; empty: none is
  std::vector<PatternSet> sets_;            // the different ones; row 0 is empty
  std::vector<std::uint32_t> of_stack_;     // rows of sets_: what matches anywhere on the stack
  std::vector<PatternSet> of_thread_;
  std::vector<std::optional<PatternSet>> of_function_;  // while matching
  PatternSet frame_patterns_;                           // those that a frame can match
};

}  // namespace fathom::analysis

// The built program and what it says about a recording.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "support/command.h"

namespace fathom::support {

// The command line that starts it. FATHOM_TEST_PROGRAM names another program than the one that was built, such as the static one.
std::vector<std::string> fathom_command(const std::vector<std::string>& arguments);
Outcome fathom(const std::vector<std::string>& arguments, const CommandOptions& options = {});

// Starts `fathom record -o RECORDING ...` and returns when samples are arriving. Throws when it ends before
// that.
Running start_recording(const std::string& recording, const std::vector<std::string>& arguments);

// The answer of a truth program: what one object of its JSON says, by name ("" is the outermost object).
std::map<std::string, double> answer_of(const Outcome& outcome, const std::string& key = "");

// What `fathom report RECORDING --json` says. Throws with the program's own words when it failed.
class Report {
 public:
  explicit Report(const std::string& recording);

  double samples() const { return samples_; }
  double lost() const { return lost_; }
  double complete_percent() const { return complete_percent_; }
  // The same without stacks whose walk ended early for one of these reasons.
  double complete_percent_without(const std::vector<std::string>& reasons) const;
  double ended_early(const std::string& reason) const;  // samples
  double duration_s() const { return duration_s_; }
  const std::string& engine() const { return engine_; }
  const std::string& quality() const { return quality_; }  // the whole block, for messages
  // Of all samples, those that have a function of this exact name anywhere in their stack, or at its top.
  double total_percent(const std::string& function) const;
  double self_percent(const std::string& function) const;
  bool has_function(const std::string& name_part) const;
  bool has_thread(const std::string& name) const;

 private:
  struct Function {
    std::string name;
    double self, total;
  };
  std::map<std::string, double> early_ends_;  // by reason
  double samples_, lost_, complete_percent_, duration_s_;
  std::string engine_, quality_;
  std::vector<Function> functions_;
  std::vector<std::string> threads_;
};

}  // namespace fathom::support

// The built program and what it says about a recording.
#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/command.h"

namespace fathom::support {

// The command line that starts it.
std::vector<std::string> fathom_command(const std::vector<std::string>& arguments);
Outcome fathom(const std::vector<std::string>& arguments, const CommandOptions& options = {});

// Starts `fathom record -o RECORDING ...` and returns when samples are arriving. Throws when it ends before
// that.
Running start_recording(const std::string& recording, const std::vector<std::string>& arguments);

// The answer of a truth program: what one object of its JSON says, by name ("" is the outermost object).
std::map<std::string, double> answer_of(const Outcome& outcome, const std::string& key = "");

// `fathom report RECORDING --json`. Throws with what the program said when it failed.
class Report {
 public:
  explicit Report(const std::string& recording);
  const nlohmann::json& json() const { return json_; }

  double samples() const { return json_.at("quality").at("samples").get<double>(); }
  double lost() const { return json_.at("quality").at("lost").get<double>(); }
  double complete_percent() const { return json_.at("quality").at("complete_percent").get<double>(); }
  double duration_s() const { return json_.at("duration_s").get<double>(); }
  std::string engine() const { return json_.at("engine").get<std::string>(); }
  // Of all samples, those that have a function of this exact name anywhere in their stack.
  double total_percent(const std::string& function) const;
  double self_percent(const std::string& function) const;
  std::string quality() const { return json_.at("quality").dump(2); }
  bool has_function(const std::string& name_part) const;
  bool has_thread(const std::string& name) const;

 private:
  double percent(const std::string& function, const char* key) const;
  nlohmann::json json_;
};

}  // namespace fathom::support

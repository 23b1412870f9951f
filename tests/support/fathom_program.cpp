#include "support/fathom_program.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "support/kernel_objects.h"

namespace fathom::support {

std::vector<std::string> fathom_command(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{FATHOM_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

Outcome fathom(const std::vector<std::string>& arguments, const CommandOptions& options) {
  return run(fathom_command(arguments), options);
}

Running start_recording(const std::string& recording, const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"record", "-o", recording};
  all.insert(all.end(), arguments.begin(), arguments.end());
  Running running(fathom_command(all));
  const auto has_begun = [&] {
    std::error_code ignored;
    return std::filesystem::file_size(recording, ignored) > 0 && !ignored;
  };
  wait_until([&] { return has_begun() || running.finished(); }, std::chrono::milliseconds(15'000));
  if (running.finished() || !has_begun()) {
    throw std::runtime_error("fathom record did not begin: " + running.kill_and_wait().describe());
  }
  return running;
}

std::map<std::string, double> answer_of(const Outcome& outcome, const std::string& key) {
  const nlohmann::json all = nlohmann::json::parse(outcome.output);
  const nlohmann::json& object = key.empty() ? all : all.at(key);
  std::map<std::string, double> answer;
  for (const auto& [name, value] : object.items()) {
    if (value.is_number()) answer.emplace(name, value.get<double>());
  }
  return answer;
}

Report::Report(const std::string& recording) {
  const Outcome outcome = fathom({"report", recording, "--json"});
  if (!outcome.ok()) throw std::runtime_error("fathom report " + recording + ": " + outcome.describe());
  json_ = nlohmann::json::parse(outcome.output);
}

double Report::percent(const std::string& function, const char* key) const {
  double sum = 0;
  for (const auto& row : json_.at("functions")) {
    if (row.at("name") == function) sum += row.at(key).get<double>();
  }
  return samples() > 0 ? 100 * sum / samples() : 0;
}

double Report::total_percent(const std::string& function) const {
  return percent(function, "total");
}
double Report::self_percent(const std::string& function) const {
  return percent(function, "self");
}

bool Report::has_function(const std::string& name_part) const {
  const auto& rows = json_.at("functions");
  return std::any_of(rows.begin(), rows.end(), [&](const nlohmann::json& row) {
    return row.at("name").get<std::string>().find(name_part) != std::string::npos;
  });
}

bool Report::has_thread(const std::string& name) const {
  const auto& rows = json_.at("threads");
  return std::any_of(rows.begin(), rows.end(),
                     [&](const nlohmann::json& row) { return row.at("name") == name; });
}

}  // namespace fathom::support

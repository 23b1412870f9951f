#include "support/fathom_program.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/kernel_objects.h"

namespace fathom::support {

std::vector<std::string> fathom_command(const std::vector<std::string>& arguments) {
  const char* other = std::getenv("FATHOM_TEST_PROGRAM");
  std::vector<std::string> command{other != nullptr ? other : FATHOM_PROGRAM};
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
  const Outcome outcome = fathom({"report", recording, "--json", "--top", "0"});
  if (!outcome.ok()) throw std::runtime_error("fathom report " + recording + ": " + outcome.describe());
  const nlohmann::json all = nlohmann::json::parse(outcome.output);
  const nlohmann::json& quality = all.at("quality");
  samples_ = quality.at("samples");
  lost_ = quality.at("lost");
  complete_percent_ = samples_ > 0 ? quality.at("complete_percent").get<double>() : 0;
  for (const auto& end : quality.at("early_ends")) {
    early_ends_[end.at("reason").get<std::string>()] += end.at("count").get<double>();
  }
  quality_ = quality.dump(2);
  duration_s_ = all.at("duration_s");
  engine_ = all.at("engine");
  for (const auto& row : all.at("functions"))
    functions_.push_back({row.at("name"), row.at("self"), row.at("total")});
  for (const auto& row : all.at("threads")) threads_.push_back(row.at("name"));
}

double Report::complete_percent_without(const std::vector<std::string>& reasons) const {
  double left_out = 0;
  for (const std::string& reason : reasons) left_out += ended_early(reason);
  return samples_ > left_out ? complete_percent_ * samples_ / (samples_ - left_out) : 0;
}

double Report::ended_early(const std::string& reason) const {
  const auto found = early_ends_.find(reason);
  return found != early_ends_.end() ? found->second : 0;
}

double Report::total_percent(const std::string& function) const {
  double sum = 0;
  for (const Function& row : functions_) sum += row.name == function ? row.total : 0;
  return samples_ > 0 ? 100 * sum / samples_ : 0;
}

double Report::self_percent(const std::string& function) const {
  double sum = 0;
  for (const Function& row : functions_) sum += row.name == function ? row.self : 0;
  return samples_ > 0 ? 100 * sum / samples_ : 0;
}

bool Report::has_function(const std::string& name_part) const {
  return std::any_of(functions_.begin(), functions_.end(),
                     [&](const Function& row) { return row.name.find(name_part) != std::string::npos; });
}

bool Report::has_thread(const std::string& name) const {
  return std::find(threads_.begin(), threads_.end(), name) != threads_.end();
}

}  // namespace fathom::support

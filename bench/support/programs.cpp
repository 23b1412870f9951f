#include "bench/support/programs.h"

#include <stdexcept>

namespace fathom::bench {

support::Outcome run(const std::vector<std::string>& command) {
  support::CommandOptions options;
  options.limit = std::chrono::minutes(10);
  support::Outcome outcome = support::run(command, options);
  if (!outcome.ok()) throw std::runtime_error(command[0] + ": " + outcome.describe());
  return outcome;
}

std::string cc1plus() {
  const support::Outcome outcome = support::run({"g++", "-print-prog-name=cc1plus"});
  return outcome.ok() ? outcome.output.substr(0, outcome.output.find('\n')) : std::string();
}

}  // namespace fathom::bench

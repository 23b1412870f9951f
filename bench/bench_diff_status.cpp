// Does `fathom diff --fail-if` exit with the right status on a busy machine? Records a program while LOAD (8)
// other processes are busy, PAIRS (10) times for each kind of work: twice the same work, and 1.05, 1.5, 2, 10
// and 50 times the work. The check is `total > +20%`, so the same and 1.05 times must pass and the others
// must fail. Goal: 95 of 100 right, and at most 2 of 100 equal pairs fail. SECONDS_PER_RUN (1): CPU time of
// the smaller run. KEEP: a folder for the recordings.
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/support/programs.h"
#include "support/command.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::bench {
namespace {

double number(const char* name, double usual) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atof(text) : usual;
}

// Processes that alternately compute and write to memory, until the object is destroyed.
class Load {
 public:
  explicit Load(int processes) {
    for (int i = 0; i < processes; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        static char memory[1 << 24];
        volatile unsigned long value = 1;
        for (;;) {
          if (i % 2 == 0)
            std::memset(memory, i, sizeof memory);
          else
            for (int k = 0; k < 10'000'000; ++k) value = value * 3 + 1;
        }
      }
      if (child > 0) children_.push_back(child);
    }
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load() {
    for (const pid_t child : children_) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }

 private:
  std::vector<pid_t> children_;
};

// This many units take about a second on a 3 GHz processor.
long units_of(const std::string& kind, double seconds) {
  const std::map<std::string, double> per_second = {
      {"arithmetic", 5000}, {"memory", 6000}, {"objects", 9000}};
  return static_cast<long>(per_second.at(kind) * seconds);
}

void record(const std::string& file, const std::string& kind, long units) {
  const support::Outcome outcome =
      support::run(support::fathom_command({"record", "-q", "-f", "--cpu", "-o", file, "--", DIFF_WORK_TARGET,
                                            kind, std::to_string(units)}),
                   {.limit = std::chrono::minutes(20)});
  if (!outcome.ok()) throw std::runtime_error("record: " + outcome.describe());
}

bool fails(const std::string& base, const std::string& fresh) {
  const support::Outcome outcome = support::fathom({"diff", base, fresh, "--fail-if", "total > +20%"});
  constexpr int kHeld = 5;
  if (!outcome.ok() && outcome.exit_status != kHeld) throw std::runtime_error("diff: " + outcome.describe());
  return outcome.exit_status == kHeld;
}

int ask_all() {
  const int pairs = static_cast<int>(number("PAIRS", 10));
  const double seconds = number("SECONDS_PER_RUN", 1);
  const support::TempDir temporary;
  const std::string folder = std::getenv("KEEP") != nullptr ? std::getenv("KEEP") : temporary.path();
  std::filesystem::create_directories(folder);
  const Load load(static_cast<int>(number("LOAD", 8)));
  for (const std::string kind : {"arithmetic", "memory", "objects"}) {
    std::map<double, int> failed;
    for (int pair = 0; pair < pairs; ++pair) {
      const auto path = [&](const std::string& name) {
        return fmt::format("{}/{}-{}-{}.fathom", folder, kind, pair, name);
      };
      record(path("base"), kind, units_of(kind, seconds));
      for (const double factor : {1.0, 1.05, 1.5, 2.0, 10.0, 50.0}) {
        if (factor > 2 && pair % 5 != 0) continue;  // they take long, and are easy to detect
        record(path(fmt::format("{}", factor)), kind, units_of(kind, seconds * factor));
        failed[factor] += fails(path("base"), path(fmt::format("{}", factor))) ? 1 : 0;
      }
    }
    for (const auto& [factor, count] : failed)
      fmt::print("{:10}  {:5} times the work: {} of {} fail, {} should\n", kind, factor, count,
                 factor > 2 ? (pairs + 4) / 5 : pairs,
                 factor < 1.2 ? 0
                 : factor > 2 ? (pairs + 4) / 5
                              : pairs);
  }
  return 0;
}

}  // namespace
}  // namespace fathom::bench

int main() {
  try {
    return fathom::bench::ask_all();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

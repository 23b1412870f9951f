// What does recording cost a program of one thread, on an otherwise idle machine?
#include <fmt/core.h>

#include <optional>

#include "bench/support/comparison.h"
#include "bench/support/statistics.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::bench {
namespace {

class OneThread : public Workload {
 public:
  pid_t start() override {
    // Sleeps a second: by then the slowest profiler has attached.
    target_.emplace(std::vector<std::string>{ONE_THREAD_TARGET, "1", fmt::format("{}", seconds_per_run())});
    support::pause_ms(50);
    return target_->pid();
  }
  Throughput work() override {
    while (!target_->finished()) support::pause_ms(5);
    const auto answer = support::answer_of(target_->wait(std::chrono::milliseconds(1000)));
    return {answer.at("rounds") / answer.at("wall_s"), answer.at("rounds") / answer.at("cpu_s")};
  }
  void stop() override { target_.reset(); }
  std::string unit() const override { return "rounds/s"; }

 private:
  std::optional<support::Running> target_;
};

}  // namespace
}  // namespace fathom::bench

int main() {
  const fathom::support::TempDir folder;
  fathom::bench::OneThread workload;
  return fathom::bench::compare_as_asked(workload, folder.path(), "");
}

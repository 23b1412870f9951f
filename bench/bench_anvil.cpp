// What does recording cost a real Rust node under load?
#include <cstdio>
#include <optional>
#include <string>

#include "bench/support/comparison.h"
#include "bench/support/statistics.h"
#include "support/anvil.h"
#include "support/environment.h"

namespace fathom::bench {
namespace {

class Node : public Workload {
 public:
  explicit Node(std::string program) : program_(std::move(program)) {}

  pid_t start() override {
    node_.emplace(program_, 18545);
    return node_->pid();
  }
  Throughput work() override {
    const double cpu_before = support::cpu_seconds_of(node_->pid());
    const double per_second = node_->load(seconds_per_run());
    return {per_second,
            per_second * seconds_per_run() / (support::cpu_seconds_of(node_->pid()) - cpu_before)};
  }
  void stop() override { node_.reset(); }
  std::string unit() const override { return "requests/s"; }

 private:
  std::string program_;
  std::optional<support::Anvil> node_;
};

}  // namespace
}  // namespace fathom::bench

// With an argument: see compare_as_asked().
int main(int argc, char** argv) {
  const auto program = fathom::support::find_anvil();
  if (!program) {
    std::puts("Not measured: anvil is neither in PATH nor named by ANVIL.\n");
    return 0;
  }
  const fathom::support::TempDir folder;
  fathom::bench::Node workload(*program);
  return fathom::bench::compare_as_asked(workload, folder.path(), argc > 1 ? argv[1] : "");
}

// What does recording cost a real Rust node under load? anvil is asked for balances, blocks, and gas
// estimates, which run the virtual machine. Found in PATH, or named by ANVIL.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>

#include "bench/support/comparison.h"
#include "bench/support/json_rpc_load.h"
#include "bench/support/statistics.h"
#include "support/command.h"
#include "support/environment.h"

namespace fathom::bench {
namespace {

constexpr int kPort = 18545;
constexpr int kConnections = 16;

// Accounts that every anvil starts with.
const std::vector<std::string> kRequests{
    R"({"jsonrpc":"2.0","id":1,"method":"eth_estimateGas","params":[{"from":"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266","to":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","value":"0x1"}]})",
    R"({"jsonrpc":"2.0","id":2,"method":"eth_getBalance","params":["0x70997970C51812dc3A010C7d01b50e0d17dc79C8","latest"]})",
    R"({"jsonrpc":"2.0","id":3,"method":"eth_getBlockByNumber","params":["latest",true]})"};

class Anvil : public Workload {
 public:
  explicit Anvil(std::string program) : program_(std::move(program)) {}

  pid_t start() override {
    node_.emplace(std::vector<std::string>{program_, "--port", std::to_string(kPort), "--silent"});
    const auto answers = [] {
      try {
        return json_rpc_load(kPort, kRequests, 1, 0.2) > 0;
      } catch (const std::runtime_error&) {
        return false;
      }
    };
    if (!support::wait_until(answers, std::chrono::milliseconds(15'000))) {
      throw std::runtime_error("anvil did not start: " + node_->kill_and_wait().describe());
    }
    return node_->pid();
  }
  Throughput work() override {
    const double cpu_before = cpu_seconds_of(node_->pid());
    const double per_second = json_rpc_load(kPort, kRequests, kConnections, seconds_per_run());
    return {per_second, per_second * seconds_per_run() / (cpu_seconds_of(node_->pid()) - cpu_before)};
  }
  void stop() override { node_.reset(); }
  std::string unit() const override { return "requests/s"; }

 private:
  std::string program_;
  std::optional<support::Running> node_;
};

}  // namespace
}  // namespace fathom::bench

int main() {
  const char* named = std::getenv("ANVIL");
  const auto program =
      named != nullptr ? std::optional<std::string>(named) : fathom::support::find_program("anvil");
  if (!program) {
    std::puts("Not measured: anvil is neither in PATH nor named by ANVIL.\n");
    return 0;
  }
  const fathom::support::TempDir folder;
  fathom::bench::Anvil workload(*program);
  fathom::bench::compare_profilers(workload, folder.path());
  return 0;
}

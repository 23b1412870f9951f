// What does recording cost a server that, together with its clients, fills two cores: redis-server under
// redis-benchmark?
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

#include "bench/support/comparison.h"
#include "bench/support/statistics.h"
#include "support/command.h"
#include "support/environment.h"

namespace fathom::bench {
namespace {

class Redis : public Workload {
 public:
  Redis(std::string program, std::string folder) : program_(std::move(program)), folder_(std::move(folder)) {}

  pid_t start() override {
    server_.emplace(std::vector<std::string>{program_, "--port", "0", "--unixsocket", socket(), "--save", "",
                                             "--appendonly", "no"},
                    support::CommandOptions{.folder = folder_});
    if (!support::wait_until([&] { return access(socket().c_str(), F_OK) == 0; },
                             std::chrono::milliseconds(5000))) {
      throw std::runtime_error("redis-server did not start: " + server_->kill_and_wait().describe());
    }
    if (requests_ == 0) requests_ = static_cast<int>(load(20'000) * seconds_per_run());
    load(2000);
    return server_->pid();
  }
  Throughput work() override {
    const double cpu_before = support::cpu_seconds_of(server_->pid());
    const double per_second = load(requests_);
    return {per_second, requests_ / (support::cpu_seconds_of(server_->pid()) - cpu_before)};
  }
  void stop() override {
    server_.reset();
    unlink(socket().c_str());
  }
  std::string unit() const override { return "requests/s"; }

 private:
  std::string socket() const { return folder_ + "/redis.sock"; }
  double load(int requests) const {
    const support::Outcome outcome =
        support::run({"redis-benchmark", "-s", socket(), "-t", "get", "-n", std::to_string(requests), "-c",
                      "20", "-r", "10000", "--csv"});
    // "test","rps",... and then "GET","45000.00",...
    const std::size_t row = outcome.output.find("\"GET\",\"");
    if (row == std::string::npos) throw std::runtime_error("redis-benchmark: " + outcome.describe());
    return std::stod(outcome.output.substr(row + 7));
  }

  std::string program_, folder_;
  int requests_ = 0;
  std::optional<support::Running> server_;
};

}  // namespace
}  // namespace fathom::bench

// With an argument: see compare_as_asked().
int main(int argc, char** argv) {
  const fathom::support::TempDir folder;
  const auto program = fathom::support::find_redis_server(folder.path());
  if (!program) {
    std::puts("Not measured: redis-tools is not installed.\n");
    return 0;
  }
  fathom::bench::Redis workload(*program, folder.path());
  return fathom::bench::compare_as_asked(workload, folder.path(), argc > 1 ? argv[1] : "");
}

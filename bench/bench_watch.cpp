// How much longer do a server's requests take while its memory is read once a second: by fathom watch, or by
// a loop that reads smaps? redis-server with half a gigabyte of keys, under redis-benchmark, which keeps 20
// requests in flight and reports the 99th percentile of their time; and anvil, with 16 connections. Each run
// has a new server: a server grows during a run, so a later run would measure another state.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/support/rounds.h"
#include "bench/support/statistics.h"
#include "support/anvil.h"
#include "support/command.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::bench {
namespace {

using std::chrono::milliseconds;

struct Load {
  double per_second = 0, p99_ms = 0, longest_ms = 0;
};

class Redis {
 public:
  Redis(const std::string& program, const std::string& folder)
      : socket_(folder + "/redis.sock"),
        running_({program, "--port", "0", "--unixsocket", socket_, "--save", "", "--appendonly", "no"},
                 {.folder = folder}) {
    if (!support::wait_until([&] { return ::access(socket_.c_str(), F_OK) == 0; }, milliseconds(5000)))
      throw std::runtime_error("redis-server did not start: " + running_.kill_and_wait().describe());
    set(1'000'000, 32);
  }
  ~Redis() { ::unlink(socket_.c_str()); }
  Redis(const Redis&) = delete;
  Redis& operator=(const Redis&) = delete;

  pid_t pid() const { return running_.pid(); }
  Load load(double seconds) {
    if (rate_ == 0) rate_ = set(20'000, 1).per_second;
    return set(static_cast<int>(rate_ * seconds), 1);
  }

 private:
  // Keys of 512 bytes, a million different ones.
  Load set(int requests, int pipelined) const {
    const support::Outcome outcome =
        support::run({"redis-benchmark", "-s", socket_, "-t", "set", "-d", "512", "-r", "1000000", "-n",
                      std::to_string(requests), "-c", "20", "-P", std::to_string(pipelined), "--csv"},
                     {.limit = milliseconds(120'000)});
    // After a header line: "SET","45000.00", and the average, the minimum, the 50th, 95th and 99th
    // percentile, the maximum.
    std::size_t at = outcome.output.find("\"SET\",");
    std::vector<double> numbers;
    while (at != std::string::npos && numbers.size() < 7) {
      at = outcome.output.find(",\"", at);
      if (at == std::string::npos) break;
      at += 2;
      numbers.push_back(std::atof(outcome.output.c_str() + at));
    }
    if (numbers.size() < 7) throw std::runtime_error("redis-benchmark: " + outcome.describe());
    return {numbers[0], numbers[5], numbers[6]};
  }

  static inline double rate_ = 0;  // of the first run: every run makes the same number of requests
  std::string socket_;
  support::Running running_;
};

class Node {
 public:
  explicit Node(const std::string& program) : node_(program, 18546) {}
  pid_t pid() const { return node_.pid(); }
  Load load(double seconds) {
    std::vector<double> waited_ms;
    const double per_second = node_.load(seconds, &waited_ms);
    std::ranges::sort(waited_ms);
    if (waited_ms.empty()) throw std::runtime_error("anvil did not answer");
    return {per_second, waited_ms[waited_ms.size() * 99 / 100], waited_ms.back()};
  }

 private:
  support::Anvil node_;
};

const std::vector<const char*> kNames = {"nothing", "fathom watch, each second", "smaps, each second"};

std::optional<support::Running> start_reader(std::size_t contender, pid_t pid) {
  const std::string number = std::to_string(pid);
  if (contender == 0) return std::nullopt;
  if (contender == 1)
    return std::optional<support::Running>(std::in_place,
                                           support::fathom_command({"watch", number, "--interval", "1"}));
  return std::optional<support::Running>(
      std::in_place, std::vector<std::string>{
                         "sh", "-c", "while cat /proc/" + number + "/smaps > /dev/null; do sleep 1; done"});
}

// `start()` returns a server that is ready for requests.
template <class Start>
void measure(const std::string& title, const Start& start) {
  Figure per_second(kNames.size()), p99(kNames.size()), longest(kNames.size());
  std::vector<std::vector<double>> cpu(kNames.size());
  run_rounds(rounds(), kNames.size(), [&](int round, std::size_t contender) {
    const auto server = start();
    server->load(0.5);
    auto reader = start_reader(contender, server->pid());
    support::pause_ms(1000);  // excludes what a reader does only once
    const double cpu_before = reader ? support::cpu_seconds_of(reader->pid()) : 0;
    const auto begun = std::chrono::steady_clock::now();
    const Load load = server->load(seconds_per_run());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    if (reader && contender == 1)
      cpu[contender].push_back((support::cpu_seconds_of(reader->pid()) - cpu_before) / seconds);
    if (reader && reader->finished())
      throw std::runtime_error(std::string(kNames[contender]) +
                               " ended: " + reader->wait(milliseconds(0)).describe());
    if (reader) reader->kill_and_wait();
    p99.add(round, contender, load.p99_ms);
    longest.add(round, contender, load.longest_ms);
    per_second.add(round, contender, load.per_second);
  });
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < kNames.size(); ++i)
    rows.push_back({kNames[i], median_and_range(p99.values(i), 2), median_and_range(p99.ratios(i), 3),
                    median_and_range(longest.values(i), 1), median_and_range(per_second.ratios(i), 3),
                    cpu[i].empty() ? "-" : median_and_range(cpu[i], 4)});
  std::printf("%s\n\n", title.c_str());
  print_table({"read by", "99 of 100 requests, ms", "ratio", "the longest, ms", "requests/s, ratio",
               "CPUs of the reader"},
              rows);
}

}  // namespace
}  // namespace fathom::bench

int main() {
  using namespace fathom;
  const support::TempDir folder;
  if (const auto redis = support::find_redis_server(folder.path()))
    bench::measure("redis-server, under redis-benchmark",
                   [&] { return std::make_unique<bench::Redis>(*redis, folder.path()); });
  else
    std::puts("Not measured: redis-tools is not installed.\n");
  if (const auto anvil = support::find_anvil())
    bench::measure("anvil, asked on 16 connections", [&] { return std::make_unique<bench::Node>(*anvil); });
  else
    std::puts("Not measured: anvil is neither in PATH nor named by ANVIL.\n");
}

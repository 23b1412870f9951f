// How much longer do the requests of a server take while somebody looks at its memory once a second: fathom watch, beside a
// loop that reads smaps? redis-server with half a gigabyte of keys, under redis-benchmark, which keeps 20 requests on the way
// and says how long 99 of 100 took. A new server for every run: it grows meanwhile, so a later run would be of another.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/support/rounds.h"
#include "bench/support/statistics.h"
#include "support/command.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::bench {
namespace {

using std::chrono::milliseconds;

struct Load {
  double per_second = 0, p99_ms = 0, longest_ms = 0;
};

class Server {
 public:
  Server(const std::string& program, const std::string& folder)
      : socket_(folder + "/redis.sock"),
        running_({program, "--port", "0", "--unixsocket", socket_, "--save", "", "--appendonly", "no"},
                 {.folder = folder}) {
    if (!support::wait_until([&] { return ::access(socket_.c_str(), F_OK) == 0; }, milliseconds(5000)))
      throw std::runtime_error("redis-server did not start: " + running_.kill_and_wait().describe());
  }
  ~Server() { ::unlink(socket_.c_str()); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  pid_t pid() const { return running_.pid(); }
  // Keys of 512 bytes, of a million different ones.
  Load set(int requests, int pipelined) const {
    const support::Outcome outcome =
        support::run({"redis-benchmark", "-s", socket_, "-t", "set", "-d", "512", "-r", "1000000", "-n",
                      std::to_string(requests), "-c", "20", "-P", std::to_string(pipelined), "--csv"},
                     {.limit = milliseconds(120'000)});
    // Behind a line of titles: "SET","45000.00", and the average, the least, 50, 95 and 99 of 100, the most.
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

 private:
  std::string socket_;
  support::Running running_;
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

void measure(const std::string& program, const std::string& folder) {
  Figure per_second(kNames.size()), p99(kNames.size()), longest(kNames.size());
  std::vector<std::vector<double>> cpu(kNames.size());
  int requests = 0;
  run_rounds(rounds(), kNames.size(), [&](int round, std::size_t contender) {
    const Server server(program, folder);
    server.set(1'000'000, 32);
    if (requests == 0) requests = static_cast<int>(server.set(20'000, 1).per_second * seconds_per_run());
    auto reader = start_reader(contender, server.pid());
    support::pause_ms(1000);  // what a reader does once is not the question
    const double cpu_before = reader ? support::cpu_seconds_of(reader->pid()) : 0;
    const Load load = server.set(requests, 1);
    if (reader && contender == 1)
      cpu[contender].push_back((support::cpu_seconds_of(reader->pid()) - cpu_before) /
                               (requests / load.per_second));
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
  print_table({"read by", "99 of 100 requests, ms", "ratio", "the longest, ms", "requests/s, ratio",
               "CPUs of the reader"},
              rows);
}

}  // namespace
}  // namespace fathom::bench

int main() {
  const fathom::support::TempDir folder;
  const auto program = fathom::support::find_redis_server(folder.path());
  if (!program) {
    std::puts("Not measured: redis-tools is not installed.\n");
    return 0;
  }
  fathom::bench::measure(*program, folder.path());
}

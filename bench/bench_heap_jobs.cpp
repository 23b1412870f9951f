// How much longer does a piece of work take when every allocation is recorded? Real programs, each compared
// with a run without a recorder and with heaptrack, round after round. Programs that end are measured from
// the start of the recorder to its end; the recorder starts servers, and the time they need for their
// requests counts.
#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench/support/programs.h"
#include "bench/support/rounds.h"
#include "bench/support/statistics.h"
#include "support/anvil.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::bench {
namespace {

using Words = std::vector<std::string>;

struct Recorder {
  std::string name;
  Words prefix;
  std::vector<std::string> files;
};

struct Job {
  std::string name;
  std::function<double(const Words& prefix)> seconds;
  bool heaptrack_sees = true;
};

Words behind(Words prefix, const Words& command) {
  prefix.insert(prefix.end(), command.begin(), command.end());
  return prefix;
}

// One array of small objects, which are sorted by a name and gathered.
Job group_json(const support::TempDir& folder) {
  const std::string path = folder / "rows.json";
  std::ofstream file(path);
  std::mt19937 random(1);
  const auto below = [&](unsigned end) { return static_cast<unsigned>(random()) % end; };
  file << '[';
  for (int i = 0; i < 66'000; ++i)
    file << fmt::format(
        "{}{{\"id\":{},\"name\":\"name {}\",\"group\":\"group {}\",\"tags\":[\"a{}\",\"b{}\"],"
        "\"weight\":{}.{},\"parent\":{{\"id\":{}}}}}",
        i == 0 ? "" : ",", i, below(100'000), below(500), below(7), below(11), below(1000), below(1000),
        below(66'000));
  file << ']';
  return {"jq group_by, 8 MB of JSON", [path](const Words& prefix) {
            return run(behind(prefix, {"jq", "group_by(.group) | length", path})).seconds;
          }};
}

Job check_headers(const std::string& compiler, const support::TempDir& folder) {
  const std::string source = folder / "headers.cpp", text = folder / "headers.ii";
  std::ofstream(source) << "#include <bits/stdc++.h>\n";
  run({"g++", "-std=c++20", "-E", source, "-o", text});
  return {"cc1plus -fsyntax-only, all headers of C++20", [compiler, text](const Words& prefix) {
            return run(behind(prefix, {compiler, "-quiet", "-std=c++20", "-fpreprocessed", "-fsyntax-only",
                                       text, "-o", "/dev/null"}))
                .seconds;
          }};
}

Job serve_redis(const std::string& program, const std::string& folder) {
  const std::string socket = folder + "/redis.sock";
  return {"redis-server, 600,000 set, get and lpush", [program, socket](const Words& prefix) {
            support::Running server(behind(prefix, {program, "--port", "0", "--unixsocket", socket, "--save",
                                                    "", "--appendonly", "no"}));
            const auto answers = [&] { return support::run({"redis-cli", "-s", socket, "ping"}).ok(); };
            if (!support::wait_until(answers, std::chrono::seconds(15)))
              throw std::runtime_error("redis-server did not start: " + server.kill_and_wait().describe());
            const double seconds = run({"redis-benchmark", "-s", socket, "-t", "set,get,lpush", "-n",
                                        "200000", "-c", "20", "-P", "8", "-r", "10000", "-q"})
                                       .seconds;
            (void)support::run({"redis-cli", "-s", socket, "shutdown", "nosave"});
            (void)server.wait(std::chrono::seconds(30));
            return seconds;
          }};
}

Job serve_node(const std::string& program) {
  return {"anvil, started fresh, 2,000 requests of which 400 are transfers",
          [program](const Words& prefix) { return support::Anvil(program, 18546, prefix).work(2000); },
          false};
}

void compare(const std::vector<Job>& jobs, const std::vector<Recorder>& recorders) {
  std::vector<std::vector<std::string>> rows;
  for (const Job& job : jobs) {
    Figure seconds(recorders.size());
    run_rounds(rounds(), recorders.size(), [&](int round, std::size_t i) {
      if (recorders[i].name.starts_with("heaptrack") && !job.heaptrack_sees) return;
      std::error_code missing;
      for (const std::string& file : recorders[i].files) std::filesystem::remove(file, missing);
      seconds.add(round, i, job.seconds(recorders[i].prefix));
    });
    for (std::size_t i = 0; i < recorders.size(); ++i) {
      if (seconds.values(i).empty()) continue;
      rows.push_back({i == 0 ? job.name : "", recorders[i].name, median_and_range(seconds.values(i), 2),
                      median_and_range(seconds.ratios(i), 2)});
    }
  }
  print_table({"work", "recorder", "seconds", "times as long as without"}, rows);
}

}  // namespace
}  // namespace fathom::bench

int main() {
  using namespace fathom;
  const support::TempDir folder;
  const std::string file = folder / "x.fathom", raw = folder / "heaptrack";
  const auto recorder = [&](const std::string& heap) {
    return support::fathom_command({"record", "-q", "--memory", heap, "--no-children", "-o", file, "--"});
  };
  std::vector<bench::Recorder> recorders = {{"none", {}, {}},
                                            {"fathom --heap=exact", recorder("--heap=exact"), {file}},
                                            {"fathom --heap", recorder("--heap"), {file}}};
  if (support::find_program("heaptrack"))
    recorders.push_back({"heaptrack -r", {"heaptrack", "-r", "-o", raw}, {raw + ".raw.zst"}});
  std::vector<bench::Job> jobs;
  if (support::find_program("jq")) jobs.push_back(bench::group_json(folder));
  if (const std::string cc1plus = bench::cc1plus(); !cc1plus.empty())
    jobs.push_back(bench::check_headers(cc1plus, folder));
  if (const auto redis = support::find_redis_server(folder.path());
      redis && support::find_program("redis-cli"))
    jobs.push_back(bench::serve_redis(*redis, folder.path()));
  if (const auto anvil = support::find_anvil()) jobs.push_back(bench::serve_node(*anvil));
  bench::compare(jobs, recorders);
  return 0;
}

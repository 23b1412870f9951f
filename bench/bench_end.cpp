// How long does the user wait from the end of the program to the end of the recorder? For a compiler, which
// has many stacks and an empty name cache at first; on an otherwise idle machine, and while two programs per
// CPU compete for it.
#include <fmt/core.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/support/programs.h"
#include "bench/support/rounds.h"
#include "bench/support/statistics.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::bench {
namespace {

using Words = std::vector<std::string>;

struct Recorder {
  std::string name;
  Words prefix;
  bool keeps_names;  // of its previous run, in the cache
};

struct Program {
  Words command;
  std::string witness;  // written at its very end
};

double modified(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw std::runtime_error("the program wrote no " + path);
  return static_cast<double>(status.st_mtim.tv_sec) + static_cast<double>(status.st_mtim.tv_nsec) * 1e-9;
}

// Either an otherwise idle machine, or `programs` that want a CPU all the time.
class Load {
 public:
  explicit Load(unsigned programs) {
    for (unsigned i = 0; i < programs; ++i) running_.emplace_back(Words{"sh", "-c", "while :; do :; done"});
  }

 private:
  std::vector<support::Running> running_;
};

double seconds_to_the_end(const Recorder& recorder, const Program& program, const std::string& cache) {
  if (!recorder.keeps_names) std::filesystem::remove_all(cache);
  Words command = recorder.prefix;
  command.insert(command.end(), program.command.begin(), program.command.end());
  const support::Outcome outcome =
      support::run(command, {.environment = {"XDG_CACHE_HOME=" + cache}, .limit = std::chrono::minutes(5)});
  const auto now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  if (!outcome.ok()) throw std::runtime_error(recorder.name + ": " + outcome.describe());
  return now - modified(program.witness);
}

}  // namespace
}  // namespace fathom::bench

int main() {
  using namespace fathom;
  const std::string cc1plus = bench::cc1plus();
  if (cc1plus.empty()) {
    fmt::print("Not measured: g++ has no cc1plus.\n\n");
    return 0;
  }
  const support::TempDir folder;
  const std::string source = folder / "work.cpp", text = folder / "work.ii", witness = folder / "work.s";
  std::ofstream(source)
      << "#include <bits/stdc++.h>\nbool f() { return std::regex_match(\"ab\", std::regex(\"a.*\")); }\n";
  bench::run({"g++", "-std=c++20", "-E", source, "-o", text});
  const bench::Program program{
      {cc1plus, "-quiet", "-std=c++20", "-fpreprocessed", "-O1", text, "-o", witness}, witness};
  const auto fathom = [&](const bench::Words& options) {
    bench::Words words{"record", "-q", "-o", folder / "x.fathom"};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("--");
    return support::fathom_command(words);
  };
  const std::vector<bench::Recorder> recorders{
      {"none", {}, true},
      {"fathom", fathom({}), false},
      {"fathom, names known", fathom({}), true},
      {"fathom --heap=exact", fathom({"--memory", "--heap=exact"}), false},
      {"perf dwarf 8 KB",
       {"perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "--call-graph", "dwarf,8192", "-o",
        folder / "perf.data", "--"},
       true},
  };
  for (const unsigned programs : {0u, 2 * std::thread::hardware_concurrency()}) {
    const bench::Load load(programs);
    bench::Figure seconds(recorders.size());
    bench::run_rounds(bench::rounds(), recorders.size(), [&](int round, std::size_t i) {
      seconds.add(round, i,
                  bench::seconds_to_the_end(recorders[i], program, folder / fmt::format("cache-{}", i)));
    });
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < recorders.size(); ++i)
      rows.push_back({recorders[i].name, bench::median_and_range(seconds.values(i), 2)});
    fmt::print("{} other programs want a CPU\n\n", programs);
    bench::print_table({"recorder", "from the end of the program to that of the recorder, s [range]"}, rows);
  }
  return 0;
}

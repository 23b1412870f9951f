// How long does a user wait for an answer about the heap: from the end of the program until the recording is
// written, for the first report, and for another one? Compared with heaptrack and heaptrack_print on the same
// program. One program only allocates, so there are many events: heaptrack_interpret 1.4 ends in
// std::bad_alloc there, so fathom has no peer. The other is a compiler, which has many stacks.
#include <fmt/core.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "bench/support/programs.h"
#include "bench/support/statistics.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::bench {
namespace {

struct Program {
  std::string name;
  std::vector<std::string> command;  // writes `witness` at its very end
  std::string witness;
};

struct Recorder {
  std::string name;
  std::vector<std::string> record, report;
  std::string file;
  std::regex events;  // in the report's text, with or without commas
};

struct Figures {
  std::vector<double> events, end_s, report_s, again_s, megabytes, file_bytes;
};

double time_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw std::runtime_error("the program wrote no " + path);
  return static_cast<double>(status.st_mtim.tv_sec) + static_cast<double>(status.st_mtim.tv_nsec) * 1e-9;
}
double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void measure(const Program& program, const Recorder& recorder, Figures& figures) {
  std::error_code missing;
  std::filesystem::remove(recorder.file, missing);
  std::vector<std::string> command = recorder.record;
  command.insert(command.end(), program.command.begin(), program.command.end());
  run(command);
  const double end_s = now() - time_of(program.witness);
  const support::Outcome first = run(recorder.report), again = run(recorder.report);
  std::smatch match;
  if (!std::regex_search(first.output, match, recorder.events))
    throw std::runtime_error(recorder.name + " does not say how many calls there were");
  figures.end_s.push_back(end_s);
  figures.report_s.push_back(first.seconds);
  figures.again_s.push_back(again.seconds);
  figures.megabytes.push_back(static_cast<double>(again.peak_rss_bytes) * 1e-6);
  figures.file_bytes.push_back(static_cast<double>(std::filesystem::file_size(recorder.file)));
  figures.events.push_back(std::stod(std::regex_replace(match[1].str(), std::regex(","), "")));
}

void compare(const Program& program, const std::vector<Recorder>& recorders) {
  std::vector<Figures> figures(recorders.size());
  for (int round = 0; round < rounds(); ++round)
    for (std::size_t i = 0; i < recorders.size(); ++i) measure(program, recorders[i], figures[i]);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < recorders.size(); ++i) {
    const Figures& row = figures[i];
    const double millions = median(row.events) * 1e-6;
    rows.push_back({recorders[i].name, number(millions, 1), median_and_range(row.end_s, 2),
                    median_and_range(row.report_s, 2), median_and_range(row.again_s, 2),
                    number(1000 * median(row.again_s) / millions, 2), number(median(row.megabytes), 0),
                    number(median(row.file_bytes) * 1e-6, 2)});
  }
  fmt::print("{}\n\n", program.name);
  print_table({"recorder", "million allocations", "recording complete after, s", "first report, s",
               "again, s", "ms per million", "memory, MB", "file, MB"},
              rows);
}

// Work for the compiler: the library's headers, and their templates instantiated for several types.
std::string source_in(const support::TempDir& folder) {
  const std::string path = folder / "work.cpp";
  std::ofstream file(path);
  for (const char* header :
       {"regex", "map", "unordered_map", "functional", "iostream", "algorithm", "future", "memory_resource"})
    file << "#include <" << header << ">\n";
  for (int i = 0; i < 60; ++i)
    file << fmt::format(
        "struct T{0} {{ int a; bool operator<(const T{0}& b) const {{ return a < b.a; }} }};\n"
        "int f{0}(int n) {{ std::map<T{0}, std::function<int(int)>> m; for (int i = 0; i < n; ++i) "
        "m[T{0}{{i}}] = [i](int k) {{ return i + k; }}; int s = 0; for (auto& [k, v] : m) s += v(k.a); "
        "return s; }}\n",
        i);
  return path;
}

}  // namespace
}  // namespace fathom::bench

int main() {
  using namespace fathom;
  const support::TempDir folder;
  const std::string file = folder / "x.fathom", heaptrack = folder / "heaptrack", witness = folder / "done";
  std::vector<bench::Recorder> recorders = {
      {"fathom --heap=exact",
       support::fathom_command(
           {"record", "-q", "--memory", "--heap=exact", "--no-children", "-o", file, "--"}),
       support::fathom_command({"report", "--heap", file}), file, std::regex("in ([0-9,]+) calls")}};
  if (support::find_program("heaptrack") && support::find_program("heaptrack_print"))
    recorders.push_back({"heaptrack, heaptrack_print",
                         {"heaptrack", "-o", heaptrack},
                         {"heaptrack_print", heaptrack + ".zst"},
                         heaptrack + ".zst",
                         std::regex("calls to allocation functions: ([0-9]+)")});
  const std::string seconds = fmt::format("{}", bench::seconds_per_run());
  // exec replaces the shell by the program, so that the program is recorded.
  bench::compare({"Two threads that only allocate, stacks of 15 frames",
                  {MALLOC_STORM, "2", "15", seconds, witness},
                  witness},
                 {recorders[0]});
  if (const std::string cc1plus = bench::cc1plus(); !cc1plus.empty()) {
    const std::string source = bench::source_in(folder), text = folder / "work.ii";
    bench::run({"g++", "-std=c++20", "-E", source, "-o", text});
    bench::compare({"A compiler: cc1plus -O1",
                    {cc1plus, "-quiet", "-fpreprocessed", "-std=c++20", "-O1", text, "-o", witness},
                    witness},
                   recorders);
  }
  return 0;
}

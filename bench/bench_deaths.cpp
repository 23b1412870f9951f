// Is every death explained? A program that leaks at a known place and a known rate, and counts each block, is
// killed at the limit of its control group, again and again; a table counts the reports that name the right
// site, with the counted bytes within one percent, and the stack that reached the limit. Sampled bytes are
// estimates: of 500 MB in 64 KiB blocks, sampled every 512 KiB, one in twenty is off by more than about 6
// percent. Needs root. Exits with 1 if a death is not explained.
//   bench_deaths [MB_PER_SECOND...]     (100, 1000, 2500)     ROUNDS (20), LIMIT_MB (512)
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/control_group.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::bench {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

struct Way {
  const char* name;
  std::vector<std::string> options;
  bool takes_stack_at_wall() const { return std::ranges::find(options, "--flight") != options.end(); }
};
const std::vector<Way> kWays = {
    {"flight, exact", {"--heap=exact", "--flight"}},
    {"flight, sampled", {"--heap", "--flight"}},
    {"exact", {"--heap=exact", "--memory"}},
};

struct Row {
  int deaths = 0, explained = 0, within = 0, walls = 0;
  double worst_error = 0, oldest_look_s = 0, lost = 0, largest_file = 0;
};

int setting(const char* name, int usual) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : usual;
}

std::array<std::uint64_t, 4> read_book(const std::string& path) {
  std::array<std::uint64_t, 4> numbers{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(numbers.data()), sizeof(numbers));
  return numbers;
}

// The program, control group and recording of one death.
void die(const std::string& rate, const Way& way, int limit_mb, Row& row) {
  const support::TempDir folder;
  const std::string bytes = std::to_string(std::uint64_t(limit_mb) << 20);
  std::string why;
  const auto group =
      support::ControlGroup::make("memory", {{"memory.max", "memory.limit_in_bytes"}, {bytes, bytes}}, why);
  if (!group) throw std::runtime_error(why);
  const std::string book = folder / "book", go = folder / "go", file = folder / "x.fathom";
  support::Running target(group->inside({KNOWN_LEAK, rate, "20", std::to_string(2 * limit_mb), book, go}));
  if (!support::wait_until([&] { return std::ifstream(book).good(); }, milliseconds(30'000)))
    throw std::runtime_error("the program did not begin");
  std::vector<std::string> options = way.options;
  options.insert(options.end(), {"-p", std::to_string(target.pid())});
  support::Running record = support::start_recording(file, options);
  std::ofstream(go).put('\n');
  const support::Outcome recorded = record.wait(milliseconds(120'000));
  target.wait(milliseconds(60'000));
  const support::Outcome report = support::fathom({"report", file, "--json"});
  const json parsed = json::parse(report.output, nullptr, false);
  ++row.deaths;
  if (!parsed.is_object() || !parsed.contains("death") || parsed["death"]["held_by"].empty()) {
    fmt::print(stderr, "not explained: {} MB/s, {}\n{}\n{}\n", rate, way.name, recorded.describe(),
               report.describe());
    return;
  }
  const json& death = parsed["death"];
  const json& holder = death["held_by"][0];
  if (holder["name"] == "insert_into_index") ++row.explained;
  const double truth = static_cast<double>(read_book(book)[0]);
  const double error = std::abs(holder["bytes"].get<double>() - truth) / truth;
  if (error <= 0.01) ++row.within;
  row.worst_error = std::max(row.worst_error, error);
  row.walls += death["wall_stack"].empty() ? 0 : 1;
  if (death["wall_stack"].empty() && death["wall_unseen"].is_string())
    fmt::print(stderr, "no stack at the wall: {} MB/s, {}: {}\n", rate, way.name,
               death["wall_unseen"].get<std::string>());
  row.lost += death["lost_events"].get<double>();
  if (death["last_look"].is_object())
    row.oldest_look_s = std::max(row.oldest_look_s, death["last_look"]["before_end_s"].get<double>());
  row.largest_file = std::max(row.largest_file, static_cast<double>(std::filesystem::file_size(file)));
}

int run(std::vector<std::string> rates) {
  if (rates.empty()) rates = {"100", "1000", "2500"};
  const int rounds = setting("ROUNDS", 20), limit_mb = setting("LIMIT_MB", 512);
  fmt::print(
      "| MB/s | recorded | deaths | right site | within 1 % | worst | stack at the wall | events lost | "
      "oldest last look, ms | file, KB |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  bool all = true;
  for (const std::string& rate : rates)
    for (const Way& way : kWays) {
      Row row;
      for (int round = 0; round < rounds; ++round) die(rate, way, limit_mb, row);
      all = all && row.explained == row.deaths;
      fmt::print("| {} | {} | {} | {} | {} | {:.3f} % | {} | {:.0f} | {:.0f} | {:.0f} |\n", rate, way.name,
                 row.deaths, row.explained, row.within, 100 * row.worst_error,
                 way.takes_stack_at_wall() ? std::to_string(row.walls) : "-", row.lost,
                 1000 * row.oldest_look_s, row.largest_file / 1024);
      std::fflush(stdout);
    }
  return all ? 0 : 1;
}

}  // namespace
}  // namespace fathom::bench

int main(int argc, char** argv) {
  return fathom::bench::run({argv + 1, argv + argc});
}

#include "bench/support/profilers.h"

#include <fmt/format.h>
#include <signal.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "support/fathom_program.h"

namespace fathom::bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A stack is complete if its last frame is a function where threads and processes start.
void judge_perf_script(const std::string& text, Recorded& recorded) {
  constexpr std::array<std::string_view, 4> kStarts{"_start", "clone3", "__clone3", "clone"};
  std::istringstream lines(text);
  int complete = 0;
  std::string last;
  const auto end_sample = [&] {
    if (last.empty()) return;
    ++recorded.samples;
    for (const std::string_view start : kStarts) complete += last == start ? 1 : 0;
    last.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string address;
    if (line.empty()) {
      end_sample();
    } else if (!(words >> address >> last)) {
      last = "?";
    }
  }
  end_sample();
  recorded.complete_percent = recorded.samples == 0 ? 0 : 100.0 * complete / recorded.samples;
}

std::vector<std::string> sources_of(Kind kind) {
  const bool cpu =
      kind == Kind::kFathomDefault || kind == Kind::kFathomCpu || kind == Kind::kFathomCpuAndWaits;
  const bool waits = kind == Kind::kFathomDefault || kind == Kind::kFathomWaits ||
                     kind == Kind::kFathomCpuAndWaits || kind == Kind::kFathomWaitsAndMemory;
  const bool memory =
      kind == Kind::kFathomDefault || kind == Kind::kFathomMemory || kind == Kind::kFathomWaitsAndMemory;
  std::vector<std::string> sources;
  if (cpu) sources.emplace_back("--cpu");
  if (waits) sources.emplace_back("--off-cpu");
  if (memory) sources.emplace_back("--memory");
  return sources;
}

bool samples_cpu(Kind kind) {
  return kind == Kind::kFathom || kind == Kind::kFathomDefault || kind == Kind::kFathomCpu ||
         kind == Kind::kFathomCpuAndWaits;
}

const char* program_before() {
  return std::getenv("BEFORE");
}

std::string name_of_engine(const Profiler& profiler) {
  const auto& [kind, frequency_hz, before] = profiler;
  switch (kind) {
    case Kind::kNone:
      return "nothing";
    case Kind::kFathom:
      return fmt::format("fathom, {} Hz", frequency_hz);
    case Kind::kFathomDefault:
    case Kind::kFathomCpu:
    case Kind::kFathomWaits:
    case Kind::kFathomMemory:
    case Kind::kFathomCpuAndWaits:
    case Kind::kFathomWaitsAndMemory:
      return fmt::format("fathom {}, {} Hz", fmt::join(sources_of(kind), " "), frequency_hz);
    case Kind::kFathomHeap:
      return "fathom --heap";
    case Kind::kFathomHeapExact:
      return "fathom --heap=exact";
    case Kind::kPerfFramePointers:
      return fmt::format("perf fp, {} Hz", frequency_hz);
    case Kind::kPerfDwarf:
      return fmt::format("perf dwarf 8 KB, {} Hz", frequency_hz);
  }
  return "";
}

std::vector<std::string> command_of_engine(const Profiler& profiler, pid_t pid, const std::string& file) {
  const auto& [kind, frequency_hz, before] = profiler;
  const std::string target = std::to_string(pid);
  const std::string frequency = std::to_string(frequency_hz);
  switch (kind) {
    case Kind::kNone:
      return {"sleep", "3600"};
    case Kind::kFathom:
      return support::fathom_command(
          {"record", "--cpu", "--memory", "-F", frequency, "-o", file, "-p", target});
    case Kind::kFathomDefault:
    case Kind::kFathomCpu:
    case Kind::kFathomWaits:
    case Kind::kFathomMemory:
    case Kind::kFathomCpuAndWaits:
    case Kind::kFathomWaitsAndMemory: {
      std::vector<std::string> command{"record", "-F", frequency, "-o", file, "-p", target};
      const auto sources = sources_of(kind);
      command.insert(command.end(), sources.begin(), sources.end());
      return support::fathom_command(command);
    }
    case Kind::kFathomHeap:
      return support::fathom_command({"record", "--memory", "--heap", "-o", file, "-p", target});
    case Kind::kFathomHeapExact:
      return support::fathom_command({"record", "--memory", "--heap=exact", "-o", file, "-p", target});
    case Kind::kPerfFramePointers:
      return {"perf",         "record", "-q", "-e", "cpu-clock", "-F",  frequency,
              "--call-graph", "fp",     "-o", file, "-p",        target};
    case Kind::kPerfDwarf:
      return {"perf",         "record",     "-q", "-e", "cpu-clock", "-F",  frequency,
              "--call-graph", "dwarf,8192", "-o", file, "-p",        target};
  }
  return {};
}

}  // namespace

std::string Profiler::name() const {
  return name_of_engine(*this) + (before ? ", the build before" : "");
}

std::vector<std::string> Profiler::command(pid_t pid, const std::string& file) const {
  std::vector<std::string> command = command_of_engine(*this, pid, file);
  if (before) command.front() = program_before();
  return command;
}

std::vector<Profiler> all_profilers() {
  return {{Kind::kNone, 0},       {Kind::kFathom, 99},  {Kind::kPerfFramePointers, 99},
          {Kind::kPerfDwarf, 99}, {Kind::kFathom, 999}, {Kind::kPerfFramePointers, 999},
          {Kind::kPerfDwarf, 999}};
}

std::vector<Profiler> parts_of_the_default() {
  std::vector<Profiler> parts{{Kind::kNone, 0}};
  for (const Kind kind : {Kind::kFathomDefault, Kind::kFathomCpu, Kind::kFathomWaits, Kind::kFathomMemory,
                          Kind::kFathomCpuAndWaits, Kind::kFathom, Kind::kFathomWaitsAndMemory})
    parts.push_back({kind, 999});
  return parts;
}

std::vector<Profiler> engines_beside_before() {
  if (program_before() == nullptr) throw std::runtime_error("BEFORE names no program");
  std::vector<Profiler> engines{{}};
  for (const Kind kind : {Kind::kFathomCpu, Kind::kFathomWaits, Kind::kFathomHeap, Kind::kFathomHeapExact})
    for (const bool before : {false, true}) engines.push_back({kind, 999, before});
  return engines;
}

Recording::Recording(const Profiler& profiler, pid_t pid, std::string file)
    : profiler_(profiler),
      file_(std::move(file)),
      running_(profiler.command(pid, file_)),
      start_(Clock::now()) {
  if (profiler_.kind == Kind::kNone) return;
  support::pause_ms(400);
  if (running_.finished()) {
    throw std::runtime_error(profiler_.name() + ": " + running_.wait(milliseconds(1000)).describe());
  }
}

Recorded Recording::stop() {
  Recorded recorded;
  recorded.seconds = since(start_);
  const auto stop_start = Clock::now();
  running_.send(profiler_.kind == Kind::kNone ? SIGKILL : SIGINT);
  const support::Outcome outcome = running_.wait(milliseconds(60'000));
  recorded.stop_seconds = since(stop_start);
  if (profiler_.kind == Kind::kNone) return recorded;
  if (outcome.timed_out) throw std::runtime_error(profiler_.name() + " did not stop: " + outcome.describe());
  recorded.cpu_seconds = outcome.cpu_seconds;
  recorded.rss_bytes = outcome.peak_rss_bytes;
  recorded.file_bytes = std::filesystem::file_size(file_);
  return recorded;
}

void Recording::judge(Recorded& recorded) const {
  if (profiler_.kind == Kind::kNone) return;
  const bool is_perf = profiler_.kind == Kind::kPerfFramePointers || profiler_.kind == Kind::kPerfDwarf;
  if (!is_perf && !samples_cpu(profiler_.kind)) {
    recorded.complete_percent = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  if (!is_perf) {
    const support::Report report(file_);
    recorded.samples = static_cast<int>(report.samples());
    recorded.complete_percent = report.complete_percent();
    return;
  }
  const support::Outcome script = support::run({"perf", "script", "--no-inline", "-i", file_, "-F", "ip,sym"},
                                               {.limit = milliseconds(120'000)});
  if (!script.ok()) throw std::runtime_error("perf script: " + script.describe());
  judge_perf_script(script.output, recorded);
}

}  // namespace fathom::bench

// How long a page takes to open: an hour of 32 threads with their heap, and a flame graph of a million calls.
// The benchmark makes the recording (big_profile.h) and writes it through the store; `fathom view` writes the
// page to a file, a headless Chromium opens it, and the benchmark queries it. Prints figures with their
// limits.
//
//   bench_page real RECORDING [FOLDER]    a real one, merged and repeated until it has an hour of 32 threads
//   bench_page hour|million [FOLDER]      CORES=2: the number of threads, out of 32, that run at a time
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "bench/support/big_profile.h"
#include "browser/chromium.h"
#include "model/store/reader.h"
#include "model/store/writer.h"

namespace fathom::bench {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A second of heap has a few rows for each of 2,000 sites.
void add_heap(model::Profile& profile) {
  std::mt19937_64 random(3);
  model::HeapTables& tables = profile.heap;
  model::Heap heap;
  heap.start_ns = profile.meta.start_ns;
  heap.end_ns = profile.meta.end_ns;
  tables.heaps.push_back(heap);
  constexpr std::uint32_t kSites = 2000;
  for (std::uint32_t i = 0; i < kSites; ++i) {
    tables.sites.push_back({{0},
                            profile.samples[random() % profile.samples.size()].stack,
                            {0},
                            {static_cast<std::uint32_t>(i % profile.threads.size())},
                            0});
    for (std::uint8_t bucket = 5; bucket < 12; ++bucket)
      tables.histograms.push_back({{i}, model::HeapHistogramKind::kSize, bucket, {100.0 * bucket, 0}});
  }
  double live = 0;
  const auto seconds = static_cast<std::uint32_t>((heap.end_ns - heap.start_ns) / 1'000'000'000);
  for (std::uint32_t second = 0; second < std::max(1u, seconds); ++second) {
    model::HeapSlice slice;
    slice.start_ns = heap.start_ns + second * 1'000'000'000ull;
    slice.end_ns = std::min(heap.end_ns, slice.start_ns + 1'000'000'000);
    for (std::uint32_t site = second % 10; site < kSites; site += 10) {
      model::HeapRow row;
      row.slice = {second};
      row.site = {site};
      row.allocated = {100, 100.0 * (64 + site)};
      row.freed = {99, 99.0 * (64 + site)};
      live += row.allocated.bytes - row.freed.bytes;
      tables.rows.push_back(row);
    }
    slice.live_bytes = slice.peak_bytes = live;
    slice.peak_ns = slice.end_ns;
    tables.slices.push_back(slice);
  }
}

model::Profile hour(double cores) {
  constexpr double kSeconds = 3600, kHertz = 999;
  model::Profile profile = big_profile({.samples = static_cast<int>(kSeconds * kHertz * cores)});
  const std::uint64_t start = profile.meta.start_ns,
                      apart = static_cast<std::uint64_t>(1e9 / (kHertz * cores));
  for (std::size_t i = 0; i < profile.samples.size(); ++i) profile.samples[i].time_ns = start + i * apart;
  profile.meta.end_ns = start + profile.samples.size() * apart;
  profile.meta.frequency_hz = 999;
  add_heap(profile);
  return profile;
}

// 50,000 stacks, each with 20 calls that no other stack has.
model::Profile million() {
  model::Profile profile = big_profile({.samples = 1000});
  std::vector<model::FrameId> frames;
  for (std::uint32_t i = 1; i < profile.frames.size(); ++i) frames.push_back({i});
  model::Builder builder(profile);
  std::mt19937_64 random(4);
  for (int i = 0; i < 50'000; ++i) {
    model::StackId stack{0};
    for (int depth = 0; depth < 20; ++depth) stack = builder.stack(stack, frames[random() % frames.size()]);
    model::Sample sample = profile.samples[static_cast<std::size_t>(i) % 1000];
    sample.stack = stack;
    sample.value = 1 + static_cast<std::int64_t>(random() % 50);
    profile.samples.push_back(sample);
  }
  profile.quality.samples = profile.samples.size();
  return profile;
}

// Repeats a real recording until it is an hour long, and its threads until there are at least 32.
void repeat(model::Profile& profile) {
  const std::uint64_t length = profile.meta.end_ns - profile.meta.start_ns;
  const auto times = static_cast<std::uint32_t>((3'600'000'000'000 + length - 1) / length);
  const auto threads = static_cast<std::uint32_t>(profile.threads.size());
  const std::uint32_t copies = (32 + threads - 1) / threads;
  for (std::uint32_t copy = 1; copy < copies; ++copy)
    for (std::uint32_t i = 0; i < threads; ++i) {
      model::Thread thread = profile.threads[i];
      thread.tid += static_cast<std::int32_t>(copy) * 4'000'000;
      profile.threads.push_back(thread);
    }
  const auto again = [&](auto& rows, std::uint32_t of_each, auto move) {
    const auto once = rows;
    rows.reserve(once.size() * times * of_each);
    rows.clear();
    for (std::uint32_t time = 0; time < times; ++time)
      for (const auto& row : once)
        for (std::uint32_t copy = 0; copy < of_each; ++copy) {
          rows.push_back(row);
          move(rows.back(), time, copy);
        }
  };
  const auto of_copy = [&](model::ThreadId& thread, std::uint32_t copy) {
    if (thread != model::kNoThread) thread.value += copy * threads;
  };
  again(profile.samples, copies, [&](model::Sample& row, std::uint32_t time, std::uint32_t copy) {
    row.time_ns += time * length;
    of_copy(row.thread, copy);
  });
  again(profile.waits, copies, [&](model::Wait& row, std::uint32_t time, std::uint32_t copy) {
    row.start_ns += time * length;
    of_copy(row.thread, copy);
    of_copy(row.waker, copy);
  });
  again(profile.memory_ranges, 1,
        [&](model::MemoryRange& row, std::uint32_t time, std::uint32_t) { row.time_ns += time * length; });
  const auto slices = static_cast<std::uint32_t>(profile.heap.slices.size());
  const double left = slices > 0 ? profile.heap.slices.back().live_bytes : 0;
  again(profile.heap.slices, 1, [&](model::HeapSlice& row, std::uint32_t time, std::uint32_t) {
    row.start_ns += time * length;
    row.end_ns += time * length;
    row.peak_ns += time * length;
    row.live_bytes += time * left;
    row.peak_bytes += time * left;
  });
  again(profile.heap.rows, 1,
        [&](model::HeapRow& row, std::uint32_t time, std::uint32_t) { row.slice.value += time * slices; });
  for (model::Heap& heap : profile.heap.heaps) heap.end_ns += (times - 1) * length;
  for (model::Series& series : profile.series) {
    const bool counts = profile.strings[series.unit] != "bytes";
    const double more =
        counts && !series.points.empty() ? series.points.back().value - series.points[0].value : 0;
    again(series.points, 1, [&](model::Point& point, std::uint32_t time, std::uint32_t) {
      point.time_ns += time * length;
      point.value += time * more;
    });
  }
  profile.meta.end_ns += (times - 1) * length;
  profile.quality.samples = profile.samples.size();
}

struct Run {
  double wall_s = 0;
  double peak_mib = 0;
  int status = -1;
};
Run run(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const double start = now_s();
  Run out;
  // Until exec, shared memory counts as the child's, and this process made the recording: so it returns its
  // memory first.
  ::malloc_trim(0);
  const pid_t pid = ::fork();
  if (pid < 0) return out;
  if (pid == 0) {
    ::execv(FATHOM, argv.data());
    ::_exit(127);
  }
  rusage used{};
  ::wait4(pid, &out.status, 0, &used);
  out.wall_s = now_s() - start;
  out.peak_mib = static_cast<double>(used.ru_maxrss) / 1024;
  return out;
}

void say(const char* what, double value, const char* unit, const char* reach) {
  fmt::print("  {:<58} {:>9.1f} {:<4} {}\n", what, value, unit, reach);
  std::fflush(stdout);
}

// The largest renderer below this process: its own memory, and the CPU time of all its threads.
struct Tab {
  double mib = 0, cpu_ms = 0;
};
Tab tab() {
  const auto field = [](const std::string& status, std::string_view name) {
    const std::size_t at = status.find(name);
    return at == std::string::npos ? 0L : std::strtol(status.c_str() + at + name.size(), nullptr, 10);
  };
  Tab most;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string folder = entry.path().string();
    const auto command = read_file(folder + "/cmdline");
    if (!command || command->find("--type=renderer") == std::string::npos) continue;
    const std::string status = read_file(folder + "/status").value_or("");
    long above = field(status, "PPid:");
    for (int i = 0; i < 8 && above > 1 && above != ::getpid(); ++i)
      above = field(read_file(fmt::format("/proc/{}/status", above)).value_or(""), "PPid:");
    const double mib = static_cast<double>(field(status, "RssAnon:")) / 1024;
    if (above != ::getpid() || mib < most.mib) continue;
    // Fields 14 and 15; the first field after the name in brackets is 3 (proc_pid_stat(5)).
    const std::string stat = read_file(folder + "/stat").value_or("");
    std::istringstream fields(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
    std::string skipped;
    for (int i = 3; i < 14; ++i) fields >> skipped;
    double user = 0, kernel = 0;
    fields >> user >> kernel;
    most = {mib, (user + kernel) * 1000 / static_cast<double>(::sysconf(_SC_CLK_TCK))};
  }
  return most;
}

// Milliseconds that an expression, possibly a promise, takes in the page: the median of `rounds`, and the CPU
// time of the tab for each of them, which other programs on the machine do not increase.
void say_ms(browser::Chromium& chromium, const char* what, const char* reach, const std::string& expression,
            int rounds = 9) {
  const std::string script = "(async () => { const times = []; for (let i = 0; i < " +
                             std::to_string(rounds) + "; i++) { const from = performance.now(); await (" +
                             expression +
                             ")(i); times.push(performance.now() - from); } "
                             "return times.sort((a, b) => a - b)[times.length >> 1]; })()";
  const double before = tab().cpu_ms;
  auto value = chromium.evaluate(script);
  if (!value || !value->is_number()) {
    fmt::print("{}: {}\n", expression, value ? value->dump() : value.error().message);
    return;
  }
  say(what, value->get<double>(), "ms", reach);
  say("  its CPU time", (tab().cpu_ms - before) / rounds, "ms", "");
}

int measure(const std::string& question, const std::string& folder, const std::string& real) {
  const std::string recording = folder + "/" + question + ".fathom", page = folder + "/" + question + ".html";
  {
    const char* cores = std::getenv("CORES");
    model::Profile profile;
    if (question == "real") {
      auto read = store::read(real);
      if (!read) {
        fmt::print("{}\n", read.error().message);
        return 1;
      }
      profile = std::move(*read);
      repeat(profile);
    } else {
      profile = question == "hour" ? hour(cores ? std::atof(cores) : 2) : million();
    }
    fmt::print("{}: {} samples, {} stacks, {} waits, {} threads, {} rows of the heap\n", question,
               profile.samples.size(), profile.stacks.size(), profile.waits.size(), profile.threads.size(),
               profile.heap.rows.size());
    std::filesystem::remove(recording);
    auto writer = store::Writer::create(recording);
    if (!writer || !writer->finish(profile)) {
      fmt::print("{} cannot be written\n", recording);
      return 1;
    }
  }
  const Run frozen = run({"fathom", "view", recording, "--html", page, "--force"});
  if (frozen.status != 0) return 1;
  say("command to frozen page", frozen.wall_s, "s", "");
  say("its memory at most (the server's, too)", frozen.peak_mib, "MiB", "at most 300");
  say("frozen page", static_cast<double>(std::filesystem::file_size(page)) / 1e6, "MB", "at most 15");
  auto chromium = browser::Chromium::start(1400, 900);
  if (!chromium) {
    fmt::print("{}\n", chromium.error().message);
    return 1;
  }
  const double start = now_s();
  if (!(*chromium)->open("file://" + page)) return 1;
  (void)(*chromium)->evaluate(
      "new Promise((done) => { const look = () => window.fathom ? requestAnimationFrame(() => done(1)) : "
      "setTimeout(look, 5); look(); })");
  say("open: address to first picture of all views", now_s() - start, "s", "at most 2");
  say("  its CPU time", tab().cpu_ms / 1000, "s", "");
  // A step, including the frame that shows its result.
  const std::string frame = "await new Promise((done) => requestAnimationFrame(() => done())); ";
  const std::string brush =
      "async (i) => { const n = window.fathom.slices; window.fathom.change({ range: [10 + i * 3, "
      "Math.floor(n / 2) + i * 5] }, true); " +
      frame + "}";
  if (question != "million") {
    say_ms(**chromium, "brush to flame graph and lanes", "at most 100", brush);
    (void)(*chromium)->evaluate("window.fathom.change({ tab: 'top' })");
    say_ms(**chromium, "brush to table", "at most 100", brush);
    (void)(*chromium)->evaluate("window.fathom.change({ tab: 'flame', metric: 'heap-live' })");
    say_ms(**chromium, "brush to flame graph of the heap", "at most 100", brush);
  }
  (void)(*chromium)->evaluate(
      "window.fathom.change({ tab: 'flame', metric: 'cpu', range: null, byThread: false })");
  say("calls in the flame graph",
      (*chromium)
          ->evaluate("window.fathom.children.value.first.length - 1")
          .value_or(browser::Json(-1))
          .get<double>(),
      "", "");
  say_ms(**chromium, "draw again after a zoom", "16",
         "async (i) => { window.fathom.zoom.value = 1 + i; " + frame + "}");
  (void)(*chromium)->evaluate("window.fathom.zoom.value = 0");
  say_ms(**chromium, "hover", "16",
         "async (i) => { const at = document.querySelector('.flame canvas'), b = at.getBoundingClientRect(); "
         "at.dispatchEvent(new MouseEvent('mousemove', { clientX: b.x + 60 + 40 * i, clientY: b.y + 70, "
         "bubbles: true })); " +
             frame + "}");
  say_ms(**chromium, "search", "at most 150",
         "async (i) => { window.fathom.search.value = `function_${10 + i}`; " + frame + "}");
  say("memory of the tab, after all of that", tab().mib, "MiB", "at most 300");
  return 0;
}

}  // namespace
}  // namespace fathom::bench

int main(int argc, char** argv) {
  const std::string question = argc > 1 ? argv[1] : "";
  const bool real = question == "real";
  if ((question != "hour" && question != "million" && !real) || (real && argc < 3)) {
    fmt::print("bench_page hour|million [FOLDER]\nbench_page real RECORDING [FOLDER]\n");
    return 2;
  }
  const int folder = real ? 3 : 2;
  return fathom::bench::measure(question, argc > folder ? argv[folder] : "/tmp", real ? argv[2] : "");
}

// fathom serve, as scrapers and users meet it: a real process that is recorded without end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "linux/metrics/http_get.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kTarget = "cpu_shares";

struct Fetched {
  int status = 0;
  std::string body;
  double seconds = 0;
};

class ServeRun : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = why_no_bpf()) GTEST_SKIP() << "needs BPF: " << *why;
  }
  void start_target() {
    target_.reset();
    target_.emplace(std::vector<std::string>{CPU_SHARES, "600"});
  }
  void serve(std::vector<std::string> more = {}, const char* target = kTarget) {
    std::vector<std::string> arguments{"serve",    target, "--store",  folder_ / "store",
                                       "--window", "2",    "--listen", "127.0.0.1:0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    serve_.emplace(fathom_command(arguments));
    ASSERT_TRUE(wait_until(
        [&] {
          const std::string text = serve_->errors_so_far();
          const std::size_t start = text.find("http://"), end = text.find("/\n", start);
          if (start != std::string::npos && end != std::string::npos)
            address_ = text.substr(start, end - start);
          return !address_.empty() || serve_->finished();
        },
        milliseconds(60'000)));
    ASSERT_FALSE(address_.empty()) << serve_->errors_so_far();
  }
  bool wait_for_recording() {
    return wait_until(
        [&] {
          return get("/metrics").body.find("fathom_target_up{target=\"cpu_shares\"} 1") != std::string::npos;
        },
        milliseconds(60'000));
  }
  Fetched get(const std::string& path) const {
    const auto url = metrics::parse_url(address_ + path);
    if (!url) return {};
    const std::uint64_t start = monotonic_ns();
    const auto fetched = metrics::http_get(*url, start + 60'000'000'000, -1, "*/*");
    const double seconds = static_cast<double>(monotonic_ns() - start) * 1e-9;
    if (!fetched) return {-1, fetched.error().message, seconds};
    return {fetched->status, fetched->body, seconds};
  }
  json report_of(const std::vector<std::string>& arguments) const {
    std::vector<std::string> all{"report", "--json"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Outcome outcome = fathom(all);
    if (!outcome.ok()) throw std::runtime_error(outcome.describe());
    return json::parse(outcome.output);
  }
  std::size_t windows() const {
    std::error_code problem;
    std::size_t count = 0;
    for (fs::directory_iterator entry(folder_ / ("store/" + std::string(kTarget)), problem), end;
         !problem && entry != end; entry.increment(problem))
      count += entry->path().extension() == ".fathom" ? 1 : 0;
    return count;
  }
  bool wait_for_windows(std::size_t count) const {
    return wait_until([&] { return windows() >= count; }, milliseconds(60'000));
  }

  TempDir folder_;
  std::optional<Running> target_, serve_;
  std::string address_;
};

TEST_F(ServeRun, TenClientsAtOnceGetTheSameTwoSeconds) {
  start_target();
  serve();
  ASSERT_TRUE(wait_for_recording());
  pause_ms(1000);  // names of what it does most are known
  std::vector<Fetched> answers(10);
  std::vector<std::thread> clients;
  for (Fetched& answer : answers)
    clients.emplace_back([&] { answer = get("/debug/pprof/profile?seconds=2"); });
  for (std::thread& client : clients) client.join();
  double least = 1e9, most = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_EQ(answers[i].status, 200) << answers[i].body;
    EXPECT_GE(answers[i].seconds, 2.0);
    EXPECT_LE(answers[i].seconds, 2.5);
    const std::string file = folder_ / (std::to_string(i) + ".pb.gz");
    std::ofstream(file, std::ios::binary) << answers[i].body;
    const json report = report_of({file});
    EXPECT_NEAR(report.at("duration_s").get<double>(), 2, 0.05);
    const double samples = report.at("quality").at("samples").get<double>();
    least = std::min(least, samples);
    most = std::max(most, samples);
  }
  EXPECT_GT(least, 50) << "cpu_shares is busy";
  EXPECT_LE(most - least, std::max(3.0, 0.1 * most)) << "they asked within some milliseconds";
}

TEST_F(ServeRun, EndpointsServeWhatTheyPromiseAndNothingElse) {
  start_target();
  serve();
  ASSERT_TRUE(wait_for_recording());
  const Fetched discovery = get("/sd");
  const json groups = json::parse(discovery.body);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].at("labels").at("service_name"), kTarget);
  const std::string prefix = groups[0].at("labels").at("__profile_path_prefix__");
  for (const char* kind : {"block", "mutex", "block?seconds=1", "mutex?seconds=1", "profile?seconds=1"}) {
    const Fetched profile = get(prefix + "/debug/pprof/" + kind);
    EXPECT_EQ(profile.status, 200) << kind << ": " << profile.body;
    EXPECT_EQ(profile.body.substr(0, 2), "\x1f\x8b") << kind;
  }
  EXPECT_EQ(get(prefix + "/debug/pprof/heap").status, 404) << "it is not recorded";
  EXPECT_EQ(get("/debug/pprof/cmdline").status, 404);
  EXPECT_EQ(get("/p/other/metrics").status, 404);
  EXPECT_EQ(get("/debug/pprof/block?seconds=x").status, 400);
  EXPECT_TRUE(wait_until(
      [&] {
        return get(prefix + "/metrics").body.find("fathom_cpu_seconds_total") != std::string::npos &&
               get("/metrics").body.find("fathom_memory_rss_bytes") != std::string::npos;
      },
      milliseconds(60'000)))
      << get("/metrics").body;
}

TEST_F(ServeRun, AKillLeavesTheTargetAsItWasAndAReadableStore) {
  start_target();
  serve();
  ASSERT_TRUE(wait_for_windows(2)) << serve_->errors_so_far();
  serve_->kill_and_wait();
  EXPECT_FALSE(target_->finished());
  const std::string status = read_file("/proc/" + std::to_string(target_->pid()) + "/status").value_or("");
  EXPECT_THAT(status, HasSubstr("TracerPid:\t0\n"));
  const json report = report_of({folder_ / "store"});
  EXPECT_GT(report.at("quality").at("samples").get<double>(), 50);
  EXPECT_THAT(fathom({"list", folder_ / "store/cpu_shares"}).output, HasSubstr(kTarget));
  // Nothing half-written is left next to the windows.
  for (const auto& entry : fs::directory_iterator(folder_ / "store/cpu_shares"))
    EXPECT_EQ(entry.path().extension(), ".fathom") << entry.path();
}

TEST_F(ServeRun, ATargetThatStartsAgainIsFollowedAndTheEndWritesTheLastWindow) {
  serve();
  EXPECT_EQ(get("/debug/pprof/profile?seconds=1").status, 503) << "it does not run yet";
  for (int start = 1; start <= 2; ++start) {
    start_target();
    ASSERT_TRUE(wait_until(
        [&] {
          const std::string text = get("/metrics").body;
          return text.find("fathom_target_recordings_total{target=\"cpu_shares\"} " +
                           std::to_string(start)) != std::string::npos &&
                 text.find("fathom_target_up{target=\"cpu_shares\"} 1") != std::string::npos;
        },
        milliseconds(60'000)))
        << get("/metrics").body << serve_->errors_so_far();
    pause_ms(1000);
    target_->kill_and_wait();
    ASSERT_TRUE(wait_until(
        [&] {
          return get("/metrics").body.find("fathom_target_up{target=\"cpu_shares\"} 0") != std::string::npos;
        },
        milliseconds(60'000)));
  }
  serve_->send(SIGTERM);
  const Outcome outcome = serve_->wait(milliseconds(30'000));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  const Outcome exported = fathom({"export", folder_ / "store", "--to", "json", "-o", "-"});
  ASSERT_TRUE(exported.ok()) << exported.describe();
  const json recording = json::parse(exported.output);
  const json& names = recording.at("processes").at("name");
  EXPECT_EQ(std::ranges::count(names, json(kTarget)), 2) << names.dump();
}

TEST_F(ServeRun, SIGUSR1PinsWindowsAndTheServiceGoesOn) {
  start_target();
  serve();
  ASSERT_TRUE(wait_for_windows(1)) << serve_->errors_so_far();
  serve_->send(SIGUSR1);
  const auto pinned = [&] {
    const fs::path folder = folder_ / ("store/" + std::string(kTarget));
    return std::any_of(fs::directory_iterator(folder), fs::directory_iterator(), [](const auto& entry) {
      return entry.path().filename().string().ends_with("-pinned.fathom");
    });
  };
  EXPECT_TRUE(wait_until(pinned, milliseconds(60'000))) << serve_->errors_so_far();
  EXPECT_FALSE(serve_->finished());
}

// A stretch of the store has what one recording of it has: here, of the same windows read one by one.
TEST_F(ServeRun, WindowsReadTogetherHaveTheSumOfTheirSamples) {
  start_target();
  serve();
  ASSERT_TRUE(wait_for_windows(4)) << serve_->errors_so_far();
  serve_->send(SIGINT);
  ASSERT_EQ(serve_->wait(milliseconds(30'000)).exit_status, 0);
  double single = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "store/cpu_shares"))
    single += report_of({entry.path().string()}).at("quality").at("samples").get<double>();
  const json together = report_of({folder_ / "store", "--target", kTarget});
  EXPECT_EQ(together.at("quality").at("samples").get<double>(), single);
  const json by_folder = report_of({folder_ / "store/cpu_shares"});
  EXPECT_EQ(by_folder.at("quality").at("samples").get<double>(), single);
  const Outcome other = fathom({"report", folder_ / "store", "--target", "other"});
  EXPECT_EQ(other.exit_status, 3);
  EXPECT_THAT(other.errors, HasSubstr("there is cpu_shares"));
  EXPECT_EQ(fathom({"report", folder_ / "store", "--from", "yesterday 00:00", "--until", "yesterday 00:01"})
                .exit_status,
            3);
}

// Folded stacks have whole bytes.
std::int64_t live_bytes_of(const std::string& input) {
  const Outcome outcome = fathom({"export", input, "--to", "folded", "--metric", "heap-live", "-o", "-"});
  EXPECT_TRUE(outcome.ok()) << outcome.describe();
  std::int64_t sum = 0;
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);) sum += std::stoll(line.substr(line.rfind(' ') + 1));
  return sum;
}

TEST_F(ServeRun, WithTheHeapWindowsAndEndpointsHaveWhatIsLive) {
  FATHOM_NEEDS_HEAP_TRACING();
  target_.emplace(std::vector<std::string>{HEAP_PATTERNS, "leak", "600"});
  serve({"--heap"}, "heap_patterns");
  // One block of 512 KiB is sampled on average, and the leak is of 800 KiB/s.
  const auto has_leak = [&](const std::string& path) {
    return get(path).body.find("site_leak") != std::string::npos;
  };
  ASSERT_TRUE(wait_until([&] { return has_leak("/debug/pprof/heap?debug=1"); }, milliseconds(60'000)))
      << serve_->errors_so_far();
  const Fetched packed = get("/debug/pprof/heap");
  EXPECT_EQ(packed.status, 200);
  EXPECT_EQ(packed.body.substr(0, 2), "\x1f\x8b");
  EXPECT_TRUE(has_leak("/debug/pprof/allocs?debug=1"));
  EXPECT_EQ(get("/debug/pprof/heap?debug=1&seconds=1").status, 400);
  const fs::path store = folder_ / "store";
  const auto last_window = [&] {
    std::string last;
    std::error_code problem;
    for (const auto& entry : fs::directory_iterator(store / "heap_patterns", problem))
      if (entry.path().extension() == ".fathom") last = std::max(last, entry.path().string());
    return last;
  };
  ASSERT_TRUE(wait_until([&] { return !last_window().empty(); }, milliseconds(60'000)));
  const std::string first = last_window();
  ASSERT_TRUE(wait_until([&] { return last_window() > first; }, milliseconds(60'000)));
  serve_->send(SIGTERM);
  EXPECT_EQ(serve_->wait(milliseconds(30'000)).exit_status, 0);
  EXPECT_FALSE(target_->finished());
  EXPECT_GT(live_bytes_of(store), 0);
  // Each window begins with what was live, so the last one alone has what all of them have.
  EXPECT_EQ(live_bytes_of(last_window()), live_bytes_of(store));
  EXPECT_THAT(fathom({"list", store}).output, HasSubstr(", heap"));
}

TEST_F(ServeRun, GoToolPprofReadsTheEndpoint) {
  FATHOM_NEEDS_PROGRAM("go");
  start_target();
  serve();
  ASSERT_TRUE(wait_for_recording());
  pause_ms(1000);
  const Outcome top = run({"go", "tool", "pprof", "-top", "-seconds", "2", address_ + "/debug/pprof/profile"},
                          {.environment = {"PPROF_TMPDIR=" + folder_.path()}});
  EXPECT_TRUE(top.ok()) << top.describe();
  EXPECT_THAT(top.output, HasSubstr("Type: cpu"));
  EXPECT_THAT(top.output, HasSubstr("Duration: 2s"));
}

}  // namespace
}  // namespace fathom::support

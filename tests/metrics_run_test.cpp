// The metrics of fathom watch, as Prometheus and its tools see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/files.h"
#include "linux/metrics/http_get.h"
#include "linux/metrics/server.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class MetricsRun : public testing::Test {
 protected:
  // A watch that serves, and its address.
  std::string serve(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "watch");
    arguments.insert(arguments.end(), {"--interval", "0.1"});
    if (std::find(arguments.begin(), arguments.end(), "--listen") == arguments.end())
      arguments.insert(arguments.end(), {"--listen", "127.0.0.1:0"});
    watch_.emplace(fathom_command(arguments));
    std::string address;
    EXPECT_TRUE(wait_until(
        [&] {
          const std::string text = watch_->errors_so_far();
          const std::size_t start = text.find("http://"), end = text.find("\n", start);
          if (start != std::string::npos && end != std::string::npos)
            address = text.substr(start, end - start);
          return !address.empty() || watch_->finished();
        },
        milliseconds(60'000)));
    EXPECT_FALSE(address.empty()) << watch_->errors_so_far();
    return address;
  }
  static std::string get(const std::string& url, std::string_view accept = "*/*") {
    const auto parsed = metrics::parse_url(url);
    if (!parsed) return parsed.error().message;
    const auto fetched = metrics::http_get(*parsed, monotonic_ns() + 20'000'000'000, -1, accept);
    if (!fetched) return fetched.error().message;
    return fetched->status == 200 ? fetched->body : "status " + std::to_string(fetched->status);
  }
  // Once it has this in it.
  static std::string get_with(const std::string& url, std::string_view part,
                              std::string_view accept = "*/*") {
    std::string text;
    EXPECT_TRUE(wait_until(
        [&] {
          text = get(url, accept);
          return text.find(part) != std::string::npos;
        },
        milliseconds(60'000)))
        << "no " << part << " in\n"
        << text;
    return text;
  }
  // A sleeper with this name. Its executable is a copy of it.
  Running start_named(const std::string& name) {
    const std::string program = folder_ / name;
    if (!std::filesystem::exists(program)) std::filesystem::copy_file("/bin/sleep", program);
    Running running({program, "600"});
    // Until it has executed its program, it has the name of this one.
    const std::string comm = "/proc/" + std::to_string(running.pid()) + "/comm";
    EXPECT_TRUE(
        wait_until([&] { return read_file(comm).value_or("") == name + "\n"; }, milliseconds(60'000)));
    return running;
  }
  TempDir folder_;
  std::optional<Running> watch_;
};

TEST_F(MetricsRun, PromtoolFindsNothingToCriticise) {
  FATHOM_NEEDS_PROGRAM("promtool");
  // A name that would end its label and its line.
  const Running target = start_named("a\"} 1\nb{\\");
  const std::string url = serve({std::to_string(target.pid())});
  // All that needs several looks is there.
  const std::string text = get_with(url, "fathom_memory_growth_bytes_per_second");
  EXPECT_THAT(text, HasSubstr("process=\"a\\\"} 1\\\\x0ab{\\\\\\\\\""));
  const Outcome lint = run({"promtool", "check", "metrics"}, {.input = text});
  EXPECT_TRUE(lint.ok()) << lint.describe();
  EXPECT_EQ(lint.output + lint.errors, "") << text;
}

TEST_F(MetricsRun, PromtoolPassesTheRulesAndTheirTests) {
  FATHOM_NEEDS_PROGRAM("promtool");
  const std::string folder = "../dashboards/";
  const Outcome check = run({"promtool", "check", "rules", folder + "fathom.rules.yml"});
  EXPECT_TRUE(check.ok()) << check.describe();
  const Outcome test = run({"promtool", "test", "rules", folder + "fathom.rules.test.yml"});
  EXPECT_TRUE(test.ok()) << test.describe();
}

TEST_F(MetricsRun, PrometheusScrapesItAndEvaluatesTheRules) {
  FATHOM_NEEDS_PROGRAM("prometheus");
  const Running target = start_named("scraped_node");
  const std::string url = serve({"scraped_node"});
  std::filesystem::copy_file("../dashboards/fathom.rules.yml", folder_ / "fathom.rules.yml");
  std::ofstream(folder_ / "prometheus.yml")
      << "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [fathom.rules.yml]\n"
      << "scrape_configs: [{job_name: fathom, static_configs: [{targets: ['"
      << url.substr(7, url.rfind('/') - 7) << "']}]}]\n";
  const Running prometheus({"prometheus", "--config.file=" + (folder_ / "prometheus.yml"),
                            "--storage.tsdb.path=" + (folder_ / "data"), "--web.listen-address=127.0.0.1:0"});
  std::string address;
  ASSERT_TRUE(wait_until(
      [&] {
        static constexpr std::string_view kWord = "msg=\"Listening on\" address=";
        const std::string text = prometheus.errors_so_far();
        const std::size_t start = text.find(kWord), end = text.find('\n', start);
        if (start != std::string::npos && end != std::string::npos)
          address = text.substr(start + kWord.size(), end - start - kWord.size());
        return !address.empty() || prometheus.finished();
      },
      milliseconds(60'000)));
  ASSERT_FALSE(address.empty()) << prometheus.errors_so_far();
  const std::string ask = "http://" + address + "/api/v1/query?query=";
  get_with(ask + "fathom_process_up", "\"process\":\"scraped_node\"");
  get_with(ask + "fathom:memory_unexplained:ratio", "\"process\":\"scraped_node\"");
  EXPECT_THAT(get("http://" + address + "/api/v1/targets"), HasSubstr("\"health\":\"up\""));
}

TEST_F(MetricsRun, AnotherProcessOfTheNameTakesOverTheSeries) {
  std::optional<Running> target(start_named("served_node"));
  const std::string url = serve({"served_node"});
  const std::string series = "{process=\"served_node\",place=\"1\"} ";
  get_with(url, "fathom_process_pid" + series + std::to_string(target->pid()) + "\n");
  target->kill_and_wait();
  get_with(url, "fathom_process_up" + series + "0\n");
  target.reset();
  target.emplace(start_named("served_node"));
  const std::string text =
      get_with(url, "fathom_process_pid" + series + std::to_string(target->pid()) + "\n");
  EXPECT_THAT(text, HasSubstr("fathom_process_up" + series + "1\n"));
  EXPECT_THAT(text, HasSubstr("fathom_process_starts_total" + series + "2\n"));
}

TEST_F(MetricsRun, AWatchCanBeStartedBeforeItsTarget) {
  const std::string url = serve({"later_node"});
  EXPECT_THAT(get_with(url, "fathom_own_rss_bytes"), testing::Not(HasSubstr("later_node")));
  const Running target = start_named("later_node");
  get_with(url, "fathom_process_up{process=\"later_node\",place=\"1\"} 1\n");
}

TEST_F(MetricsRun, AProcessThatRenamesItselfKeepsTheRequestedName) {
  const std::string program = folder_ / "stable_node";
  std::filesystem::copy_file("/bin/sh", program);
  const Running target({program, "-c", "printf other > /proc/$$/comm; while :; do sleep 1; done"});
  const std::string comm = "/proc/" + std::to_string(target.pid()) + "/comm";
  ASSERT_TRUE(wait_until([&] { return read_file(comm).value_or("") == "other\n"; }, milliseconds(60'000)));
  const std::string text =
      get_with(serve({"stable_node"}), "fathom_process_up{process=\"stable_node\",place=\"1\"} 1\n");
  EXPECT_THAT(text, testing::Not(HasSubstr("process=\"other\"")));
}

TEST_F(MetricsRun, AUnixSocketGoesWithTheWatch) {
  const Running target = start_named("served_node");
  const std::string path = folder_ / "metrics.sock";
  Running watch(fathom_command(
      {"watch", std::to_string(target.pid()), "--listen", "unix:" + path, "--interval", "0.1"}));
  get_with("unix:" + path, "fathom_process_up");
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  watch.send(SIGTERM);
  EXPECT_TRUE(watch.wait(milliseconds(20'000)).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(MetricsRun, BeyondLoopbackOnlyWithAToken) {
  const Running target = start_named("served_node");
  const std::string pid = std::to_string(target.pid());
  const Outcome refused = fathom({"watch", pid, "--listen", "0.0.0.0:0"});
  EXPECT_EQ(refused.exit_status, 2) << refused.describe();
  EXPECT_THAT(refused.errors, HasSubstr("--listen-token FILE"));
  const std::string token = folder_ / "token";
  std::ofstream(token) << "0123456789abcdef\n";
  std::filesystem::permissions(token,
                               std::filesystem::perms::owner_read | std::filesystem::perms::others_read);
  const Outcome shared = fathom({"watch", pid, "--listen", "0.0.0.0:0", "--listen-token", token});
  EXPECT_EQ(shared.exit_status, 2) << shared.describe();
  std::filesystem::permissions(token, std::filesystem::perms::owner_read);
  std::string url = serve({pid, "--listen", "0.0.0.0:0", "--listen-token", token});
  ASSERT_TRUE(url.starts_with("http://0.0.0.0:")) << url;
  url.replace(7, 7, "127.0.0.1");
  EXPECT_EQ(get(url), "status 401");
}

// What a node would serve.
std::unique_ptr<metrics::Server> serve_as_node() {
  auto server = metrics::Server::open({{"", "127.0.0.1", 0}, ""});
  EXPECT_TRUE(server);
  const std::string pool = "reth_transaction_pool_pending_pool_size_bytes";
  (*server)->publish(
      {{pool, metrics::Type::kGauge, "", "A pool.", {{pool, {}, 1 << 20}}},
       {"reth_requests", metrics::Type::kCounter, "", "Requests.", {{"reth_requests_total", {}, 7}}}});
  return std::move(*server);
}

TEST_F(MetricsRun, WatchSaysWhatTheProgramsOwnMetricsSay) {
  const auto node = serve_as_node();
  const Running target = start_named("metered_node");
  const std::string url = "http://" + node->address().to_string() + "/metrics";
  const Outcome once = fathom({"watch", std::to_string(target.pid()), "--once", "--scrape", url});
  EXPECT_TRUE(once.ok()) << once.describe();
  EXPECT_THAT(once.output, HasSubstr("transactions, pending pool 1.0 MiB"));
  const Outcome json = fathom({"watch", std::to_string(target.pid()), "--once", "--json", "--scrape", url});
  EXPECT_THAT(
      json.output,
      HasSubstr("\"component\":\"transactions, pending pool\",\"unit\":\"bytes\",\"value\":1048576.0"));
}

TEST_F(MetricsRun, WatchGoesOnWhereTheMetricsAreNotToBeHad) {
  const Running target = start_named("metered_node");
  auto gone = serve_as_node();
  const std::string url = "http://" + gone->address().to_string() + "/other";
  const Outcome once = fathom({"watch", std::to_string(target.pid()), "--once", "--scrape", url});
  EXPECT_TRUE(once.ok()) << once.describe();
  EXPECT_THAT(once.output, HasSubstr("metrics: " + url + ": it answers with status 404"));
  EXPECT_THAT(once.output, HasSubstr("metered_node"));
}

TEST_F(MetricsRun, ARecordingKeepsThemAsSeries) {
  FATHOM_NEEDS_PERF_EVENT();
  const auto node = serve_as_node();
  const Running target = start_named("metered_node");
  const std::string recording = folder_ / "x.fathom";
  Running record(fathom_command({"record", "-p", std::to_string(target.pid()), "--memory", "-o", recording,
                                 "--scrape", "http://" + node->address().to_string() + "/metrics"}));
  // When the second scrape is answered, clients can get the first one.
  ASSERT_TRUE(wait_until([&] { return node->served() >= 2 || record.finished(); }, milliseconds(60'000)));
  record.send(SIGINT);
  const Outcome recorded = record.wait(milliseconds(60'000));
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  const Outcome series = fathom({"report", recording, "--series"});
  EXPECT_THAT(series.output, HasSubstr("metric.reth_transaction_pool_pending_pool_size_bytes"));
  EXPECT_THAT(series.output, HasSubstr("metric.reth_requests_total"));
  const Outcome memory = fathom({"report", recording, "--memory"});
  EXPECT_THAT(memory.output, HasSubstr("transactions, pending pool 1.0 MiB")) << memory.describe();
}

TEST_F(MetricsRun, AnotherMachineIsAskedOnlyIfThatIsMeant) {
  const Running target = start_named("metered_node");
  const std::string pid = std::to_string(target.pid());
  const Outcome watch = fathom({"watch", pid, "--once", "--scrape", "http://192.0.2.1:9001/metrics"});
  EXPECT_EQ(watch.exit_status, 2) << watch.describe();
  EXPECT_THAT(watch.errors, HasSubstr("--scrape-anywhere"));
  const Outcome record =
      fathom({"record", "-p", pid, "-d", "1", "--scrape", "http://192.0.2.1:9001/metrics"});
  EXPECT_EQ(record.exit_status, 2) << record.describe();
}

}  // namespace
}  // namespace fathom::support

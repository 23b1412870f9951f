// fathom push and the commands that read from ClickHouse, against a real server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/clock.h"
#include "base/files.h"
#include "linux/metrics/http_client.h"
#include "linux/metrics/listener.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// The server from PATH, or the program that CLICKHOUSE_SERVER names: a package that starts a service is nothing to install for a test.
std::optional<std::string> find_clickhouse() {
  if (const char* named = std::getenv("CLICKHOUSE_SERVER")) return named;
  return find_program("clickhouse-server");
}

int free_port() {
  return metrics::Listener::open({"", "127.0.0.1", 0})->address().port;
}

class ClickHouseRun : public testing::Test {
 protected:
  void SetUp() override {
    const auto program = find_clickhouse();
    if (!program) GTEST_SKIP() << "needs clickhouse-server, which is not installed";
    http_ = free_port();
    const std::string folder = folder_.path();
    write(
        "users.xml",
        "<yandex><profiles><default/></profiles><users>"
        "<default><password>open sesame</password><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota></default>"
        "</users><quotas><default/></quotas></yandex>");
    write(
        "config.xml",
        "<yandex><logger><level>warning</level><log>" + folder + "/log</log><errorlog>" + folder +
            "/errors</errorlog></logger>" + "<http_port>" + std::to_string(http_) + "</http_port><tcp_port>" +
            std::to_string(free_port()) + "</tcp_port><listen_host>127.0.0.1</listen_host><path>" + folder +
            "/data/</path><tmp_path>" + folder +
            "/tmp/</tmp_path><users_config>users.xml</users_config><default_profile>default</default_profile>"
            "<default_database>default</default_database><mark_cache_size>100000000</mark_cache_size></yandex>");
    server_.emplace(std::vector<std::string>{*program, "--config-file=" + folder + "/config.xml"});
    ::setenv("CLICKHOUSE_PASSWORD", "open sesame", 1);
    ASSERT_TRUE(wait_until([&] { return sql("SELECT 1") == "1\n"; }, std::chrono::milliseconds(60'000)));
  }
  void TearDown() override { ::unsetenv("CLICKHOUSE_PASSWORD"); }

  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  std::string url(const std::string& choice = {}) const {
    return "clickhouse://127.0.0.1:" + std::to_string(http_) + "/default" + choice;
  }
  std::string sql(const std::string& statement) const {
    auto server =
        metrics::parse_http_url("http://default:open%20sesame@127.0.0.1:" + std::to_string(http_) + "/");
    const auto reply =
        metrics::http_request({*server, "POST", {}, statement}, monotonic_ns() + 30'000'000'000);
    return reply ? reply->body : reply.error().message;
  }
  // Folded stacks hold whole numbers: the sum is exact.
  static std::int64_t sum_of(const std::string& input, const std::string& metric) {
    const Outcome outcome = fathom({"export", input, "--to", "folded", "--metric", metric, "-o", "-"});
    std::int64_t sum = 0;
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);) sum += std::stoll(line.substr(line.rfind(' ') + 1));
    return outcome.exit_status == 0 ? sum : -1;
  }
  std::string record(const std::string& name, std::vector<std::string> more = {}) {
    const std::string path = folder_ / name;
    std::vector<std::string> arguments{"record", "-o", path, "-d", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    for (const char* word : {"--", CPU_SHARES, "2"}) arguments.push_back(word);
    const Outcome outcome = fathom(arguments);
    EXPECT_EQ(outcome.exit_status, 0) << outcome.errors;
    return path;
  }

  TempDir folder_;
  int http_ = 0;
  std::optional<Running> server_;
};

TEST_F(ClickHouseRun, SumsAreThoseOfTheRecordingsHoweverOftenTheyAreSent) {
  FATHOM_NEEDS_PERF_EVENT();
  const std::string one = record("one.fathom"), two = record("two.fathom");
  for (int i = 0; i < 2; ++i) {
    const Outcome pushed = fathom({"push", url(), one, "--service", "app", "--host", "a"});
    ASSERT_EQ(pushed.exit_status, 0) << pushed.errors;
    EXPECT_THAT(pushed.errors, HasSubstr(i == 0 ? "sent 1 window" : "the server already had 1 window"));
    EXPECT_EQ(fathom({"push", url(), two, "--service", "app", "--host", "b"}).exit_status, 0);
  }
  for (const std::string metric : {"cpu", "off-cpu"}) {
    const std::int64_t a = sum_of(one, metric), b = sum_of(two, metric);
    if (metric == "cpu") {
      ASSERT_GT(a, 0);
    }
    if (a <= 0 || b <= 0) continue;  // waits are not recorded on every machine
    // Folded stacks have times in whole microseconds, rounded by stack.
    EXPECT_NEAR(static_cast<double>(sum_of(url("?service=app"), metric)), static_cast<double>(a + b),
                metric == "cpu" ? 0 : 200)
        << metric;
    EXPECT_EQ(sum_of(url("?service=app&host=a"), metric), a) << metric;
    EXPECT_EQ(sum_of(url("?host=b,c"), metric), b) << metric;
  }
}

TEST_F(ClickHouseRun, AWindowThatTwoSendersInsertedCountsOnce) {
  FATHOM_NEEDS_PERF_EVENT();
  const std::string one = record("one.fathom");
  ASSERT_EQ(fathom({"push", url(), one, "--service", "app"}).exit_status, 0);
  ASSERT_EQ(sql("INSERT INTO fathom_samples SELECT * FROM fathom_samples"), "");
  EXPECT_EQ(sum_of(url(), "cpu"), sum_of(one, "cpu"));
}

TEST_F(ClickHouseRun, HostsAreTheRepeatsOfAComparison) {
  FATHOM_NEEDS_PERF_EVENT();
  for (const char* host : {"a", "b", "c", "d"})
    ASSERT_EQ(fathom({"push", url(), record(std::string(host) + ".fathom"), "--service", "app", "--host",
                      host, "--release", host[0] < 'c' ? "1" : "2"})
                  .exit_status,
              0);
  const Outcome outcome =
      fathom({"diff", url("?service=app&version=1"), url("?service=app&version=2"), "--json"});
  ASSERT_EQ(outcome.exit_status, 0) << outcome.errors;
  const json answer = json::parse(outcome.output);
  EXPECT_THAT(answer.dump(), HasSubstr("host=a"));
  EXPECT_THAT(answer.dump(), HasSubstr("host=d"));
}

TEST_F(ClickHouseRun, ErrorsSayWhatToDoAndKeepThePassword) {
  Outcome outcome = fathom({"report", url("?service=app")});
  EXPECT_THAT(outcome.errors, HasSubstr("fathom_samples"));
  EXPECT_THAT(outcome.errors, HasSubstr("fathom push"));
  ::setenv("CLICKHOUSE_PASSWORD", "wrong words", 1);
  outcome = fathom({"report", url("?service=app")});
  EXPECT_EQ(outcome.exit_status, 4);
  EXPECT_THAT(outcome.errors, Not(HasSubstr("wrong words")));
}

}  // namespace
}  // namespace fathom::support

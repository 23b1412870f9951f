// A server that obeys the rules of Pyroscope's querier: types of content, milliseconds, and the pprof of what it has.
#include "tools/pyroscope/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "analysis/core/call_tree.h"
#include "formats/pprof/wire.h"
#include "linux/metrics/testing_http_server.h"
#include "model/random_profile.h"
#include "present/exports/pprof_writer.h"

namespace fathom::pyroscope {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kFromNs = 1'763'632'500'000'000'000, kUntilNs = kFromNs + 60'000'000'000;
constexpr const char* kCpuType = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";

std::int64_t cpu_of(const model::Profile& profile) {
  return analysis::build_call_tree(profile, {.selection = {.metric = model::Metric::kCpu}}).total;
}

class QuerierServer {
 public:
  explicit QuerierServer(std::string pprof, int status = 200)
      : pprof_(std::move(pprof)),
        status_(status),
        server_([this](const std::string& request) { return answer(request); }) {}
  Result<model::Profile> select(const std::string& words, std::uint64_t from_ns = kFromNs) {
    const auto query =
        parse_query("pyroscope://127.0.0.1:" + std::to_string(server_.address().port) + "?" + words);
    EXPECT_TRUE(query) << query.error().message;
    return select_profile(*query, from_ns, kUntilNs);
  }
  std::string head;

 private:
  std::string answer(const std::string& request) {
    const std::size_t end = request.find("\r\n\r\n");
    head = request.substr(0, end + 2);
    if (!head.starts_with("POST /querier.v1.QuerierService/SelectMergeProfile "))
      return metrics::http_answer(404, "no such path");
    if (head.find("Content-Type: application/proto\r\n") == head.npos)
      return metrics::http_answer(415, "type");
    if (status_ != 200)
      return metrics::http_answer(status_, "{\"code\":\"unauthenticated\",\"message\":\"no org id\"}");
    std::map<std::uint32_t, std::string> texts;
    std::map<std::uint32_t, std::uint64_t> numbers;
    for (formats::WireFields in(std::string_view(request).substr(end + 4)); in.next();)
      if (in.is_bytes())
        texts[in.number()] = in.bytes();
      else
        numbers[in.number()] = in.value();
    // Seconds or nanoseconds instead of milliseconds would be another century.
    const bool is_known = texts[1] == kCpuType && texts[2] == "{service_name=\"shop\"}";
    const bool is_time = numbers[3] <= kFromNs / 1'000'000 && numbers[4] == kUntilNs / 1'000'000 &&
                         numbers[3] > kFromNs / 2'000'000;
    if (numbers[5] > 1 << 20)
      return metrics::http_answer(400, "max flamegraph nodes limit 2097152 is greater than allowed 1048576");
    return metrics::http_answer(200, is_known && is_time ? pprof_ : "");
  }

  const std::string pprof_;
  const int status_;
  metrics::TestingHttpServer server_;
};

std::string pprof_of(const model::Profile& profile) {
  return present::write_pprof(profile, {.selection = {.metric = model::Metric::kCpu}, .for_server = true})
      .value();
}

model::Profile some_profile() {
  model::RandomOptions options;
  options.only_text = true;
  return model::random_profile(1, options);
}

TEST(PyroscopeSelect, AMergedProfileHasTheSumsOfTheServer) {
  const model::Profile profile = some_profile();
  QuerierServer server(pprof_of(profile));
  const auto selected = server.select("service=shop&tenant=team");
  ASSERT_TRUE(selected) << selected.error().message;
  EXPECT_EQ(cpu_of(*selected), cpu_of(profile));
  EXPECT_EQ(selected->meta.start_unix_ns, kFromNs);
  EXPECT_THAT(server.head, HasSubstr("X-Scope-OrgID: team\r\n"));
}

TEST(PyroscopeSelect, ABearerTokenComesFromTheEnvironment) {
  QuerierServer server(pprof_of(some_profile()));
  ::setenv("FATHOM_BEARER_TOKEN", "opensesame", 1);
  EXPECT_TRUE(server.select("service=shop"));
  ::unsetenv("FATHOM_BEARER_TOKEN");
  EXPECT_THAT(server.head, HasSubstr("Authorization: Bearer opensesame\r\n"));
}

TEST(PyroscopeSelect, NothingFoundIsSaidToBeNothing) {
  QuerierServer server(pprof_of(some_profile()));
  const auto selected = server.select("service=other");
  ASSERT_FALSE(selected);
  EXPECT_EQ(selected.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(selected.error().message, HasSubstr("{service_name=\"other\"}"));
}

TEST(PyroscopeSelect, ALoginThatIsMissingIsNamedWithItsRemedy) {
  QuerierServer server("", 401);
  const auto selected = server.select("service=shop");
  ASSERT_FALSE(selected);
  EXPECT_EQ(selected.error().kind, ErrorKind::kPermission);
  EXPECT_THAT(selected.error().message, HasSubstr("no org id"));
  EXPECT_THAT(selected.error().remedy, HasSubstr("FATHOM_BEARER_TOKEN"));
}

TEST(PyroscopeSelect, BytesThatAreNoProfileAreAnError) {
  QuerierServer server("<html>");
  const auto selected = server.select("service=shop");
  ASSERT_FALSE(selected);
  EXPECT_EQ(selected.error().kind, ErrorKind::kMalformed);
}

}  // namespace
}  // namespace fathom::pyroscope

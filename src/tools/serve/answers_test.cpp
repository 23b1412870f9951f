// The rules of scrapers, each with its source: the checks of Alloy's pyroscope.scrape, and what Go's net/http/pprof promises.
#include "tools/serve/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/profile.h"
#include "tools/serve/discovery.h"
#include "tools/serve/testing_recording.h"

namespace fathom::serve {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string body_of(const metrics::Answer& answer) {
  const std::size_t end = answer.text.find("\r\n\r\n");
  return end == std::string::npos ? std::string() : answer.text.substr(end + 4);
}

TEST(Answers, AlloyTakesAProfileAlsoOneOfATargetThatDidNothing) {
  for (const Cost cost : {Cost::kCpu, Cost::kBlock, Cost::kMutex}) {
    model::Profile nothing;
    nothing.meta.frequency_hz = 99;
    const TestingRecording recording(1, 1);
    for (const model::Profile* profile :
         std::initializer_list<const model::Profile*>{&nothing, &recording.whole()}) {
      const auto bytes = pprof_of(*profile, cost);
      ASSERT_TRUE(bytes) << bytes.error().message;
      const metrics::Answer answer = profile_answer(*bytes, true);
      EXPECT_EQ(answer.status, 200);  // refused: a status that is not 2xx
      EXPECT_THAT(answer.text, StartsWith("HTTP/1.1 200 OK\r\n"));
      // refused: a content type that does not begin so
      EXPECT_THAT(answer.text, HasSubstr("\r\nContent-Type: application/octet-stream\r\n"));
      EXPECT_THAT(answer.text, Not(HasSubstr("Content-Encoding")));  // the gzip is the file's own
      EXPECT_THAT(answer.text, HasSubstr("\r\nContent-Disposition: attachment; filename=\"profile\"\r\n"));
      EXPECT_THAT(answer.text, HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"));
      const std::string body = body_of(answer);
      ASSERT_GT(body.size(), 2u);                // refused: an empty body
      EXPECT_EQ(body.substr(0, 2), "\x1f\x8b");  // refused: a first byte that is neither gzip's nor a tag
    }
  }
}

TEST(Answers, AHeadHasNoBody) {
  EXPECT_EQ(body_of(profile_answer("xyz", false)), "");
  EXPECT_THAT(profile_answer("xyz", false).text, HasSubstr("Content-Length: 3\r\n"));
}

TEST(Answers, ErrorsAreSentencesOfGo) {
  const metrics::Answer answer = error_answer(404, "there is no such target");
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(answer.text, HasSubstr("\r\nContent-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_THAT(answer.text, HasSubstr("\r\nX-Go-Pprof: 1\r\n"));
  EXPECT_EQ(body_of(answer), "there is no such target\n");
}

// A lock that thread 1 waits for and thread 0 lets go.
model::Profile contended() {
  model::Profile profile;
  model::Builder builder(profile);
  model::Module kernel;
  kernel.kind = model::ModuleKind::kKernel;
  kernel.name = builder.string("[kernel]");
  const auto place = [&](const char* name, std::uint64_t address) {
    const model::FrameId frame = builder.frame(builder.module(kernel), {address});
    builder.name_frame(frame, {{name, "", 0}});
    return builder.stack({0}, frame);
  };
  const model::StackId waits = place("futex_wait_queue", 1), unlocks = place("futex_wake", 2);
  profile.processes.emplace_back().pid = 1;
  for (std::int32_t i = 0; i < 2; ++i) profile.threads.emplace_back().tid = i;
  model::Wait wait;
  wait.thread = {1};
  wait.stack = waits;
  wait.waker = {0};
  wait.waker_stack = unlocks;
  wait.waited_ns = 1000;
  wait.system_call = 202;
  wait.state = model::WaitState::kInterruptible;
  profile.waits.push_back(wait);
  wait.system_call = 35;  // a sleep has no holder
  profile.waits.push_back(wait);
  profile.meta.end_ns = 2000;
  return profile;
}

TEST(Answers, BlockShowsWhoWaitsAndMutexWhoLetTheLockGo) {
  const std::string block = text_of(contended(), Cost::kBlock), mutex = text_of(contended(), Cost::kMutex);
  EXPECT_THAT(block, HasSubstr("futex_wait_queue"));
  EXPECT_THAT(mutex, HasSubstr("futex_wake"));
  EXPECT_THAT(mutex, Not(HasSubstr("futex_wait_queue")));
  EXPECT_EQ(prepared(contended(), Cost::kMutex).waits.size(), 1u);
}

TEST(Answers, DiscoveryIsWhatPrometheusReads) {
  metrics::Address address;
  address.host = "127.0.0.1";
  address.port = 9913;
  EXPECT_EQ(
      discovery_json({"reth"}, "", address),
      R"([{"labels":{"__metrics_path__":"/p/reth/metrics","__profile_path_prefix__":"/p/reth","service_name":"reth"},"targets":["127.0.0.1:9913"]}])"
      "\n");
  EXPECT_THAT(discovery_json({"a", "b"}, "localhost:1", address), HasSubstr("\"localhost:1\""));
  EXPECT_THAT(json_answer("[]", true).text, HasSubstr("\r\nContent-Type: application/json\r\n"));
}

}  // namespace
}  // namespace fathom::serve

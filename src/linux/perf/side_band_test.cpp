#include "linux/perf/side_band.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "linux/perf/event.h"
#include "linux/perf/testing_rights.h"

namespace fathom::sources {
namespace {

std::int32_t pid_of(const SideBandEvent& event) {
  return std::visit(
      [](const auto& e) {
        if constexpr (requires { e.pid; })
          return e.pid;
        else
          return 0;
      },
      event);
}

// One word for each event of `pid`, in order.
std::vector<std::string> story(const std::vector<SideBandEvent>& events, int pid) {
  std::vector<std::string> words;
  for (const SideBandEvent& event : events) {
    if (pid_of(event) != pid) continue;
    if (std::holds_alternative<ProcessForked>(event)) words.push_back("forked");
    if (std::holds_alternative<ThreadStarted>(event)) words.push_back("thread");
    if (std::holds_alternative<ThreadEnded>(event)) words.push_back("ended");
    if (const auto* named = std::get_if<ThreadNamed>(&event)) words.push_back("named " + named->name);
    if (const auto* execed = std::get_if<ProcessExeced>(&event)) words.push_back("exec " + execed->name);
    if (const auto* mapped = std::get_if<MemoryMapped>(&event))
      words.push_back("map " + mapped->mapping.path);
  }
  return words;
}

TEST(SideBand, EventsOfCpusThatStayedOnRun) {
  FATHOM_NEEDS_EVENT(-1, 0, false);
  auto side_band = SideBand::open();
  ASSERT_TRUE(side_band) << side_band.error().message;
  for (int look = 0; look < 3; ++look) {
    for (const int cpu : online_cpus()) EXPECT_FALSE(side_band->has_stopped(cpu)) << "CPU " << cpu;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

TEST(SideBand, ReportsTheLifeOfAProcess) {
  FATHOM_NEEDS_EVENT(-1, 0, false);
  auto side_band = SideBand::open();
  ASSERT_TRUE(side_band) << side_band.error().message;

  const pid_t child = ::fork();
  if (child == 0) {
    std::thread([] { ::prctl(PR_SET_NAME, "worker"); }).join();
    const int fd = ::open("/proc/self/exe", O_RDONLY);
    ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    ::execl("/bin/true", "true", nullptr);
    ::_exit(1);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);

  std::vector<pollfd> waiting;
  for (int fd : side_band->fds()) waiting.push_back({fd, POLLIN, 0});
  EXPECT_GT(::poll(waiting.data(), waiting.size(), 1000), 0);
  std::vector<SideBandEvent> events;
  side_band->drain(events);

  const auto words = story(events, child);
  const auto at = [&](const std::string& word) {
    return std::find_if(words.begin(), words.end(),
                        [&](const std::string& w) { return w.find(word) != w.npos; }) -
           words.begin();
  };
  ASSERT_LT(at("exec true"), static_cast<std::ptrdiff_t>(words.size())) << ::testing::PrintToString(words);
  EXPECT_EQ(at("forked"), 0);
  EXPECT_LT(at("thread"), at("named worker"));
  EXPECT_LT(at("named worker"), at("ended"));
  EXPECT_LT(at("ended"), at("map /"));
  EXPECT_TRUE(words[static_cast<std::size_t>(at("map /"))].ends_with(
      std::filesystem::read_symlink("/proc/self/exe").string()));
  EXPECT_LT(at("map /"), at("exec true"));
  EXPECT_LT(at("exec true"), at("/ld-linux")) << "the new program's mappings follow";
  EXPECT_EQ(words.back(), "ended");
  EXPECT_EQ(std::count(words.begin(), words.end(), "ended"), 2);
  EXPECT_TRUE(std::is_sorted(events.begin(), events.end(),
                             [](const auto& a, const auto& b) { return time_of(a) < time_of(b); }));
  EXPECT_EQ(side_band->lost(), 0u);
}

TEST(SideBand, WhatDoesNotFitIsCountedAsLost) {
  FATHOM_NEEDS_EVENT(-1, 0, false);
  auto side_band = SideBand::open(32 * 1024);
  ASSERT_TRUE(side_band) << side_band.error().message;
  constexpr int kRenames = 5000;  // 48 bytes each: seven times what one ring holds
  for (int i = 0; i < kRenames; ++i) ::prctl(PR_SET_NAME, (i & 1) != 0 ? "one" : "two");
  std::vector<SideBandEvent> events;
  side_band->drain(events);
  // The kernel reports a loss with the first record that fits again.
  for (int i = 0; i < 64; ++i) {
    ::prctl(PR_SET_NAME, "three");
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  side_band->drain(events);
  std::uint64_t lost = 0;
  std::int64_t named = 0;
  for (const SideBandEvent& event : events) {
    if (const auto* l = std::get_if<Lost>(&event)) lost += l->count;
    if (pid_of(event) == ::getpid() && std::holds_alternative<ThreadNamed>(event)) ++named;
  }
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(lost, side_band->lost());
  EXPECT_GE(named + static_cast<std::int64_t>(lost), kRenames);
}

TEST(SideBand, EachCpuHasAnEventToRedirectTo) {
  FATHOM_NEEDS_EVENT(-1, 0, false);
  auto side_band = SideBand::open();
  ASSERT_TRUE(side_band) << side_band.error().message;
  EXPECT_GE(side_band->output_fd(0), 0);
  EXPECT_EQ(side_band->output_fd(100000), -1);
  EXPECT_GE(side_band->memory_bytes(), 32u * 1024);
}

}  // namespace
}  // namespace fathom::sources

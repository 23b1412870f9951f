// Ten seconds of a server that was made by hand, as the page of `fathom view` in a real browser.
#pragma once

#include <array>
#include <random>

#include "analysis/core/hand_made_profile.h"
#include "browser/page_testing.h"
#include "model/marks.h"

namespace fathom::browser {

inline const std::string kHostile =
    "</script><img src=x onerror=alert(1)>::\xe2\x80\xae"
    "evil";

// Ten seconds of a server: a slow time from 4 to 6 s in which it parses and waits, and a heap that grows.
inline model::Profile server_profile() {
  analysis::HandMade hand;
  const auto process = hand.process(10, "server");
  const auto main = hand.thread(process, 10, "server"), worker = hand.thread(process, 11, "it's a worker");
  const auto module = hand.module("server"), kernel = hand.module("[kernel]", model::ModuleKind::kKernel);
  const auto libc = hand.module("libc.so.6");
  const auto start = hand.frame(module, {"main"}), serve = hand.frame(module, {"Server::serve(int)"});
  const auto parse = hand.frame(module, {"json::parse<std::string, 12>"}),
             hostile = hand.frame(module, {kHostile});
  const auto read = hand.frame(kernel, {"ksys_read"});
  hand.sample(main, hand.stack({start, serve}), 300, 0.003);
  hand.sample(main, hand.stack({start, serve, parse}), 190, 4.001);
  hand.sample(worker, hand.stack({start, hostile, read}), 250, 5);
  hand.sample(worker, hand.stack({start, serve, serve, parse}), 60, 8.2);
  std::mt19937 random(5);
  for (int i = 0; i < 120; ++i) {
    model::Wait wait;
    wait.start_ns = hand.profile.meta.start_ns + static_cast<std::uint64_t>(i) * 70'000'000;
    wait.waited_ns = random() % 60'000'000;
    wait.queued_ns = random() % 5'000'000;
    wait.thread = i % 3 == 0 ? worker : main;
    wait.stack = hand.stack({start, i % 2 == 0 ? serve : hostile});
    hand.profile.waits.push_back(wait);
  }
  model::Heap heap;
  heap.process = process;
  heap.start_ns = hand.profile.meta.start_ns;
  heap.end_ns = hand.profile.meta.end_ns;
  const auto malloc = hand.frame(libc, {"malloc"});
  for (const auto where : {serve, parse})
    hand.profile.heap.sites.push_back({{0}, hand.stack({start, where, malloc}), {0}, main, 0});
  add_heap_course(hand.profile, heap, 10, [](std::uint32_t second, std::uint32_t site) {
    model::HeapRow row;
    row.allocated = {10.0 + site, 100'000.0 * (site + 1) + second};
    row.freed = {4, second == 0 ? 0 : 20'000.0 * (site + 1)};
    return row;
  });
  // serve asks for blocks below 128 bytes and below 8 KiB, parse for small ones alone.
  for (const auto& [site, bucket] : {std::pair{0u, 7}, std::pair{0u, 13}, std::pair{1u, 7}})
    hand.profile.heap.histograms.push_back(
        {{site}, model::HeapHistogramKind::kSize, static_cast<std::uint8_t>(bucket), {50, 0}});
  model::Series rss;
  rss.name = hand.builder.string("memory.rss_anon");
  rss.unit = hand.builder.string("bytes");
  rss.pid = 10;
  for (int i = 0; i <= 100; ++i)
    rss.points.push_back(
        {hand.profile.meta.start_ns + static_cast<std::uint64_t>(i) * 100'000'000, 1e6 + i * 2e4});
  hand.profile.series.push_back(rss);
  model::Series faults;
  faults.name = hand.builder.string("memory.minor_faults");
  faults.unit = hand.builder.string("count");
  faults.pid = 10;
  for (int i = 0; i <= 10; ++i)
    faults.points.push_back({hand.profile.meta.start_ns + static_cast<std::uint64_t>(i) * 1'000'000'000,
                             i < 5 ? 0 : (i - 5) * 700.0});
  hand.profile.series.push_back(faults);
  hand.profile.meta.facts[model::kMarksFact] =
      model::mark_line(2, "warm") + "\n" + model::mark_line(6, "load <b>");
  hand.profile.meta.facts["oom_limit_bytes"] = "8000000";
  return hand.profile;
}

class PageInBrowser : public PageTest {
 protected:
  static void SetUpTestSuite() { set_up(server_profile()); }

  static constexpr std::array kMetrics = {
      "cpu", "off-cpu", "heap-live", "heap-allocated", "heap-allocations", "heap-growth"};

  // A time, a thread and patterns by chance, also all of them together.
  static Json some_selection(std::mt19937& random, const char* metric) {
    const auto chance = [&] { return random() % 2 == 0; };
    Json out = {{"metric", metric},       {"range", nullptr},        {"thread", nullptr},
                {"focus", Json::array()}, {"ignore", Json::array()}, {"sizes", nullptr}};
    if (chance()) {
      const auto from = random() % 1900;
      out["range"] = {from, from + 1 + random() % (2000 - from)};
    }
    if (chance()) out["thread"] = chance() ? "server" : "it's a worker";
    if (chance()) out["focus"].push_back(chance() ? "serve" : "/^json::/");
    if (chance()) out["ignore"].push_back(chance() ? "parse" : "onerror");
    if (chance()) out["sizes"] = chance() ? Json{7, 8} : Json{10, 20};  // taken of the heap alone
    return out;
  }

  // Two times on the page are what `fathom diff` of them is: figures to the last digit that matters, the same changes
  // beyond noise, and errors that lie near one another (the page's pieces of a time end at its slices).
  void expect_as_compared() {
    const Json page = ask("window.fathom.compared()");
    ASSERT_TRUE(page.is_object());
    std::vector<std::string> words = words_of(page["command"]);
    SCOPED_TRACE(page["command"].get<std::string>());
    ASSERT_GE(words.size(), 3u);
    words.erase(words.begin());
    words[1] = recording();
    words.push_back("--json");
    ASSERT_EQ(ended(start_program(words, folder_ + "/diff.json")), 0);
    const Json written = Json::parse(read_file(folder_ + "/diff.json").value_or(""), nullptr, false);
    ASSERT_FALSE(written.is_discarded());
    const Json& diff = written["metrics"][0];
    // The page still counts time in the run queue as waiting, of the function that was preempted; the program lists it as a
    // total of its own, of no function.
    const bool with_queue = page["command"].get<std::string>().find("off-cpu") != std::string::npos;
    Json queue;
    for (const Json& total : written["totals"])
      if (with_queue && total["total"] == "run-queue") queue = total["change"];
    const auto queue_of = [&](const char* side) { return queue.is_null() ? 0.0 : queue[side].get<double>(); };
    const auto expect_near = [&](const Json& shown, const Json& expected, bool whole = false) {
      for (const auto& [key, side] : {std::pair("base", "base"), std::pair("fresh", "new")}) {
        const double value = expected[side], figure = shown[key], slack = 1e-9 * std::abs(value) + 1e-12;
        if (whole || !with_queue) {
          EXPECT_NEAR(figure, value + queue_of(side), slack + 1e-9 * queue_of(side)) << key;
        } else {
          EXPECT_GE(figure, value - slack) << key;
          EXPECT_LE(figure, value + queue_of(side) + slack) << key;
        }
      }
      if (with_queue) return;
      const double error = expected["error"];
      EXPECT_NEAR(shown["error"].get<double>(), error, 0.15 * error + 1e-12);
      EXPECT_EQ(shown["beyondNoise"], expected["beyond_noise"]);
    };
    expect_near(page["whole"], diff["whole"], true);
    std::map<std::string, const Json*> shown;
    for (const Json& row : page["functions"]) shown[row["name"].get<std::string>()] = &row;
    std::size_t met = 0;
    for (const Json& row : diff["functions"]) {
      const std::string name = analysis::printable(row["name"].get<std::string>());
      SCOPED_TRACE(name);
      if (row["total"]["base"] == 0 && row["total"]["new"] == 0) continue;
      ASSERT_TRUE(shown.contains(name));
      expect_near((*shown[name])["self"], row["self"]);
      expect_near((*shown[name])["total"], row["total"]);
      ++met;
    }
    EXPECT_GT(met, 1u);
  }
};

}  // namespace fathom::browser

// Are the report's statements about the heap ever wrong? Records programs whose memory has a known course
// (heap_course_target.cpp) with every call and by samples, from their start and while they run; a table
// counts the recordings with a wrong report: that the heap, or the function, does not grow although it does,
// or that it leaks although it does not. Exits with 1 if there is any. Most of the programs sleep most of the
// time, so many run at once.
//   bench_heap_verdicts [COURSE...]     SECONDS (60), SEEDS (20), AT_ONCE (24)
#include <fmt/core.h>

#include <cstdlib>
#include <list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "analysis/verdicts/testing_courses.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::bench {
namespace {

using analysis::Course;
using analysis::CourseError;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

int setting(const char* name, int usual) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : usual;
}

struct Way {
  const char* name;
  bool attached;
  std::vector<std::string> options;
};
const std::vector<Way> kWays = {
    {"launched, exact", false, {"--heap=exact", "--no-mappings", "--lossless"}},
    {"launched, 64 KiB", false, {"--heap", "--heap-interval", "65536"}},
    {"launched, 512 KiB", false, {"--heap"}},
    {"attached, exact", true, {"--heap=exact", "--no-mappings", "--lossless"}},
    {"attached, 64 KiB", true, {"--heap", "--heap-interval", "65536"}},
    {"attached, 512 KiB", true, {"--heap"}},
};

struct Row {
  int recordings = 0, failed = 0, no_leak = 0, candidates = 0;
  std::map<std::string, int> kinds;  // of the whole heap, and of the leaking function
};

class NoHeap : public analysis::CourseHeap {
 public:
  std::uint64_t allocate(analysis::CourseSite, std::size_t) override { return 1; }
  void free(std::uint64_t) override {}
  std::uint64_t reallocate(analysis::CourseSite, std::uint64_t, std::size_t) override { return 1; }
};

class Job {
 public:
  Job(std::string_view course, const Way& way, int seed, int seconds, const support::TempDir& folder)
      : course_(course),
        way_(way),
        seed_(seed),
        seconds_(seconds),
        file_(folder / fmt::format("{}-{}-{}.fathom", course, &way - kWays.data(), seed)) {
    const std::vector<std::string> target{HEAP_COURSE, course_, std::to_string(seed), std::to_string(seconds),
                                          std::to_string(2 * seconds + 10)};
    if (!way.attached) {
      recorder_.emplace(command({"--"}, target), limit());
      return;
    }
    program_.emplace(target, limit());
    analysis::CourseRandom random(static_cast<std::uint64_t>(seed) + 7);
    begin_ =
        Clock::now() + std::chrono::milliseconds(static_cast<int>(random.between(0.1, 0.5) * seconds * 1000));
  }
  // True once the recording has ended.
  bool step() {
    if (!recorder_ && Clock::now() >= begin_)
      recorder_.emplace(command({"-p", std::to_string(program_->pid())}, {}), limit());
    return recorder_ && recorder_->finished();
  }
  void judge(Row& row) {
    ++row.recordings;
    const support::Outcome recorded = recorder_->wait(std::chrono::seconds(20));
    if (program_) program_->kill_and_wait();
    const support::Outcome report = support::fathom({"report", file_, "--json"});
    const json parsed = json::parse(report.output, nullptr, false);
    if (!report.ok() || !parsed.is_object() || !parsed.contains("heap") || !parsed["heap"].is_object()) {
      ++row.failed;
      fmt::print(stderr, "{}\n{}\n", recorded.describe(), report.describe());
      return;
    }
    NoHeap heap;
    analysis::CourseRandom random(static_cast<std::uint64_t>(seed_));
    const Course course = analysis::make_course(course_, heap, random, seconds_);
    const std::string leaking(analysis::kCourseSites[static_cast<std::size_t>(course.grows_at)]);
    bool no_leak = false, candidate = false;
    for (const json& verdict : parsed["heap"]["verdicts"]) {
      const analysis::CourseVerdict read{verdict.at("kind"),
                                         verdict.at("kind") == "peak" ? "" : verdict.value("function", ""),
                                         verdict.at("numbers").value("unseen_bytes_per_s", 0.0)};
      if (read.function.empty() || (course.grows_bytes_per_s > 0 && read.function == leaking))
        ++row.kinds[read.kind + (read.function.empty() ? "" : " (its function)")];
      const CourseError error = error_of(course, read);
      no_leak = no_leak || error == CourseError::kNoLeak;
      candidate = candidate || error == CourseError::kCandidate;
      if (error != CourseError::kNone)
        fmt::print(stderr, "wrong: {}, {}, seed {}, {:.0f} bytes/s: [{}] {}\n", course_, way_.name, seed_,
                   course.grows_bytes_per_s, verdict.at("confidence").get<std::string>(),
                   verdict.at("sentence").get<std::string>());
    }
    row.no_leak += no_leak ? 1 : 0;
    row.candidates += candidate ? 1 : 0;
  }

 private:
  support::CommandOptions limit() const { return {.limit = std::chrono::seconds(4 * seconds_ + 120)}; }
  std::vector<std::string> command(std::vector<std::string> target,
                                   const std::vector<std::string>& more) const {
    std::vector<std::string> words{"record", "-q", "--memory", "-d", std::to_string(seconds_), "-o", file_};
    words.insert(words.end(), way_.options.begin(), way_.options.end());
    words.insert(words.end(), target.begin(), target.end());
    words.insert(words.end(), more.begin(), more.end());
    return support::fathom_command(words);
  }

  std::string course_;
  const Way& way_;
  int seed_, seconds_;
  std::string file_;
  Clock::time_point begin_;
  std::optional<support::Running> program_, recorder_;
};

int run(const std::vector<std::string>& chosen) {
  const int seconds = setting("SECONDS", 60), seeds = setting("SEEDS", 20);
  const auto at_once = static_cast<std::size_t>(setting("AT_ONCE", 24));
  const support::TempDir folder;
  struct Planned {
    std::string_view course;
    const Way* way;
    int seed;
  };
  std::list<Planned> planned;
  for (int seed = 1; seed <= seeds; ++seed)
    for (const analysis::CourseRow& row : analysis::kCourses)
      for (const Way& way : kWays)
        if (chosen.empty() || std::find(chosen.begin(), chosen.end(), row.name) != chosen.end())
          planned.push_back({row.name, &way, seed});
  struct Started {
    Planned plan;
    Job job;
  };
  std::list<Started> running;
  std::map<std::pair<std::string_view, const Way*>, Row> rows;
  while (!planned.empty() || !running.empty()) {
    if (!planned.empty() && running.size() < at_once) {
      const Planned next = planned.front();
      planned.pop_front();
      running.push_back({next, Job(next.course, *next.way, next.seed, seconds, folder)});
    }
    for (auto at = running.begin(); at != running.end();) {
      if (!at->job.step()) {
        ++at;
        continue;
      }
      at->job.judge(rows[{at->plan.course, at->plan.way}]);
      at = running.erase(at);
    }
    support::pause_ms(50);
  }
  fmt::print("{} s, {} seeds each; so many recordings have a verdict of the kind\n\n", seconds, seeds);
  fmt::print(
      "| program | recorded | false \"no leak\" | false leak candidate | verdicts |\n| --- | --- | --- | --- "
      "| --- |\n");
  int wrong = 0;
  for (const auto& [key, row] : rows) {
    std::string kinds;
    for (const auto& [kind, count] : row.kinds)
      kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, kind);
    fmt::print("| {} | {} | {} | {} | {} |\n", key.first, key.second->name, row.no_leak, row.candidates,
               kinds);
    wrong += row.no_leak + row.candidates + row.failed;
  }
  fmt::print("\n{}\n", wrong == 0 ? "None is wrong." : fmt::format("{} are wrong or failed.", wrong));
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fathom::bench

int main(int argc, char** argv) {
  return fathom::bench::run({argv + 1, argv + argc});
}

#include "cli/record_outcome.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/shell_word.h"
#include "cli/notices.h"
#include "cli/progress.h"
#include "present/sentences/left_sentences.h"
#include "present/sentences/report_sentences.h"

namespace fathom::cli {
namespace {

// "3,021 samples in 10.0 s, 99.95 % with complete stacks, 0 lost". What was not recorded is not counted.
std::string count_text(const session::RecordOutcome& outcome, const session::RecordOptions& options) {
  const model::Quality& quality = outcome.quality;
  const bool has_samples = options.cpu || quality.samples != 0;
  if (!has_samples && options.off_cpu)
    return fmt::format("{} waits in {:.1f} s, {} lost", quality.waits, outcome.duration_s,
                       quality.lost_waits);
  if (!has_samples) return fmt::format("recorded {:.1f} s", outcome.duration_s);
  const std::uint64_t lost = quality.lost_ring_full + quality.lost_stack + quality.lost_disk;
  const std::uint64_t of_target = quality.samples - std::min(outcome.cut_in_tracer, quality.samples);
  const std::string complete =
      of_target == 0
          ? ""
          : fmt::format(", {:.2f} % with complete stacks",
                        100.0 * static_cast<double>(quality.complete) / static_cast<double>(of_target));
  return fmt::format("{} samples in {:.1f} s{}, {} lost", quality.samples, outcome.duration_s, complete,
                     lost);
}

void print_heap(const session::RecordOutcome::HeapOutcome& heap) {
  if (heap.waited_ns >= 1'000'000)
    say("fathom: heap: threads waited {:.3f} s for the recorder\n",
        static_cast<double>(heap.waited_ns) * 1e-9);
  say("fathom: heap: {} events, {} lost; {:.1f} MB live; {}\n", heap.events, heap.lost, heap.live_bytes / 1e6,
      heap.stops);
}

}  // namespace

void say_what_is_left(const session::RecordOutcome& outcome) {
  for (const std::int32_t pid : outcome.standing_still) {
    if (outcome.left_running == pid)
      say("fathom: the command (pid {}) is stopped or frozen and cannot end; fathom left it as it is and ends the recording\n",
          pid);
    else
      say("fathom: process {} is stopped or frozen; the recording ends with what fathom has so far\n", pid);
  }
  if (!outcome.outlived_by.empty()) {
    const std::size_t count = outcome.outlived_by.size();
    constexpr std::size_t kMostNamed = 8;
    const auto named = std::span(outcome.outlived_by).first(std::min(count, kMostNamed));
    say("fathom: the command ended, but {} that it started still run{}; fathom neither records nor ends {}: pid {}{}\n",
        count == 1 ? "a process" : fmt::format("{} processes", count), count == 1 ? "s" : "",
        count == 1 ? "it" : "them", fmt::join(named, ", "), count > kMostNamed ? ", ..." : "");
    say("try: fathom record -p {}\n", outcome.outlived_by.front());
  }
  if (!outcome.left_running || !outcome.standing_still.empty()) return;
  const std::int32_t pid = *outcome.left_running;
  if (outcome.left_at_request || outcome.stopped_by == session::StopReason::kInterrupted)
    say("fathom: the command (pid {}) still runs, and was left running\n", pid);
  else
    say("fathom: the command (pid {}) did not end within {} s of SIGTERM, and was left running; kill -KILL {} ends it\n",
        pid, session::kPatienceNs / 1'000'000'000, pid);
}

bool say_left_changed(const session::RecordOutcome* outcome, const inject::DetachGuardian* guardian) {
  std::vector<int> pids = guardian != nullptr ? guardian->left() : std::vector<int>();
  const auto remedy = [](int pid) {
    say("fathom: fathom-guardian restores process {0} as soon as that is possible; to do it yourself: fathom detach -p {0}\n",
        pid);
  };
  bool left = false;
  if (outcome != nullptr)
    for (const model::LeftChanged& one : outcome->left_changed) {
      left = true;
      std::erase(pids, one.pid);
      say("fathom: error: {}\n", present::left_sentence(one, ""));
      remedy(one.pid);
    }
  for (const int pid : pids) {
    left = true;
    say("fathom: error: process {} was left changed: part of the heap tracer is still in it\n", pid);
    remedy(pid);
  }
  return left;
}

void print_summary(const session::RecordOutcome& outcome, const session::RecordOptions& options) {
  for (const std::string& obstacle : outcome.obstacles)
    say("fathom: engine {} is used, as {}; fathom doctor says more\n", outcome.engine, obstacle);
  const double kilobytes = static_cast<double>(outcome.file_bytes) / 1024;
  if (outcome.unsampled && outcome.unsampled->all)
    say("fathom: recorded {:.1f} s without samples; {:.1f} KB in {}\n", outcome.duration_s, kilobytes,
        outcome.path);
  else
    say("fathom: {}; {:.1f} KB in {}\n", count_text(outcome, options), kilobytes, outcome.path);
  if (const auto& unsampled = outcome.unsampled) {
    say("fathom: {}\n", present::unsampled_sentence(*unsampled));
    if (!unsampled->remedy.empty()) say("try: {}\n", unsampled->remedy);
  }
  if (const auto idle = idleness(outcome.cpu_s, outcome.duration_s); idle && options.cpu)
    say("fathom: {}{}\n", *idle,
        options.off_cpu ? fmt::format("; waits: fathom report --waits {}", shell_word(outcome.path)) : "");
  if (outcome.heap) print_heap(*outcome.heap);
}

}  // namespace fathom::cli

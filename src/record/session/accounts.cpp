#include "record/session/accounts.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/abandonable.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/mapped_files.h"
#include "linux/process/published_context.h"
#include "model/block_reads.h"
#include "model/resource_facts.h"
#include "model/unsampled.h"

namespace fathom::session {
namespace {

// nullopt: not ours to read, or gone.
std::optional<std::uint64_t> bytes_from_blocks(std::int32_t pid) {
  constexpr std::size_t kLongest = 4096;
  const auto text = read_file(fmt::format("/proc/{}/io", pid), kLongest);
  constexpr std::string_view kName = "\nread_bytes: ";
  const std::size_t at = text ? text->find(kName) : std::string::npos;
  if (at == std::string::npos) return std::nullopt;
  std::uint64_t bytes = 0;
  const char* first = text->data() + at + kName.size();
  if (std::from_chars(first, text->data() + text->size(), bytes).ec != std::errc()) return std::nullopt;
  return bytes;
}

}  // namespace

void Accounts::update(bool last) {
  count_losses(last);
  account_samples();
  account_own_cost();
  account_machine();
  account_block_reads();
  account_resources(last);
  epoll_sets_.update(profile_);
}

// A process that has ended keeps what was read last.
void Accounts::account_block_reads() {
  constexpr std::size_t kMost = 64;  // processes: their files are read once a second
  for (const std::int32_t pid : engine_.processes().pids()) {
    if (read_before_.size() >= kMost && !read_before_.contains(pid)) continue;
    const auto read = bytes_from_blocks(pid);
    if (!read) continue;
    const std::uint64_t before = read_before_.try_emplace(pid, *read).first->second;
    profile_.meta.facts[model::block_reads_fact(pid)] = std::to_string(*read - std::min(*read, before));
  }
}

namespace {

// A target can hold back its pages forever (userfaultfd), so a thread of its own reads them. Of one target that keeps such a thread no
// other one is begun.
process::PublishedAttributes published_in_time(std::int32_t pid) {
  constexpr std::uint64_t kMostNs = 200'000'000;
  static std::atomic<bool> given_up = false;
  if (given_up) return {};
  auto work =
      Abandonable<process::PublishedAttributes>::start([pid] { return process::published_attributes(pid); });
  if (!work) return {};  // others hang
  if (!work->wait_until(monotonic_ns() + kMostNs)) {
    given_up = true;
    return {};
  }
  return work->take().value_or(process::PublishedAttributes{});
}

}  // namespace

// Mappings of a large process are many lines, and attributes change seldom: read after 1, 2, 4, 8 ... saves and at the end.
void Accounts::account_resources(bool last) {
  constexpr std::size_t kMost = 64;  // processes
  if (!last && !std::has_single_bit(++updates_)) return;
  std::size_t read = 0;
  for (const std::int32_t pid : engine_.processes().pids()) {
    if (++read > kMost) return;
    std::string text;
    for (const auto& [key, value] : published_in_time(pid)) {
      if (options_.redact && !key.starts_with("service.")) continue;  // it may be a command line
      const std::string line = key + "=" + value;
      if (line.find('\n') == line.npos) text += line + "\n";
    }
    if (!text.empty()) profile_.meta.facts[model::resource_fact(pid)] = std::move(text);
  }
}

void Accounts::count_losses(bool last) {
  model::Quality& quality = profile_.quality;
  engine_.source().count(quality);
  quality.table_overflows = engine_.modules().modules_without_room();
  if (engine_.stacks().stacks_refused() > 0)
    note_once(quality, fmt::format("more than {} distinct stacks: new ones are shown as (stack table full)",
                                   EngineRun::kMaxStacks));
  note_shared_rows(last);
  if (const std::uint64_t pages = lost_pages(); pages > 0 && last)
    note_once(
        quality,
        fmt::format(
            "files were truncated while fathom read them: {} pages were taken as zeros, so stacks and names of their code may be missing or wrong",
            pages));
  for (std::string& note : engine_.source().notes()) note_once(quality, std::move(note));
}

// All notes are written when one of them changes: not every second, but each time that the number has doubled.
void Accounts::note_shared_rows(bool last) {
  const RowBook::Shared shared = engine_.processes().rows().shared();
  const std::uint64_t all = shared.processes + shared.threads;
  if (all == 0 || (!last && all < 2 * shared_rows_noted_)) return;
  shared_rows_note_.set(
      profile_.quality,
      fmt::format(
          "{} short-lived processes and {} short-lived threads{} are merged with others of the same program and name, and cannot be distinguished",
          shared.processes, shared.threads, last ? "" : ", or more,"));
  shared_rows_noted_ = all;
}

void Accounts::account_samples() {
  if (!options_.cpu) return;
  auto& facts = profile_.meta.facts;
  const CpuTimes& times = engine_.cpu_times();
  if (Unsampled unsampled = unsampled_by(engine_.source(), engine_.processes()); !unsampled.why.empty()) {
    if (options_.engine == Engine::kProc) {  // chosen by the user, who may be allowed more
      unsampled.why = "engine proc takes no samples";
      unsampled.remedy = "fathom record without --engine";
    }
    facts[model::kNotSampledFact] = std::move(unsampled.why);
    facts[model::kNotSampledTryFact] = std::move(unsampled.remedy);
    facts[model::kNotSampledMsFact] = std::to_string(times.unsampled_ns() / 1'000'000);
  }
  if (engine_.source().sampler() == nullptr) return;  // the CPU time promises nothing
  const std::uint64_t sampled_ns = times.total_ns() - times.unsampled_ns();
  profile_.quality.expected_samples = static_cast<double>(sampled_ns) * 1e-9 * options_.frequency_hz;
  facts["cpu_runs"] = std::to_string(times.runs());
  if (const auto waited_ns = times.waited_ns()) facts["cpu_wait_ms"] = std::to_string(*waited_ns / 1'000'000);
  facts["ended_threads"] = std::to_string(times.ended_threads());
}

OwnCpu Accounts::own_cpu() const {
  const std::uint64_t naming_ns = names_.cpu_ns();
  return {clock_ns(CLOCK_PROCESS_CPUTIME_ID) + names_.reader_cpu_ns(), naming_ns};
}

void Accounts::account_own_cost() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const OwnCpu now = own_cpu();
  profile_.quality.profiler_cpu_ns = now.all_ns;
  profile_.quality.profiler_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  tell(own_cost_.parts(now), profile_.meta.facts);
}

void Accounts::account_machine() {
  const auto machine = process::read_machine_time();
  if (!machine || !machine_before_) return;
  const auto tell = [&](const char* fact, std::optional<double> share) {
    if (share) profile_.meta.facts[fact] = fmt::format("{:.1f}", 100 * *share);
  };
  tell("stolen_percent", process::stolen_share(*machine_before_, *machine));
  if (!options_.cpu || profile_.meta.end_ns <= profile_.meta.start_ns) return;
  // What else ran takes caches from the target, and lets the clock rate vary.
  const double known_s =
      static_cast<double>(engine_.cpu_times().total_ns() + profile_.quality.profiler_cpu_ns) * 1e-9;
  const double available_s = profile_.duration_s() * static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
  tell("others_percent", process::others_share(*machine_before_, *machine, known_s, available_s));
}

}  // namespace fathom::session

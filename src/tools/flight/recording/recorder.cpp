#include "tools/flight/recording/recorder.h"

#include <fmt/format.h>

#include <time.h>

#include <algorithm>
#include <csignal>

#include "analysis/core/words.h"
#include "base/abi/walk.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/parse.h"
#include "linux/memory/memory_limits.h"
#include "linux/process/cgroup.h"
#include "linux/process/fields.h"
#include "linux/process/status.h"
#include "record/session/tracking/copied_walk.h"
#include "tools/flight/death.h"
#include "tools/flight/kernel_evidence.h"

namespace fathom::flight {
namespace {

constexpr std::uint64_t kLookEvery = kSecondNs / 10;
constexpr std::uint64_t kMostBetweenWrites = 600 * kSecondNs;
// A look at the mappings that a mark asked for may take so long to come.
constexpr std::uint64_t kAgainAfter = kSecondNs / 2;
constexpr std::size_t kMostMarks = 64, kMostProcesses = 8;
constexpr std::size_t kMostLog = std::size_t{4} << 20;

std::optional<std::uint64_t> value_of(std::string_view text, std::string_view name) {
  std::string_view line;
  while (process::next_line(text, line))
    if (process::next_field(line) == name) return parse_number(process::next_field(line));
  return std::nullopt;
}

}  // namespace

void Recorder::open() {
  if (auto log = oom::KernelLogTail::open()) log_.emplace(std::move(*log));
  if (!options_.flight) return;
  if (auto witness = WallWitness::open())
    witness_.emplace(std::move(*witness));
  else
    wall_unseen_ = witness.error().message;
}

void Recorder::before_events(const Lent& lent, std::uint64_t now_ns) {
  if (!witness_) return;
  for (const sources::CopiedStackSample& at_wall : witness_->take()) {
    if (!lent.processes.is_recorded(at_wall.pid)) continue;
    walk(lent, at_wall);
    mark(lent, now_ns,
         fmt::format("an allocation of process {} found no memory, and the kernel chose a process to kill",
                     at_wall.pid));
  }
}

void Recorder::walk(const Lent& lent, const sources::CopiedStackSample& at_wall) {
  wall_unseen_ = "the stack of that allocation could not be walked";
  if (!at_wall.has_user) return;
  sources::StackSeen seen;
  seen.time_ns = at_wall.time_ns;
  seen.pid = at_wall.pid;
  session::walk_copied(session::address_space_of(lent.processes.mappings(at_wall.pid)), at_wall, seen);
  if (seen.user.empty()) return;
  at_wall_ = AtWall{at_wall.pid, at_wall.tid, lent.stacks.resolve(seen).stack};
}

// Leaf first, inlined calls too; the frames of our own tracer are no part of the program.
void Recorder::tell_wall(model::Profile& profile) const {
  if (!at_wall_) {
    profile.meta.facts[kWallUnseenFact] = wall_unseen_;
    return;
  }
  std::string name = "thread";
  for (const model::Thread& thread : profile.threads)
    if (thread.tid == at_wall_->tid && thread.name.value != 0) name = profile.strings[thread.name];
  std::string text = fmt::format("{} ({})\n", analysis::printable(name), at_wall_->tid);
  for (model::StackId stack = at_wall_->stack; stack.value != 0; stack = profile.stacks[stack.value].parent) {
    const model::Frame& frame = profile.frames[profile.stacks[stack.value].frame.value];
    if (frame.line_count == 0) {
      const std::string_view module = profile.strings[profile.modules[frame.module.value].name];
      text +=
          fmt::format("{}+{:#x}\n", module.empty() ? "?" : analysis::printable(module), frame.address.value);
    }
    for (std::uint32_t i = 0; i < frame.line_count; ++i) {
      const model::Function& function = profile.functions[profile.lines[frame.first_line + i].function.value];
      if (const std::string_view called = profile.strings[function.name]; called != "(heap tracer)")
        text += analysis::printable(called) + "\n";
    }
  }
  profile.meta.facts[kWallStackFact] = text;
}

// Often enough that the kernel does not overwrite what was not read yet.
void Recorder::read_log() {
  if (!log_) return;
  log_text_ += log_->take();
  if (log_text_.size() > kMostLog) log_text_.erase(0, log_text_.size() - kMostLog / 2);
}

void Recorder::step(const Lent& lent, std::uint64_t now_ns) {
  now_ns_ = now_ns;
  if (now_ns >= next_log_ns_) {
    next_log_ns_ = now_ns + kSecondNs;
    read_log();
  }
  if (!options_.flight || now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kLookEvery;
  auto pids = lent.processes.pids_with_own_row();
  pids.resize(std::min(pids.size(), kMostProcesses));
  std::erase_if(watched_, [&](const auto& entry) { return !std::ranges::binary_search(pids, entry.first); });
  for (const std::int32_t pid : pids) look_at(lent, pid, now_ns);
  if (again_at_ns_ != 0 && now_ns >= again_at_ns_) {
    again_at_ns_ = 0;
    write_at_ns_ = now_ns;
  }
}

// Of version 1 memory.failcnt counts what met the limit; memory.high is there in version 2 only.
void Recorder::read_events(Watched& watched, Tick& tick) const {
  if (watched.events_path.empty()) return;
  const auto text = read_file(watched.events_path);
  if (!text) return;
  std::string_view rest = *text, line;
  (void)process::next_line(rest, line);
  const auto limit = watched.version == 2 ? value_of(*text, "max") : parse_number(line);
  const auto high = watched.version == 2 ? value_of(*text, "high") : std::nullopt;
  if (!watched.limit_at_first) watched.limit_at_first = limit;
  if (!watched.high_at_first) watched.high_at_first = high;
  const auto since = [](std::optional<std::uint64_t> now, std::optional<std::uint64_t> first) {
    return now && first && *now > *first ? *now - *first : 0;
  };
  tick.limit_events = since(limit, watched.limit_at_first);
  tick.high_events = since(high, watched.high_at_first);
}

void Recorder::look_at(const Lent& lent, std::int32_t pid, std::uint64_t now_ns) {
  const auto use = process::read_memory(pid);
  if (!use) return;
  auto found = watched_.find(pid);
  if (found == watched_.end()) {
    found = watched_.emplace(pid, Watched(options_.triggers)).first;
    if (const auto group = process::read_memory_cgroup(pid); group && *group) {
      found->second.version = (*group)->version;
      found->second.events_path =
          (*group)->directory + ((*group)->version == 2 ? "/memory.events" : "/memory.failcnt");
    }
  }
  Tick tick;
  tick.time_ns = now_ns;
  tick.anonymous = use->rss_anon;
  tick.resident = use->rss_anon + use->rss_file + use->rss_shmem;
  const auto limits = sources::read_limits(pid, 0);
  if (const auto* first = sources::first_to_be_met(limits.limits)) {
    tick.limit_bytes = first->limit;
    tick.held_bytes = first->limit - std::min(first->limit, first->room());
    tick.limit_of = first->kind == sources::LimitKind::kControlGroup
                        ? "control group " + analysis::printable(first->where)
                        : std::string("the machine");
  }
  read_events(found->second, tick);
  for (const model::Series& series : lent.profile.series)
    if (series.pid == pid && !series.points.empty()) {
      const std::string_view name = lent.profile.strings[series.name];
      if (name == "cgroup.memory_stall_some" || name == "system.memory_stall_some")
        tick.stalled_us = series.points.back().value;
    }
  const auto marks = found->second.triggers.take(tick);
  if (marks.empty()) return;
  const std::string who =
      lent.processes.pids_with_own_row().size() > 1 ? fmt::format("process {}: ", pid) : "";
  for (const std::string& why : marks) mark(lent, now_ns, who + why);
  hold_for_look(lent, pid, now_ns);
}

// The guardian learns of it first, so that nothing stays held if we die.
void Recorder::hold_for_look(const Lent& lent, std::int32_t pid, std::uint64_t now_ns) {
  if ((!options_.may_freeze && !options_.may_brake) || options_.guardian == nullptr || hold_refused_ ||
      held_ || now_ns < next_hold_ns_)
    return;
  next_hold_ns_ = now_ns + kSecondNs;
  const auto is_ours = [&](std::int32_t other) { return lent.processes.is_recorded(other); };
  auto found = options_.may_freeze ? freeze_of_process(pid, is_ours) : brake_of_process(pid, is_ours);
  if (!found && options_.may_freeze && options_.may_brake) found = brake_of_process(pid, is_ours);
  Result<> done;
  if (found) done = options_.guardian->watch(*found);
  if (found && done) {
    held_ = *found;
    held_since_ns_ = monotonic_ns();
    done = hold(*found);
    lent.after_readings([this] { looked(); });
  }
  if (!found || !done) {
    hold_refused_ = true;
    lent.profile.quality.notes.push_back("flight: the target was not held during the inspection: " +
                                         (found ? done.error() : found.error()).message);
    looked();
    return;
  }
  constexpr std::uint64_t kPatience = 10'000'000;
  while (!holds(*found) && monotonic_ns() < held_since_ns_ + kPatience) {
    const timespec pause{0, 200'000};
    ::nanosleep(&pause, nullptr);
  }
}

void Recorder::looked() {
  if (!held_) return;
  let_go(*held_);
  options_.guardian->forget();
  held_.reset();
  ++holds_;
  longest_hold_ns_ = std::max(longest_hold_ns_, monotonic_ns() - held_since_ns_);
}

void Recorder::mark(const Lent& lent, std::uint64_t now_ns, const std::string& why) {
  const std::uint64_t start = lent.profile.meta.start_ns;
  const double at_s = static_cast<double>(now_ns - std::min(now_ns, start)) * 1e-9;
  marks_.push_back(fmt::format("{:.1f} s: {}", at_s, why));
  if (marks_.size() > kMostMarks) {
    marks_.pop_front();
    ++earlier_marks_;
  }
  write_at_ns_ = now_ns;
  again_at_ns_ = now_ns + kAgainAfter;
  lent.keep_now();
}

void Recorder::tell(model::Profile& profile) {
  auto& facts = profile.meta.facts;
  facts["flight"] = "60 s at 10 Hz, an hour at one in 10 s, a week at one in 10 minutes";
  std::string text;
  for (const std::string& line : marks_) text += line + "\n";
  if (!text.empty()) facts[kMarksFact] = text;
  if (earlier_marks_ > 0) facts[kEarlierMarksFact] = std::to_string(earlier_marks_);
  if (holds_ > 0)
    facts[kHoldsFact] = fmt::format("{}, for at most {}", analysis::counted(holds_, "time"),
                                    analysis::seconds(static_cast<double>(longest_hold_ns_) * 1e-9));
  const Dropped& dropped = kept_.dropped();
  auto& notes = profile.quality.notes;
  std::erase(notes, note_);
  note_.clear();
  // What was dropped was sampled: it is not missing.
  profile.quality.expected_samples =
      std::max(0.0, profile.quality.expected_samples - static_cast<double>(dropped.samples));
  if (dropped.samples + dropped.waits + dropped.faults == 0) return;
  note_ = fmt::format(
      "flight: samples, waits and faults are those of the last minute; {}, {} and {} before it were dropped",
      analysis::counted(dropped.samples, "sample"), analysis::counted(dropped.waits, "wait"),
      analysis::counted(dropped.faults, "fault"));
  notes.push_back(note_);
}

Recorder::Save Recorder::before_save(const Lent& lent, bool last) {
  model::Profile& profile = lent.profile;
  if (last) keep_kernel_record(lent);
  if (!options_.flight) return Save::kAppend;
  kept_.take(profile);
  if (last) tell_wall(profile);  // names come late
  if (!last && now_ns_ < write_at_ns_) return Save::kKept;
  write_at_ns_ = now_ns_ + write_every_ns_;
  write_every_ns_ = std::min(2 * write_every_ns_, kMostBetweenWrites);
  kept_.lend(profile);
  tell(profile);
  return Save::kAnew;
}

// The kernel writes it before its victim is gone, so it is there.
void Recorder::keep_kernel_record(const Lent& lent) {
  auto& facts = lent.profile.meta.facts;
  const auto signal = facts.find("signal");
  const auto group = facts.find("oom_cgroup");
  if (group == facts.end() && (signal == facts.end() || signal->second != std::to_string(SIGKILL))) return;
  const bool is_ours = process::has_numbers_of_the_kernel();
  facts[kKernelLogFact] = !log_ ? "unreadable" : is_ours ? "read" : "other-numbers";
  if (!log_ || !is_ours) return;
  read_log();
  AboutUs us;
  for (const model::Process& process : lent.profile.processes) us.pids.insert(process.pid);
  if (group != facts.end()) us.group = group->second;
  if (std::string text = evidence_in(log_text_, us); !text.empty())
    facts[kKernelRecordFact] = std::move(text);
  else if (log_->has_gap())
    facts[kKernelLogFact] = "overwritten";
}

}  // namespace fathom::flight

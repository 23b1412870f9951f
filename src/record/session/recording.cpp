#include "record/session/recording.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "attach/inject/stop/launch.h"
#include "base/clock.h"
#include "linux/process/command_line.h"
#include "model/facts.h"
#include "model/unsampled.h"
#include "record/session/tracking/host_facts.h"

namespace fathom::session {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kSaveEvery = kSecond;    // what a kill of the profiler can cost, where it appends
constexpr std::size_t kBlocksPerSave = 1 << 16;  // of the heap: one block of the file

}  // namespace

Recording::Recording(const RecordOptions& options, std::unique_ptr<Source> source,
                     std::vector<std::string> obstacles)
    : options_(options),
      tables_(std::make_unique<Tables>()),
      profile_(tables_->profile),
      builder_(tables_->builder),
      names_(options, profile_, builder_),
      engine_(options, profile_, builder_, names_.worker(), std::move(source)),
      memory_(options, profile_, builder_, engine_.processes()),
      companions_(options.companions),
      accounts_(options, profile_, engine_, names_),
      file_(options, urgency_),
      obstacles_(std::move(obstacles)) {
  if (options.heap != Heap::kNone)
    heaps_.emplace(
        options,
        HeapContext{profile_, builder_, engine_.processes(), engine_.stacks(), [this] { return save(); }},
        engine_.source());
  if (!options.probes.empty())
    probes_.emplace(options, profile_, builder_, engine_.processes(), engine_.sink());
  if (!options.events.empty())
    events_.emplace(options.events, profile_, builder_, engine_.processes(), engine_.sink());
  if (options.system_calls) system_calls_.emplace(profile_, builder_, engine_.processes(), engine_.sink());
  companions_.begin(
      profile_, builder_, engine_.processes(), engine_.stacks(),
      [this] {
        memory_.make_compositions_due();  // by the step that follows
        next_save_ns_ = 0;
      },
      readings());
  for (const std::string& obstacle : obstacles_)
    note(fmt::format("fathom used engine {}, because of: {}", engine_.source().name(), obstacle));
}

Companion::Readings Recording::readings() {
  return {[this] { names_.take(); },
          [this] { return names_.worker().is_done(); },
          [this](std::uint64_t now_ns) {
            engine_.refresh_cpu_times();
            engine_.sum_waits(now_ns);
          },
          [this](std::uint64_t now_ns) { return open_waits(now_ns); },
          heaps_ ? std::function<void()>([this] {
            const Calm calm(urgency_);
            heaps_->publish(true);
          })
                 : nullptr,
          [this](std::uint32_t frequency_hz) {
            if (!engine_.source().set_frequency(frequency_hz)) return false;
            profile_.meta.frequency_hz = frequency_hz;
            return true;
          }};
}

// The engine adds them as rows, which they are not to stay: they go on.
std::vector<model::Wait> Recording::open_waits(std::uint64_t now_ns) {
  const std::size_t rows = profile_.waits.size();
  const std::uint64_t counted = profile_.quality.waits;
  engine_.cut_waits(now_ns);
  const auto first = profile_.waits.begin() + static_cast<std::ptrdiff_t>(rows);
  std::vector<model::Wait> open(first, profile_.waits.end());
  profile_.waits.erase(first, profile_.waits.end());
  profile_.quality.waits = counted;
  return open;
}

Recording::~Recording() {
  if (options_.free_tables) return;
  // Reachable, so that leak checkers find them here.
  static auto& left = *new std::vector<std::unique_ptr<Tables>>;
  left.push_back(std::move(tables_));
}

void Recording::describe() {
  const std::uint64_t now = monotonic_ns();
  profile_.meta.target = options_.target;
  profile_.meta.engine = engine_.source().name();
  if (options_.cpu) {  // else nothing is sampled, and a rate would say that nothing ran
    profile_.meta.event = options_.event;
    profile_.meta.frequency_hz = options_.frequency_hz;
    if (options_.frequency_hz > kMeasuredFrequencyHz)
      note(fmt::format(
          "sampling at {} Hz slows the target down by an unknown amount, which is not part of fathom's own cost (--baseline measures it)",
          options_.frequency_hz));
  }
  profile_.meta.start_unix_ns = wall_clock_ns();
  profile_.meta.start_ns = profile_.meta.end_ns = now;
  next_save_ns_ = now + kSaveEvery;
  profile_.meta.facts = host_facts();
  model::put_facts(model::OriginFacts{.tags = options_.tags, .recorder_pid = ::getpid()}, profile_.meta);
  accounts_.starts();
  if (!options_.command.empty() && !options_.redact)
    profile_.meta.facts["command"] = process::command_line(options_.command);
}

Result<> Recording::begin(const std::vector<std::int32_t>& pids, const std::vector<std::int32_t>& targets) {
  urgency_.begin();
  for (const std::int32_t pid : pids) ends_.look(pid);
  for (const std::int32_t pid : targets) ends_.add_target(pid);
  describe();
  const auto if_unreadable = [&](std::int32_t pid) {
    if (options_.pids_are_members) return EngineRun::Unreadable::kIsIgnored;
    // A child may have ended since, or belong to another user.
    return std::ranges::find(targets, pid) == targets.end() ? EngineRun::Unreadable::kIsNoted
                                                            : EngineRun::Unreadable::kFails;
  };
  if (auto started = engine_.begin(pids, if_unreadable); !started) return started;
  for (const std::int32_t pid : targets) {
    if (!heaps_) break;
    if (auto traced = heaps_->trace(pid, false); !traced) return traced;
  }
  if (probes_)
    if (auto probed = probes_->begin(pids, engine_.source().function_probes()); !probed) return probed;
  return begun();
}

Result<> Recording::begin(LaunchedProcess& held) {
  urgency_.begin();
  ends_.look(held.pid());
  ends_.add_target(held.pid());
  describe();
  if (auto started = engine_.begin_with_exec(held.pid()); !started) return started;
  if (auto launched = heaps_ || probes_ ? launch_held(held) : held.release(); !launched) return launched;
  return begun();
}

Result<> Recording::begun() {
  accounts_.begun();
  return save();  // the file is there from now on
}

bool Recording::join(std::int32_t pid) {
  // A child of a target is recorded already, and counts as a target from here on.
  if (!engine_.processes().is_recorded(pid) && !engine_.source().takes_more()) return false;
  ends_.look(pid);
  ends_.add_target(pid);
  return engine_.join(pid);
}

// The program is held at its first instruction: its libraries are mapped, and nothing of its own has run.
Result<> Recording::launch_held(LaunchedProcess& launched) {
  const std::int32_t pid = launched.pid();
  auto held = inject::launch_to_entry(pid, [&] { return launched.release(); });
  if (!held) return tl::unexpected<Error>(held.error());
  drain();
  if (!engine_.processes().read_from_proc(pid))
    return fail(ErrorKind::kNotFound, "the program ended before it began");
  Result<> begun = heaps_ ? begin_heap(pid) : Result<>();
  if (begun && probes_) begun = probes_->begin({pid}, engine_.source().function_probes());
  if (!begun) {
    ::kill(pid, SIGKILL);  // it has run nothing, and would run without what was asked for
    return begun;
  }
  return held->go();
}

Result<> Recording::begin_heap(std::int32_t pid) {
  if (auto traced = heaps_->trace(pid, true); !traced) return traced;
  return heaps_->hold_execs(pid, [this] { drain(); });
}

std::optional<double> Recording::cpu_seconds() const {
  const CpuTimes& times = engine_.cpu_times();
  return times.known() ? std::optional(static_cast<double>(times.total_ns()) * 1e-9) : std::nullopt;
}

bool Recording::memory_reached() const {
  return (options_.until_live_bytes && heaps_ &&
          heaps_->outcome().live_bytes >= static_cast<double>(*options_.until_live_bytes)) ||
         (options_.until_resident_bytes &&
          memory_.resident_bytes() >= static_cast<double>(*options_.until_resident_bytes));
}

void Recording::drain() {
  if (events_) events_->collect(engine_.source().kernel_events());  // before their stacks
  engine_.drain();
  if (events_) events_->add_rows();
  for (const auto& ended : engine_.take_ended_processes()) ends_.saw(ended);
  fatal_signals_.saw(engine_.sink().take_fatal_signals());
  const auto memory_calls = engine_.sink().take_memory_calls();
  const auto heap_probed = engine_.sink().take_heap_probed();
  if (!heaps_) return;
  heaps_->take(memory_calls);
  heaps_->take(heap_probed);
}

void Recording::account(bool last) {
  names_.note_lost();
  if (probes_) probes_->account();
  if (events_) events_->account();
  if (heaps_) heaps_->account(profile_.quality);
  memory_.account();
  accounts_.update(last);
}

Result<> Recording::save() {
  names_.take();
  account(false);
  return file_.save(profile_, engine_.processes().rows(), companions_.before_save(false));
}

Result<> Recording::step(std::uint64_t now) {
  companions_.before_events(now);
  drain();
  if (heaps_) {
    const Calm calm(urgency_);
    heaps_->refresh();
  }
  if (profile_.heap.blocks.size() >= kBlocksPerSave) {
    if (auto saved = save(); !saved) return saved;
  }
  profile_.meta.end_ns = now;
  if (now >= next_memory_ns_) {
    memory_.sample(now);
    // Such a process's CPU time up to its end is unknown.
    engine_.refresh_cpu_times(true);
    next_memory_ns_ = now + options_.memory_every_ns;
  }
  companions_.step(now);
  memory_.read_compositions(now, heaps());
  companions_.readings_taken();
  if (now < next_save_ns_) return {};
  next_save_ns_ = now + kSaveEvery;
  return step_each_second(now);
}

Result<> Recording::step_each_second(std::uint64_t now) {
  if (now - last_reread_ns_ >= kSecond) {
    engine_.reread_doubtful();
    last_reread_ns_ = now;
  }
  engine_.refresh_cpu_times();
  ends_.look_again(engine_.processes().pids_with_own_row());
  engine_.sum_waits(now);
  if (heaps_) {
    const Calm calm(urgency_);
    heaps_->publish();
  }
  if (probes_) probes_->take(now, false);
  if (system_calls_) system_calls_->take(engine_.source().system_calls(), now, false);
  if (auto saved = save(); !saved) return saved;
  engine_.forget_ended(now - kSecond);
  return {};
}

void Recording::end() {
  urgency_.relax();  // on a full machine an ordinary thread would end the recording many seconds late
  // Before anything that takes time: the cgroup in which a target was killed may be removed any moment.
  ends_.refresh();
  companions_.before_events(monotonic_ns());
  engine_.refresh_cpu_times();
  memory_.finish_compositions(monotonic_ns(), heaps());
  drain();  // calls that map memory are taken by heaps that have not ended
  if (heaps_) heaps_->end();
  engine_.stop();
  profile_.meta.end_ns = monotonic_ns();
  drain();
  if (heaps_) heaps_->finish();
  engine_.cut_waits(profile_.meta.end_ns);
  if (probes_) probes_->take(profile_.meta.end_ns, true);
  if (system_calls_) system_calls_->take(engine_.source().system_calls(), profile_.meta.end_ns, true);
  engine_.sink().finish();
  memory_.finish(profile_.meta.end_ns);
  accounts_.ended();
  engine_.release();
}

Result<> Recording::finish(const TargetEnds& targets, RecordOutcome& outcome) {
  ends_.tell(targets, profile_);
  // While the command runs these are candidates: only at its end is it known which of them outlive it.
  const std::vector<std::int32_t> running = engine_.processes().pids();
  const bool runs = targets.launched && targets.ends.empty();
  outcome.outlived_by = runs ? running : left_by_command(targets, running);
  if (const std::size_t left = outcome.outlived_by.size(); left != 0 && !runs)
    note(fmt::format(
        "when the command ended, {} that it had started still ran: the recording ended with the command, and what they did afterwards is not in it",
        left == 1 ? "a process" : fmt::format("{} processes", left)));
  names_.finish(options_.hurry);
  engine_.processes().rows().name_shared_rows();
  fatal_signals_.tell(profile_);
  account(true);
  auto finished = file_.finish(profile_, engine_.processes().rows(), companions_.before_save(true));
  urgency_.end();
  fill_in(outcome);
  if (finished && !options_.output.empty()) finished = file_.ensure_there();
  return finished;
}

void Recording::fill_in(RecordOutcome& outcome) {
  outcome.path = file_.path();
  outcome.recorded = true;
  outcome.quality = profile_.quality;
  for (const model::EarlyEnd& each : profile_.quality.early_ends)
    if (profile_.strings[profile_.modules[each.module.value].name] == kTracerModule)
      outcome.cut_in_tracer += each.count;
  outcome.duration_s = profile_.duration_s();
  outcome.cpu_s = cpu_seconds();
  outcome.saw_waits = outcome.quality.waits != 0 || model::has_thread_times(profile_);
  outcome.unsampled = model::find_unsampled(
      profile_.meta,
      {.cpu_s = outcome.cpu_s,
       .samples = outcome.quality.samples,
       .lost = outcome.quality.lost_ring_full + outcome.quality.lost_stack + outcome.quality.lost_disk});
  outcome.file_bytes = file_.bytes_written();
  outcome.engine = profile_.meta.engine;
  outcome.obstacles = std::move(obstacles_);
  if (heaps_) outcome.heap = heaps_->outcome();
  outcome.left_changed = model::left_changed_of(profile_.meta.facts);
}

}  // namespace fathom::session

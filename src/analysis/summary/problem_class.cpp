#include "analysis/summary/problem_class.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "analysis/waits/other_locks.h"
#include "base/stable_sort.h"
#include "model/system_call.h"
#include "model/wait_sums.h"

namespace fathom::analysis {
namespace {

bool provides_pages(std::string_view kernel_function) {
  for (const std::string_view start :
       {"asm_exc_page_fault", "exc_page_fault", "do_user_addr_fault", "handle_mm_fault", "try_to_free_",
        "shrink_lruvec", "mem_cgroup_handle_over_high"})
    if (kernel_function.starts_with(start)) return true;
  return false;
}

// Of CPU time, the part below functions of the kernel that provide pages.
double share_of_pages(const CallTree& tree) {
  if (tree.metric != model::Metric::kCpu || tree.total <= 0) return 0;
  std::int64_t sum = 0;
  for (std::size_t i = 1; i < tree.nodes.size();) {
    const TreeNode& node = tree.nodes[i];
    if (node.kind != NodeKind::kKernel || !provides_pages(tree.name(node))) {
      ++i;
      continue;
    }
    sum += node.total;
    while (++i < tree.nodes.size() && tree.nodes[i].depth > node.depth) {
    }
  }
  return static_cast<double>(sum) / static_cast<double>(tree.total);
}

// Of the time of all threads that ran, could have, or waited for a lock.
double share_of_lock_waits(const WaitReport& waits, double able_ns) {
  double locks = 0;
  for (const ContentionRow& row : waits.locks.by_site)
    if (row.is_lock()) locks += static_cast<double>(row.waits.sum().total_ns());
  for (const OtherLockRow& row : other_locks(waits)) locks += static_cast<double>(row.row->sum.total_ns());
  return able_ns + locks > 0 ? locks / (able_ns + locks) : 0;
}

// `able`: the part of the busy time in which at least one thread ran or could have. A program that hardly ever wants a CPU
// is not short of one, however long it waits for it.
ProblemKind kind_of(const ProblemClass& problem, double able) {
  const ProblemThresholds& from = kProblemThresholds;
  struct Candidate {
    double share;
    ProblemKind kind;
  };
  Candidate most{0, ProblemKind::kMixed};
  for (const Candidate& each :
       {Candidate{problem.memory, ProblemKind::kMemory}, Candidate{problem.disk, ProblemKind::kDisk},
        Candidate{problem.locks, ProblemKind::kLocks}, Candidate{problem.peers, ProblemKind::kPeers},
        Candidate{problem.slept, ProblemKind::kSleep}, Candidate{problem.unended, ProblemKind::kUnended}})
    if (each.share >= from.waited && each.share > most.share) most = each;
  // Not of one that waits for something else most of the time.
  if (most.share < 0.5 && problem.queued >= from.queued && able >= from.waited)
    return problem.ran >= from.queued ? ProblemKind::kCpuAndRunQueue : ProblemKind::kRunQueue;
  if (problem.contended >= from.contended && problem.ran + problem.locks >= from.ran)
    return ProblemKind::kLocks;
  if (problem.ran >= from.ran)
    return problem.memory >= from.waited ? ProblemKind::kCpuAndMemory : ProblemKind::kCpu;
  return most.kind;
}

// What reaches its threshold next to the kind of the problem. A program that hardly gets a CPU waits for little else in its busy
// time, so the rest of that time counts, too.
std::vector<FurtherKind> further_kinds(const ProblemClass& problem, double able) {
  using enum ProblemKind;
  using Of = FurtherKind::Of;
  const ProblemThresholds& from = kProblemThresholds;
  const bool starves = problem.kind == kRunQueue || problem.kind == kCpuAndRunQueue;
  const double rest = 1 - problem.starved;
  std::vector<FurtherKind> kinds;
  const auto add = [&](ProblemKind kind, double share) {
    if (problem.kind == kind) return;
    if (share >= from.waited)
      kinds.push_back({kind, share});
    else if (starves && rest * problem.busy_s >= from.least_busy_s && share >= from.waited * rest)
      kinds.push_back({kind, std::min(1.0, share / rest), Of::kUnqueued});
  };
  if (starves && problem.memory < from.waited && problem.pages >= from.waited)
    kinds.push_back({kMemory, problem.pages, Of::kCpuTime});
  else if (problem.kind != kCpuAndMemory)
    add(kMemory, problem.memory);
  add(kDisk, problem.disk);
  add(kPeers, problem.peers);
  if (problem.kind != kLocks && problem.by_contention() && problem.contended >= from.contended &&
      able + problem.locks >= from.ran)
    kinds.push_back({kLocks, problem.contended, Of::kWork});
  else
    add(kLocks, problem.locks);
  add(kSleep, problem.slept);
  add(kUnended, problem.unended);
  if (!starves && problem.queued >= from.queued && able >= from.waited)
    kinds.push_back({kRunQueue, problem.queued, Of::kAble});
  stable_sort_rows(kinds, std::greater(), &FurtherKind::share);
  return kinds;
}

}  // namespace

bool ProblemClass::by_contention() const {
  return locks < kProblemThresholds.waited;
}

double ProblemClass::share_of(ProblemKind which) const {
  switch (which) {
    case ProblemKind::kCpu:
    case ProblemKind::kCpuAndMemory:
      return ran;
    case ProblemKind::kRunQueue:
    case ProblemKind::kCpuAndRunQueue:
      return queued;
    case ProblemKind::kMemory:
      return memory;
    case ProblemKind::kDisk:
      return disk;
    case ProblemKind::kPeers:
      return peers;
    case ProblemKind::kLocks:
      return by_contention() ? contended : locks;
    case ProblemKind::kSleep:
      return slept;
    case ProblemKind::kUnended:
      return unended;
    case ProblemKind::kMixed:
      return std::max({ran, memory, disk, peers, locks, slept, unended});
    case ProblemKind::kUnknown:
    case ProblemKind::kIdle:
      break;
  }
  return 0;
}

// Of the CPU time, the part of threads of which neither run nor wait was booked: programs that the user may not look at.
// What the others waited for says nothing of them.
static double share_without_waits(const Report& report) {
  const Filter filter(*report.profile, report.selection);
  double all = 0, without = 0;
  for (std::uint32_t i = 0; i < report.profile->threads.size(); ++i) {
    const model::Thread& thread = report.profile->threads[i];
    if (!filter.takes_thread({i})) continue;
    all += static_cast<double>(thread.cpu_ns);
    if (thread.ran_ns == 0 && thread.waited_ns == 0 && thread.queued_ns == 0)
      without += static_cast<double>(thread.cpu_ns);
  }
  return all > 0 ? without / all : 0;
}

// Of the time in run queues: the part after a call of sched_yield. A thread that spins so is in the queue because it wants to.
static double share_of_yields(const Report& report) {
  const Filter filter(*report.profile, report.selection);
  double all = 0, yielded = 0;
  for (const model::Wait& wait : report.profile->all_waits()) {
    if (wait.queued_ns == 0 || !filter.takes_thread(wait.thread)) continue;
    const double queued = static_cast<double>(filter.inside(wait.start_ns + wait.waited_ns, wait.queued_ns)) *
                          static_cast<double>(wait.weight);
    all += queued;
    if (model::system_call_name(wait.system_call) == "sched_yield") yielded += queued;
  }
  return all > 0 ? yielded / all : 0;
}

// The shares of the busy part of `time`, and of the time in which threads ran or could have: `ran_ns` and `queued_ns`, of all threads.
static void set_shares(ProblemClass& problem, const Report& report, const WallTime& time, double ran_ns,
                       double queued_ns) {
  const double busy_ns = time.busy_ns(), able_ns = ran_ns + queued_ns;
  problem.ran = time.ran_ns / busy_ns;
  problem.disk = time.disk_ns / busy_ns;
  problem.peers = time.peers_ns / busy_ns;
  problem.locks = time.locks_ns / busy_ns;
  problem.slept = time.slept_ns / busy_ns;
  problem.unended = time.unended_ns / busy_ns;
  problem.starved = time.queued_ns / busy_ns;
  problem.pages = share_of_pages(report.tree);
  problem.memory = std::max(time.memory_ns / busy_ns, problem.ran * problem.pages);
  problem.queued = able_ns > 0 ? queued_ns / able_ns : 0;
  problem.throttled = able_ns > 0 ? report.waits->throttled_ns / able_ns : 0;
  problem.yielded = problem.queued * share_of_yields(report);
  problem.contended = share_of_lock_waits(*report.waits, able_ns);
}

// Threads that were active for less than a tenth of the time in all left the program idle for nine tenths of it at least. One that
// keeps a CPU busy is bound by that, however many of its threads wait.
static ProblemClass classify_by_threads(const Report& report, double cpus) {
  const ProblemThresholds& from = kProblemThresholds;
  const WallTime& time = report.waits->thread_time;
  ProblemClass problem;
  problem.waits_summed = problem.by_threads = true;
  problem.busy = cpus;
  const double active_ns = time.busy_ns();
  if (active_ns < from.idle_below * report.activity.duration_s * 1e9) {
    problem.kind = ProblemKind::kIdle;
    problem.busy = active_ns / (report.activity.duration_s * 1e9);
    return problem;
  }
  problem.busy_s = active_ns * 1e-9;
  if (problem.busy_s < from.least_busy_s) return problem;
  set_shares(problem, report, time, time.ran_ns, time.queued_ns);
  const bool keeps_a_cpu_busy = cpus >= from.ran;
  const double ran = problem.ran, able = keeps_a_cpu_busy ? 1 : (time.ran_ns + time.queued_ns) / active_ns;
  if (keeps_a_cpu_busy) problem.ran = std::max(problem.ran, from.ran);
  problem.kind = kind_of(problem, able);
  problem.ran = ran;
  if (problem.kind == ProblemKind::kMixed) return problem;
  problem.also = further_kinds(problem, able);
  for (FurtherKind& also : problem.also)
    if (also.of == FurtherKind::Of::kBusy) also.of = FurtherKind::Of::kActive;
  std::erase_if(problem.also, [](const FurtherKind& also) { return also.of == FurtherKind::Of::kUnqueued; });
  return problem;
}

static ProblemClass classify_by_time(const Report& report) {
  ProblemClass problem;
  const double length_ns = report.activity.duration_s * 1e9;
  if (length_ns <= 0) return problem;
  constexpr double kMuch = 0.3;
  const bool are_sums = report.profile->meta.facts.contains(model::kWaitSumsFact);
  if (!report.waits || are_sums || (report.unsampled && share_without_waits(report) > kMuch)) {
    const auto used = report.activity.cpus_used();
    if (!used) return problem;
    if (are_sums && report.waits && report.waits->thread_time.length_ns > 0)
      return classify_by_threads(report, *used);
    problem.waits_summed = are_sums || report.stacks_waited_ns > 0;
    problem.busy = *used;
    problem.ran = 1;
    if (*used < kProblemThresholds.idle_below) problem.kind = ProblemKind::kIdle;
    if (*used >= kProblemThresholds.ran) problem.kind = ProblemKind::kCpu;
    return problem;
  }
  const WallTime& wall = report.waits->wall;
  if (wall.length_ns <= 0) return problem;  // parts of stacks have no wall time
  problem.waits_known = true;
  const double busy_ns = wall.busy_ns();
  problem.busy = busy_ns / wall.length_ns;
  problem.busy_s = busy_ns * 1e-9;
  if (problem.busy < kProblemThresholds.idle_below) {
    problem.kind = ProblemKind::kIdle;
    return problem;
  }
  if (problem.busy_s < kProblemThresholds.least_busy_s) return problem;
  double ran_ns = 0, queued_ns = 0;  // of all threads
  for (const WaitThreadRow& row : report.waits->threads) {
    ran_ns += row.ran_ns;
    queued_ns += row.queued_ns;
  }
  set_shares(problem, report, wall, ran_ns, queued_ns);
  const double able = (wall.ran_ns + wall.queued_ns) / busy_ns;
  problem.kind = kind_of(problem, able);
  if (problem.kind != ProblemKind::kMixed) problem.also = further_kinds(problem, able);
  return problem;
}

ProblemClass classify(const Report& report) {
  ProblemClass problem = classify_by_time(report);
  problem.pressure = find_pressure(*report.profile, report.selection);
  problem.memory_problem = find_memory_problem(report);
  // A holder that waits itself is a fact about a lock; the others say that threads are stuck.
  if (!report.stuck.verdicts.empty() &&
      report.stuck.verdicts.front().finding <= stacks::Finding::kLikelyDeadlock) {
    problem.stuck = report.stuck.verdicts.front().finding;
    problem.stuck_seen_ns = report.stuck.time_ns;
  }
  return problem;
}

}  // namespace fathom::analysis

#include "analysis/summary/problem_class.h"

#include <algorithm>
#include <string_view>

#include "analysis/waits/other_locks.h"

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

// Who waits for a thread to end waits for no lock: what that thread does is its own time.
double joins_of(const WaitReport& waits) {
  double sum = 0;
  for (const ContentionRow& row : waits.locks.by_object)
    if (row.kind == FutexKind::kJoin) sum += static_cast<double>(row.waits.sum().total_ns());
  return sum;
}

// Waits, in ns, by kind.
void add_waits(const WaitReport& waits, ProblemClass& problem) {
  for (const CauseRow& row : waits.causes) {
    const auto ns = static_cast<double>(row.waits.sum().total_ns());
    switch (row.cause) {
      case Cause::kFutex:
      case Cause::kFileLock:
      case Cause::kIpc:
        problem.locks += ns;
        break;
      case Cause::kFileRead:
      case Cause::kFileWrite:
      case Cause::kFileSync:
      case Cause::kFileOther:
      case Cause::kIoUring:
      case Cause::kAsyncIo:
      case Cause::kWriteback:
      case Cause::kPageFault:  // of a mapped file, see below
        problem.disk += ns;
        break;
      case Cause::kReclaim:
        problem.memory += ns;
        break;
      case Cause::kSocket:
      case Cause::kPipe:
      case Cause::kPoll:
        problem.peers += ns;
        break;
      case Cause::kSleep:
        problem.slept += ns;
        break;
      default:
        break;
    }
  }
  for (const FileRow& row : waits.files) {
    if (row.cause != Cause::kPageFault || row.kind != model::ObjectKind::kMemory) continue;
    const auto ns = static_cast<double>(row.waits.sum().total_ns());  // pages of no file: from the swap
    problem.disk -= ns;
    problem.memory += ns;
  }
  problem.locks -= joins_of(waits);
  // Who waits for the lock of a database sleeps between two tries (SQLite), or waits in epoll (PostgreSQL).
  for (const OtherLockRow& row : other_locks(waits)) {
    if (row.row->cause != Cause::kSleep && row.row->cause != Cause::kPoll) continue;
    const auto ns = static_cast<double>(row.row->sum.total_ns());
    (row.row->cause == Cause::kSleep ? problem.slept : problem.peers) -= ns;
    problem.locks += ns;
  }
}

ProblemKind kind_of(const ProblemClass& problem) {
  const ProblemThresholds& from = kProblemThresholds;
  if (problem.queued >= from.queued)
    return problem.ran >= from.queued ? ProblemKind::kCpuAndRunQueue : ProblemKind::kRunQueue;
  if (problem.ran >= from.ran)
    return problem.memory >= from.waited ? ProblemKind::kCpuAndMemory : ProblemKind::kCpu;
  struct Candidate {
    double share;
    ProblemKind kind;
  };
  Candidate most{0, ProblemKind::kMixed};
  for (const Candidate& each :
       {Candidate{problem.memory, ProblemKind::kMemory}, Candidate{problem.disk, ProblemKind::kDisk},
        Candidate{problem.locks, ProblemKind::kLocks}, Candidate{problem.peers, ProblemKind::kPeers},
        Candidate{problem.slept, ProblemKind::kSleep}})
    if (each.share >= from.waited && each.share > most.share) most = each;
  return most.kind;
}

}  // namespace

double ProblemClass::share() const {
  switch (kind) {
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
      return locks;
    case ProblemKind::kSleep:
      return slept;
    case ProblemKind::kMixed:
      return std::max({ran, memory, disk, peers, locks, slept});
    case ProblemKind::kUnknown:
    case ProblemKind::kIdle:
      break;
  }
  return 0;
}

static ProblemClass classify_by_time(const Report& report) {
  ProblemClass problem;
  const double length_ns = report.activity.duration_s * 1e9;
  if (length_ns <= 0) return problem;
  if (!report.waits) {
    const auto used = report.activity.cpus_used();
    if (!used) return problem;
    problem.active_ns = *used * length_ns;
    problem.threads_active = *used;
    problem.ran = 1;
    if (*used < kProblemThresholds.idle_below) problem.kind = ProblemKind::kIdle;
    if (*used >= kProblemThresholds.ran) problem.kind = ProblemKind::kCpu;
    return problem;
  }
  problem.waits_known = true;
  double ran = 0, queued = 0;
  for (const WaitThreadRow& row : report.waits->threads) {
    ran += row.ran_ns;
    queued += row.queued_ns;
    problem.active_ns += row.ran_ns + row.queued_ns + std::max(0.0, row.waited_ns - row.idle_ns);
  }
  problem.active_ns = std::max(ran + queued, problem.active_ns - joins_of(*report.waits));
  problem.threads_active = problem.active_ns / length_ns;
  if (problem.threads_active < kProblemThresholds.idle_below) {
    problem.kind = ProblemKind::kIdle;
    return problem;
  }
  add_waits(*report.waits, problem);
  problem.memory += ran * share_of_pages(report.tree);
  problem.ran = ran;
  problem.queued = queued;
  for (double* part : {&problem.ran, &problem.queued, &problem.memory, &problem.disk, &problem.peers,
                       &problem.locks, &problem.slept})
    *part = std::clamp(*part / problem.active_ns, 0.0, 1.0);
  problem.kind = kind_of(problem);
  return problem;
}

ProblemClass classify(const Report& report) {
  ProblemClass problem = classify_by_time(report);
  problem.pressure = find_pressure(*report.profile, report.selection);
  return problem;
}

}  // namespace fathom::analysis

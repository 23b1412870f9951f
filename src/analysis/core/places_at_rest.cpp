#include "analysis/core/places_at_rest.h"

#include <algorithm>
#include <map>
#include <vector>

#include "model/nameless_function.h"

namespace fathom::analysis {
namespace {

// Minimum number of wakeups at such places: threads that deadlock each other are at rest, too.
constexpr std::uint64_t kLeastWakes = 10;

struct Span {
  std::uint64_t from = UINT64_MAX, to = 0;
  void cover(std::uint64_t start, std::uint64_t end) {
    from = std::min(from, start);
    to = std::max(to, end);
  }
};

// Times at which threads of one process begin and end to live and to be parked.
struct Change {
  std::uint64_t at = 0;
  int alive = 0, parked = 0;
};

// The times of rest, each with what lay before it: rest between any two times is found by two searches.
class Rest {
 public:
  explicit Rest(std::vector<Change> changes) {
    std::ranges::sort(changes, {}, &Change::at);
    std::uint64_t since = 0, sum = 0;
    int alive = 0, parked = 0;
    bool rests = false;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      alive += changes[i].alive;
      parked += changes[i].parked;
      // If several changes have the same time, only their sum counts.
      if (i + 1 < changes.size() && changes[i + 1].at == changes[i].at) continue;
      const bool now = alive > 0 && parked >= alive;
      if (now && !rests) since = changes[i].at;
      if (!now && rests) {
        pieces_.push_back({since, changes[i].at, sum});
        sum += changes[i].at - since;
      }
      rests = now;
    }
  }
  std::uint64_t between(std::uint64_t from, std::uint64_t to) const { return until(to) - until(from); }

 private:
  struct Piece {
    std::uint64_t from, to, before;
  };
  std::uint64_t until(std::uint64_t at) const {
    const auto after = std::ranges::upper_bound(pieces_, at, {}, &Piece::from);
    if (after == pieces_.begin()) return 0;
    const Piece& piece = *(after - 1);
    return piece.before + std::min(at, piece.to) - piece.from;
  }
  std::vector<Piece> pieces_;
};

bool is_runtime(const model::Profile& profile, const model::Module& module) {
  const std::string_view name = profile.strings[module.name];
  return module.kind == model::ModuleKind::kKernel || module.kind == model::ModuleKind::kVdso ||
         name.starts_with("libc.so") || name.starts_with("libc-") || name.starts_with("libpthread") ||
         name.starts_with("ld-");
}

}  // namespace

PlacesAtRest::Place PlacesAtRest::place_of(const model::Wait& wait) const {
  for (model::StackId id = wait.stack; id.value != 0; id = profile_.stacks[id.value].parent) {
    const model::Stack& stack = profile_.stacks[id.value];
    const model::Frame& frame = profile_.frames[stack.frame.value];
    if (is_runtime(profile_, profile_.modules[frame.module.value])) continue;
    if (profile_.modules[frame.module.value].kind != model::ModuleKind::kFile) return {};
    if (frame.line_count != 0) {
      const model::FunctionId function = profile_.lines[frame.first_line].function;
      if (!model::nameless_function(profile_.strings[profile_.functions[function.value].name])) return {};
    }
    return {profile_.threads[wait.thread.value].process.value, stack.parent.value};
  }
  return {};
}

PlacesAtRest::PlacesAtRest(const model::Profile& profile, const WaitCauses& causes,
                           const std::function<bool(const model::Wait&)>& is_idle, std::uint32_t percent)
    : profile_(profile) {
  struct Sum {
    std::uint64_t waited = 0, rested = 0, woken = 0;
    bool first_threads = true;  // only the first thread of the process waits here
  };
  std::map<Place, Sum> sums;
  std::vector<Place> place_of_wait(profile.all_waits().size());
  std::set<std::uint32_t> processes;
  std::size_t at = 0;
  for (const model::Wait& wait : profile.all_waits()) {
    const std::size_t i = at++;
    if (wait.waited_ns == 0 || wait.state == model::WaitState::kPreempted ||
        causes.of(wait) != Cause::kFutex || is_idle(wait))
      continue;
    place_of_wait[i] = place_of(wait);
    if (place_of_wait[i].stack != 0) processes.insert(place_of_wait[i].process);
  }
  if (processes.empty()) return;

  std::vector<Span> spans(profile.threads.size());
  std::map<std::uint32_t, std::vector<Change>> changes;
  for (const model::Sample& sample : profile.all_samples())
    spans[sample.thread.value].cover(sample.time_ns, sample.time_ns);
  at = 0;
  for (const model::Wait& wait : profile.all_waits()) {
    const std::size_t i = at++;
    const std::uint32_t process = profile.threads[wait.thread.value].process.value;
    if (!processes.contains(process)) continue;
    const std::uint64_t end = wait.start_ns + wait.waited_ns;
    spans[wait.thread.value].cover(wait.start_ns, end + wait.queued_ns);
    if (wait.waited_ns == 0 || (place_of_wait[i].stack == 0 && !is_idle(wait))) continue;
    changes[process].push_back({wait.start_ns, 0, 1});
    changes[process].push_back({end, 0, -1});
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const std::uint32_t process = profile.threads[i].process.value;
    if (!processes.contains(process) || spans[i].to <= spans[i].from) continue;
    changes[process].push_back({spans[i].from, 1, 0});
    changes[process].push_back({spans[i].to, -1, 0});
  }
  std::map<std::uint32_t, Rest> rests;
  for (auto& [process, list] : changes) rests.emplace(process, Rest(std::move(list)));

  at = 0;
  for (const model::Wait& wait : profile.all_waits()) {
    const std::size_t i = at++;
    if (place_of_wait[i].stack == 0) continue;
    const model::Thread& thread = profile.threads[wait.thread.value];
    Sum& sum = sums[place_of_wait[i]];
    sum.waited += wait.waited_ns;
    sum.rested += rests.at(place_of_wait[i].process).between(wait.start_ns, wait.start_ns + wait.waited_ns);
    sum.woken += wait.unfinished ? 0 : 1;
    sum.first_threads = sum.first_threads && thread.tid == profile.processes[thread.process.value].pid;
  }
  std::map<std::uint32_t, std::uint64_t> woken;
  for (const auto& [place, sum] : sums)
    if (sum.rested * 100 >= sum.waited * percent) woken[place.process] += sum.woken;
  for (const auto& [place, sum] : sums) {
    // The first thread often waits all the time for the others to end.
    const bool lives = sum.woken > 0 || sum.first_threads;
    if (lives && sum.rested * 100 >= sum.waited * percent && woken[place.process] >= kLeastWakes)
      places_.insert(place);
  }
}

bool PlacesAtRest::holds(const model::Wait& wait) const {
  return !places_.empty() && places_.contains(place_of(wait));
}

}  // namespace fathom::analysis

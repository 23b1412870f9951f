#include "analysis/waits/wait_files.h"

#include <cmath>
#include <map>
#include <tuple>

#include "base/stable_sort.h"
#include "model/system_call.h"

namespace fathom::analysis {
namespace {

constexpr std::size_t kPathFrames = 6;

// The third argument is a number of bytes.
bool asks_for_bytes(std::int32_t system_call) {
  const std::string_view call = model::system_call_name(system_call);
  return call == "read" || call == "write" || call == "pread64" || call == "pwrite64" || call == "recvfrom" ||
         call == "sendto";
}

// -ERESTARTSYS to -ERESTART_RESTARTBLOCK: the kernel runs the call again after the signal.
bool is_restarted(std::int64_t result) {
  return result <= -512 && result >= -516;
}

struct FileDraft {
  struct OfStack {
    std::optional<std::uint8_t> reason;
    WaitSum sum;
    Returned returned;
    FaultCount faults;
  };
  FileRow row;
  std::map<std::uint32_t, OfStack> stacks;
  FileOffsets faulted;
  FileOffsets waited;  // where faults were not recorded apart from waits
};

// Time first; of what took no time, the most faults.
template <class Row>
auto order(const Row& row, const WaitSum& sum) {
  return std::tuple(-sum.total_ns(), -row.faults.major, -row.faults.minor);
}

// The innermost user frame: how the kernel went about it makes no other caller.
std::uint32_t user_stack(const model::Profile& profile, model::StackId stack) {
  const auto is_kernel = [&](const model::Stack& row) {
    return profile.modules[profile.frames[row.frame.value].module.value].kind == model::ModuleKind::kKernel;
  };
  while (stack.value != 0 && is_kernel(profile.stacks[stack.value]))
    stack = profile.stacks[stack.value].parent;
  return stack.value;
}

}  // namespace

bool concerns_files(Cause cause) {
  switch (cause) {
    case Cause::kPipe:
    case Cause::kSocket:
    case Cause::kFileRead:
    case Cause::kFileWrite:
    case Cause::kFileSync:
    case Cause::kFileLock:
    case Cause::kFileOther:
    case Cause::kPageFault:
    case Cause::kWriteback:
      return true;
    default:
      return false;
  }
}

void FaultCount::add(const model::Fault& fault) {
  (fault.major ? major : minor) += fault.weight;
  if (!fault.major) minor_variance += static_cast<double>(fault.weight) * (fault.weight - 1.0);
}

double FaultCount::minor_error() const {
  return 1.959964 * std::sqrt(minor_variance);
}

void Returned::add(const model::Wait& wait) {
  if (wait.result == model::Wait::kNoResult || is_restarted(wait.result)) return;
  calls += wait.weight;
  if (wait.result < 0)
    failed += wait.weight;
  else if (model::moves_bytes(wait.system_call))
    bytes += static_cast<double>(wait.result) * wait.weight;
}

std::vector<FileRow> find_files(const Waits& waits, const Selection& selection, WaitSites& sites) {
  const model::Profile& profile = waits.profile();
  std::map<std::tuple<std::string, model::ObjectKind, Cause>, FileDraft> drafts;
  const auto draft_of = [&](model::WaitObjectId id, Cause cause) -> FileDraft& {
    const model::WaitObject& object = profile.objects[id.value];
    std::string name(profile.strings[object.name]);
    if (name.empty()) name = object.kind == model::ObjectKind::kMemory ? "(no file)" : "(unknown)";
    FileDraft& draft = drafts[{name, object.kind, cause}];
    draft.row.name = std::move(name);
    draft.row.kind = object.kind;
    draft.row.cause = cause;
    return draft;
  };
  const RuledWaits reasons(profile, built_in_wait_reasons());
  const Filter filter(profile, selection);
  for (const model::Fault& fault : profile.faults) {
    if (!filter.takes_time(fault.time_ns) || !filter.takes_thread(fault.thread) ||
        !filter.takes_stack(fault.stack))
      continue;
    FileDraft& draft = draft_of(fault.object, Cause::kPageFault);
    draft.row.faults.add(fault);
    draft.faulted.add(fault.offset, fault.weight);
    draft.stacks[user_stack(profile, fault.stack)].faults.add(fault);
  }
  for (const SelectedWait& selected : waits.rows()) {
    if (!concerns_files(selected.cause) || selected.idle || selected.waited_ns == 0) continue;
    const model::Wait& wait = waits.wait(selected);
    FileDraft& draft = draft_of(wait.object, selected.cause);
    draft.row.waits.add(selected.waited_ns, waits.weight(selected));
    if (selected.cause != Cause::kPageFault && asks_for_bytes(wait.system_call))
      draft.row.bytes_asked += static_cast<double>(wait.argument) * selected.weight;
    draft.row.returned.add(wait);
    if (selected.cause == Cause::kPageFault) draft.waited.add(wait.argument, selected.weight);
    FileDraft::OfStack& stack = draft.stacks[user_stack(profile, wait.stack)];
    stack.sum.add(selected.waited_ns, waits.weight(selected));
    stack.returned.add(wait);
    if (!stack.reason) stack.reason = reasons.rule_of(wait, selected.cause);
  }
  std::vector<FileRow> rows;
  for (auto& [key, draft] : drafts) {
    std::vector<std::pair<std::uint32_t, FileDraft::OfStack>> stacks(draft.stacks.begin(),
                                                                     draft.stacks.end());
    stable_sort_rows(stacks.begin(), stacks.end(), [](const auto& a, const auto& b) {
      return order(a.second, a.second.sum) < order(b.second, b.second.sum);
    });
    constexpr std::size_t kMostStacks = 10;
    if (stacks.size() > kMostStacks) stacks.resize(kMostStacks);
    for (const auto& [stack, of_stack] : stacks)
      draft.row.stacks.push_back({sites.path({stack}, kPathFrames),
                                  of_stack.reason ? reasons.name(*of_stack.reason) : "", of_stack.sum,
                                  of_stack.returned, of_stack.faults});
    if (draft.row.kind == model::ObjectKind::kMappedFile) {
      draft.row.ranges = draft.faulted.ranges();
      if (draft.row.ranges.empty()) draft.row.ranges = draft.waited.ranges();
    }
    rows.push_back(std::move(draft.row));
  }
  stable_sort_rows(rows.begin(), rows.end(), [](const FileRow& a, const FileRow& b) {
    return order(a, a.waits.sum()) < order(b, b.waits.sum());
  });
  return rows;
}

}  // namespace fathom::analysis

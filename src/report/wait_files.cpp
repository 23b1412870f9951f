#include "report/wait_files.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "profile/system_call.h"

namespace fathom::report {
namespace {

constexpr std::size_t kPathFrames = 6;

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

// The third argument is a number of bytes.
bool asks_for_bytes(std::int32_t system_call) {
  const std::string_view call = profile::system_call_name(system_call);
  return call == "read" || call == "write" || call == "pread64" || call == "pwrite64" || call == "recvfrom" ||
         call == "sendto";
}

struct Draft {
  FileRow row;
  std::map<std::uint32_t, WaitSum> stacks;
};

}  // namespace

std::vector<FileRow> find_files(const Waits& waits, WaitSites& sites) {
  const profile::Profile& profile = waits.profile();
  std::map<std::tuple<std::string, profile::ObjectKind, Cause>, Draft> drafts;
  for (const SelectedWait& selected : waits.rows()) {
    if (!concerns_files(selected.cause) || selected.idle || selected.waited_ns == 0) continue;
    const profile::Wait& wait = waits.wait(selected);
    const profile::WaitObject& object = profile.objects[wait.object.value];
    std::string name(profile.strings[object.name]);
    if (name.empty())
      name = object.kind == profile::ObjectKind::kMemory ? "(memory without a file)" : "(unknown)";
    Draft& draft = drafts[{name, object.kind, selected.cause}];
    draft.row.name = std::move(name);
    draft.row.kind = object.kind;
    draft.row.cause = selected.cause;
    draft.row.waits.add(selected.waited_ns, selected.weight);
    if (selected.cause != Cause::kPageFault && asks_for_bytes(wait.system_call))
      draft.row.bytes_asked += static_cast<double>(wait.argument) * selected.weight;
    draft.stacks[wait.stack.value].add(selected.waited_ns, selected.weight);
  }
  std::vector<FileRow> rows;
  for (auto& [key, draft] : drafts) {
    std::vector<std::pair<std::uint32_t, WaitSum>> stacks(draft.stacks.begin(), draft.stacks.end());
    std::stable_sort(stacks.begin(), stacks.end(),
                     [](const auto& a, const auto& b) { return a.second.total_ns() > b.second.total_ns(); });
    constexpr std::size_t kMostStacks = 10;
    if (stacks.size() > kMostStacks) stacks.resize(kMostStacks);
    for (const auto& [stack, sum] : stacks)
      draft.row.stacks.push_back({sites.path({stack}, kPathFrames), sum});
    rows.push_back(std::move(draft.row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const FileRow& a, const FileRow& b) {
    return a.waits.sum().total_ns() > b.waits.sum().total_ns();
  });
  return rows;
}

}  // namespace fathom::report

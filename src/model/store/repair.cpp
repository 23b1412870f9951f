#include <optional>
#include <vector>

#include "model/fields.h"
#include "model/fields/references.h"
#include "model/store/payload.h"

namespace fathom::store {
namespace {

using namespace model;

template <class Tag>
bool is_lost(const Profile& profile, Id<Tag> id) {
  return id.value >= reference_of(profile, id).rows;
}

// Stacks that were lost, or that lost a frame on the way to the root: their remaining frames are attached to the empty stack. What
// each stack has become.
std::vector<StackId> repair_stacks(Profile& profile) {
  std::vector<StackId> now(profile.stacks.size());
  for (std::uint32_t i = 1; i < profile.stacks.size(); ++i) {
    Stack& row = profile.stacks[i];
    row.parent = row.parent.value < i ? now[row.parent.value] : StackId{0};
    const bool lost = is_lost(profile, row.frame);
    now[i] = lost ? row.parent : StackId{i};
    if (!lost) continue;
    if (profile.frames.empty()) profile.frames.emplace_back();
    row.frame = {0};  // no row refers to it any more
  }
  return now;
}

// Gives every lost id of a row a row that exists: row 0, the empty stack, no thread, or one that stands for lost threads.
class Mender {
 public:
  Mender(Profile& profile, std::vector<StackId> stacks)
      : profile_(profile), stacks_(std::move(stacks)), threads_(profile.threads.size()) {}

  template <class Row>
  void mend_rows(std::vector<Row>& rows) {
    for (Row& row : rows) fields_of([this](const Field&, auto&& value) { this->mend(value); }, row);
  }
  // Their row 0 has no frame, and repair_stacks() mended the others.
  void mend_rows(std::vector<Stack>&) {}

 private:
  void mend(auto&) {}  // no id
  template <class Tag>
  void mend(Id<Tag>& id) {
    if (is_lost(profile_, id)) id = {0};
  }
  void mend(StackId& id) { id = id.value < stacks_.size() ? stacks_[id.value] : StackId{0}; }
  void mend(ThreadId& id) {
    if (id.value < threads_) return;
    if (!lost_thread_) lost_thread_ = add_lost_thread();
    id = *lost_thread_;
  }
  void mend(Optional<ThreadId>& field) {
    if (field.value.value >= threads_) field.value = field.none;
  }
  // Rows without their slice or site have no meaning, and go.
  void mend(HeapSliceId&) {}
  void mend(HeapSiteId&) {}

  ThreadId add_lost_thread() {
    Thread thread;
    thread.name = profile_.strings.intern("[lost thread]");
    profile_.threads.push_back(thread);
    return {static_cast<std::uint32_t>(profile_.threads.size() - 1)};
  }

  Profile& profile_;
  std::vector<StackId> stacks_;
  std::size_t threads_;  // that the recording has
  std::optional<ThreadId> lost_thread_;
};

// Counts without their function, and what is of a lost process or heap.
void erase_orphans(Profile& profile) {
  std::erase_if(profile.calls, [&](const Calls& row) {
    return is_lost(profile, row.function) || is_lost(profile, row.process);
  });
  std::erase_if(profile.memory_ranges, [&](const MemoryRange& row) { return is_lost(profile, row.process); });
  std::erase_if(profile.heap.outages, [&](const HeapOutage& row) { return is_lost(profile, row.heap); });
}

void erase_heap_orphans(Profile& profile) {
  HeapTables& heap = profile.heap;
  const auto lost = [&](const auto& row) { return is_lost(profile, row.site); };
  std::erase_if(heap.rows, [&](const HeapRow& row) {
    return lost(row) || is_lost(profile, row.slice) ||
           heap.slices[row.slice.value].heap != heap.sites[row.site.value].heap;
  });
  std::erase_if(heap.summaries, lost);
  std::erase_if(heap.histograms, lost);
  std::erase_if(heap.uses, lost);
  std::erase_if(heap.returns, lost);
}

// Rows 0 for rows that lost all that they could refer to.
void add_missing_rows(Profile& profile) {
  HeapTables& heap = profile.heap;
  if (profile.functions.empty() && !profile.lines.empty()) profile.functions.emplace_back();
  if (heap.heaps.empty() && !(heap.slices.empty() && heap.sites.empty())) heap.heaps.emplace_back();
  // Samples without their thread get one that stands for lost threads, and that needs a process.
  const bool has_threads = !(profile.threads.empty() && profile.samples.empty() && profile.waits.empty() &&
                             profile.faults.empty());
  if (profile.processes.empty() && (has_threads || !heap.heaps.empty())) profile.processes.emplace_back();
}

}  // namespace

void repair(Profile& profile) {
  add_missing_rows(profile);
  erase_orphans(profile);
  for (Frame& row : profile.frames) {
    const std::size_t lines = profile.lines.size();
    if (row.first_line > lines || row.line_count > lines - row.first_line)
      row.first_line = row.line_count = 0;
  }
  Mender mender(profile, repair_stacks(profile));
  tables_of([&](const Table&, auto& rows) { mender.mend_rows(rows); }, profile);
  mender.mend_rows(profile.quality.early_ends);
  erase_heap_orphans(profile);
}

}  // namespace fathom::store

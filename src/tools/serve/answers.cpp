#include "tools/serve/answers.h"

#include <algorithm>

#include "analysis/core/call_tree.h"
#include "analysis/core/wait_cause.h"
#include "base/packed/packer.h"
#include "formats/open/interrupt_wakers.h"
#include "present/exports/folded_writer.h"
#include "present/exports/pprof_writer.h"

namespace fathom::serve {
namespace {

analysis::Selection selection_of(Cost cost) {
  analysis::Selection selection;
  switch (cost) {
    case Cost::kCpu:
    case Cost::kTimes:
      selection.metric = model::Metric::kCpu;
      break;
    case Cost::kBlock:
    case Cost::kMutex:
      selection.metric = model::Metric::kOffCpu;
      break;
    case Cost::kHeap:
      selection.metric = model::Metric::kHeapLive;
      break;
    case Cost::kAllocs:
      selection.metric = model::Metric::kHeapAllocated;
      break;
  }
  return selection;
}

}  // namespace

// The thread that ended the wait held the lock. No thread causes a wait in the run queue.
model::Profile prepared(const model::Profile& profile, Cost cost) {
  model::Profile shown = profile;
  if (cost != Cost::kMutex) return shown;
  open::drop_interrupt_wakers(shown);
  const analysis::WaitCauses causes(shown);
  std::erase_if(shown.waits, [&](const model::Wait& wait) {
    return wait.waker == model::kNoThread || wait.waker_stack.value == 0 ||
           causes.of(wait) != analysis::Cause::kFutex;
  });
  for (model::Wait& wait : shown.waits) {
    wait.stack = wait.waker_stack;
    wait.thread = wait.waker;
    wait.queued_ns = 0;
  }
  return shown;
}

Result<std::string> pprof_of(const model::Profile& profile, Cost cost, std::uint64_t length_ns) {
  present::PprofOptions options;
  options.selection = selection_of(cost);
  if (length_ns != 0) {
    const std::uint64_t recorded = profile.meta.end_ns - profile.meta.start_ns;
    options.selection.from_ns = recorded > length_ns ? recorded - length_ns : 0;
  }
  options.as_go = true;
  options.allow_empty = true;
  const auto bytes = present::write_pprof(prepared(profile, cost), options);
  if (!bytes) return tl::unexpected<Error>(bytes.error());
  packed::Packer packer(packed::Packing::kGzip);
  packer.add(*bytes);
  return packer.finish();
}

std::string text_of(const model::Profile& profile, Cost cost) {
  const model::Profile shown = prepared(profile, cost);
  return present::write_folded(
      analysis::build_call_tree(shown, {.selection = selection_of(cost), .thread_roots = false}));
}

metrics::Answer profile_answer(const std::string& bytes, bool with_body) {
  return metrics::make_answer(200, "application/octet-stream", bytes, with_body,
                              "Content-Disposition: attachment; filename=\"profile\"\r\n");
}

metrics::Answer text_answer(std::string_view text, bool with_body) {
  return metrics::make_answer(200, "text/plain; charset=utf-8", text, with_body);
}

metrics::Answer json_answer(std::string_view text, bool with_body) {
  return metrics::make_answer(200, "application/json", text, with_body);
}

metrics::Answer error_answer(int status, std::string_view sentence) {
  return metrics::make_answer(status, "text/plain; charset=utf-8", std::string(sentence) + "\n", true,
                              "X-Go-Pprof: 1\r\n");
}

}  // namespace fathom::serve

#include "support/heap_answer.h"

#include <fmt/format.h>

#include <stdexcept>

#include "model/store/reader.h"

namespace fathom::support {
namespace {

model::Profile opened(const std::string& recording, const store::ReadOptions& options) {
  auto profile = store::read(recording, options);
  if (!profile) throw std::runtime_error(profile.error().message);
  if (profile->heap.heaps.empty()) throw std::runtime_error(recording + ": holds no heap");
  return std::move(*profile);
}

}  // namespace

HeapAnswer::HeapAnswer(const std::string& recording, const store::ReadOptions& options)
    : profile_(opened(recording, options)) {}

bool HeapAnswer::has(model::StackId stack, const std::string& function) const {
  for (; stack.value != 0; stack = profile_.stacks[stack.value].parent) {
    const model::Frame& frame = profile_.frames[profile_.stacks[stack.value].frame.value];
    for (std::uint32_t i = 0; i < frame.line_count; ++i) {
      const model::Line& line = profile_.lines[frame.first_line + i];
      if (profile_.strings[profile_.functions[line.function.value].name] == function) return true;
    }
  }
  return false;
}

HeapNumbers HeapAnswer::sum(const std::vector<bool>& counts) const {
  HeapNumbers numbers;
  for (const model::HeapRow& row : profile_.heap.rows) {
    if (!counts[row.site.value]) continue;
    numbers.calls += row.allocated.blocks;
    numbers.bytes += row.allocated.bytes;
    numbers.live_calls += row.allocated.blocks - row.freed.blocks;
    numbers.live_bytes += row.allocated.bytes - row.freed.bytes;
    numbers.calls_variance += row.allocated_variance.blocks;
    numbers.bytes_variance += row.allocated_variance.bytes;
  }
  return numbers;
}

HeapNumbers HeapAnswer::below(const std::string& function) const {
  std::vector<bool> counts;
  for (const model::HeapSite& site : profile_.heap.sites) counts.push_back(has(site.stack, function));
  return sum(counts);
}
model::HeapUse HeapAnswer::use_below(const std::string& function) const {
  model::HeapUse sum;
  for (const model::HeapUse& row : profile_.heap.uses) {
    if (!has(profile_.heap.sites[row.site.value].stack, function)) continue;
    sum.live_usable += row.live_usable;
    sum.wrong_size.blocks += row.wrong_size.blocks;
    sum.wrong_size.bytes += row.wrong_size.bytes;
    sum.foreign.blocks += row.foreign.blocks;
    sum.foreign.bytes += row.foreign.bytes;
    sum.twice.blocks += row.twice.blocks;
    sum.twice.bytes += row.twice.bytes;
  }
  return sum;
}

model::HeapSum HeapAnswer::given_back_below(const std::string& function, std::string_view allocator) const {
  model::HeapSum sum;
  for (const model::HeapReturn& row : profile_.heap.returns) {
    const model::HeapSite& site = profile_.heap.sites[row.site.value];
    if (!has(site.stack, function) ||
        profile_.strings[profile_.heap.allocators[site.allocator.value].label] != allocator)
      continue;
    sum.blocks += row.given_back.blocks;
    sum.bytes += row.given_back.bytes;
  }
  return sum;
}

HeapNumbers HeapAnswer::all() const {
  return sum(std::vector<bool>(profile_.heap.sites.size(), true));
}
HeapNumbers HeapAnswer::of_allocators() const {
  std::vector<bool> counts;  // the first heap is that of the tracer
  for (const model::HeapSite& site : profile_.heap.sites) counts.push_back(site.heap.value == 0);
  return sum(counts);
}

std::vector<std::string> HeapAnswer::allocators() const {
  std::vector<std::string> labels;
  for (std::size_t i = 1; i < profile_.heap.allocators.size(); ++i)
    labels.emplace_back(profile_.strings[profile_.heap.allocators[i].label]);
  return labels;
}

std::set<std::string> HeapAnswer::functions_hooked(model::HookKind kind) const {
  std::set<std::string> names;
  for (const model::HeapHook& hook : profile_.heap.hooks) {
    if (hook.kind == kind) names.emplace(profile_.strings[hook.function]);
  }
  return names;
}

std::string HeapAnswer::losses() const {
  const model::Heap& h = heap();
  return fmt::format(
      "events {}, ring full {}, no ring {}, throwing {}, set full {}, damaged {}, nested {}, unwalked {}, "
      "incomplete {}, unseen frees {}, earlier frees {}, waited {} ns, switched off {}",
      h.events, h.lost_ring_full, h.lost_no_ring, h.lost_throwing, h.lost_set_full, h.lost_damaged, h.nested,
      h.unwalked, h.incomplete, h.unseen_frees, h.earlier_frees, h.waited_ns, h.switched_off);
}

}  // namespace fathom::support

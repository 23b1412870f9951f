#include "analysis/spans/span_places.h"

#include <fmt/format.h>

#include "analysis/core/call_tree.h"

namespace fathom::analysis {

std::string_view to_string(SpanWork work) {
  switch (work) {
    case SpanWork::kAllocating:
      return "allocating";
    case SpanWork::kFaulting:
      return "page faults";
    case SpanWork::kQueued:
      return "queued";
    case SpanWork::kWaiting:
      return "waiting";
    case SpanWork::kBetween:
      return "between parts";
    case SpanWork::kRunning:
      break;
  }
  return "running";
}

std::uint32_t SpanPlaces::row(SpanPlace place) {
  const auto [found, added] = rows_.try_emplace(std::move(place), static_cast<std::uint32_t>(places_.size()));
  if (added) places_.push_back(found->first);
  return found->second;
}

std::uint32_t SpanPlaces::between() {
  SpanPlace place;
  place.work = SpanWork::kBetween;
  return row(std::move(place));
}

std::uint32_t SpanPlaces::of(const TimePiece& piece) {
  if (piece.doing == Doing::kRunning) return row({});
  const model::Wait& wait = *piece.wait;
  if (piece.doing == Doing::kQueued) {
    // Where the thread was when it lost its CPU says nothing about why there was none.
    SpanPlace place;
    place.work = SpanWork::kQueued;
    place.cause = causes_.of_queue(wait);
    return row(std::move(place));
  }
  const auto [known, added] = of_waits_.try_emplace(
      {wait.stack.value, wait.object.value, wait.system_call, wait.throttled, wait.state}, 0);
  if (added) {
    SpanPlace place;
    place.work = SpanWork::kWaiting;
    place.cause = causes_.of(wait);
    if (place.cause == Cause::kFutex)
      place.futex = sites_.futex_kind(wait.stack);
    else
      place.label = causes_.label(wait);
    std::tie(place.site, place.line) = site_of(wait.stack);
    known->second = row(std::move(place));
  }
  return known->second;
}

std::uint32_t SpanPlaces::of_sample(model::StackId stack) {
  const auto [known, added] = of_samples_.try_emplace(stack.value, 0);
  if (added) {
    SpanPlace place;
    const AllocatorWork work = allocators_.of(stack);
    if (work.allocator)
      place.work = SpanWork::kAllocating;
    else if (work.page_fault)
      place.work = SpanWork::kFaulting;
    std::tie(place.site, place.line) = site_of(stack);
    place.line.clear();  // a function runs on many lines
    known->second = row(std::move(place));
  }
  return known->second;
}

std::pair<std::string, std::string> SpanPlaces::site_of(model::StackId stack) {
  if (stack.value == 0) return {};
  const auto [known, added] = site_of_.try_emplace(stack.value);
  if (!added) return known->second;
  std::pair<std::string, std::string> site{sites_.of(stack), ""};
  for (model::StackId at = stack; at.value != 0 && site.second.empty();
       at = profile_.stacks[at.value].parent) {
    const model::FrameId id = profile_.stacks[at.value].frame;
    const model::Frame& frame = profile_.frames[id.value];
    for (std::uint32_t i = 0; i < frame.line_count; ++i) {
      if (frame_name(profile_, id, i) != site.first) continue;
      const model::Line& line = profile_.lines[frame.first_line + i];
      const std::string_view file = profile_.strings[line.file];
      if (!file.empty() && line.line != 0)
        site.second = fmt::format("{}:{}", file.substr(file.find_last_of('/') + 1), line.line);
      break;
    }
  }
  return known->second = std::move(site);
}

}  // namespace fathom::analysis

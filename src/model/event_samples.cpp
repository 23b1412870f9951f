#include "model/event_samples.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "base/abi/walk.h"
#include "base/parse.h"
#include "model/facts.h"

namespace fathom::model {
namespace {

constexpr std::size_t kMostEvents = 4096;

bool fits(std::string_view pattern, const std::string& name) {
  return ::fnmatch(std::string(pattern).c_str(), name.c_str(), 0) == 0;
}

bool is_event_sample(const Sample& sample) {
  return sample.metric == Metric::kWall;
}

// By frame: the number of its event and 1; 0: it is an ordinary frame.
std::vector<std::uint32_t> events_of_frames(const Profile& profile, const std::vector<std::string>& chosen) {
  std::vector<std::uint32_t> events(profile.frames.size());
  for (std::size_t i = 0; i < profile.frames.size(); ++i) {
    const Frame& frame = profile.frames[i];
    const Module& module = profile.modules[frame.module.value];
    if (module.kind != ModuleKind::kNames || frame.line_count == 0 ||
        profile.strings[module.name] != kEventModule)
      continue;
    const FunctionId function = profile.lines[frame.first_line].function;
    const std::string_view name = profile.strings[profile.functions[function.value].name];
    const auto found = std::ranges::find(chosen, name);
    if (found != chosen.end()) events[i] = static_cast<std::uint32_t>(found - chosen.begin()) + 1;
  }
  return events;
}

void keep_only(Profile& profile, std::vector<Sample> samples) {
  profile.packed_samples = {};
  profile.samples = std::move(samples);
}

bool is_whole(const Sample& sample) {
  return sample.end == WALK_ROOT || sample.end == WALK_KERNEL_THREAD || sample.end == WALK_EXITING;
}

// From here on the recording is one of these events, and what is known of CPU samples is known of nothing.
void describe(Profile& profile, std::string name, const std::vector<RecordedEvent>& chosen) {
  std::string unit = chosen.front().unit;
  std::uint64_t lost = 0;
  bool each = true;
  for (const RecordedEvent& event : chosen) {
    if (event.unit != unit) unit = "events";
    lost += event.lost;
    each = each && event.samples == event.count;
  }
  profile.meta.event = std::move(name);
  profile.meta.frequency_hz = 0;
  put_facts(ImportFacts{.unit = std::move(unit), .counts_all = each && lost == 0}, profile.meta);
  Quality& quality = profile.quality;
  quality.samples = profile.samples.size();
  quality.complete = static_cast<std::uint64_t>(std::ranges::count_if(profile.samples, is_whole));
  quality.expected_samples = 0;
  quality.lost_ring_full = lost;
  quality.lost_stack = quality.lost_throttled = 0;
  quality.early_ends.clear();
}

}  // namespace

std::string events_fact(const std::vector<RecordedEvent>& events) {
  std::string fact;
  for (const RecordedEvent& event : events)
    fact += fmt::format("{} {} {} {} {} {}\n", event.name, event.count, event.value, event.samples,
                        event.lost, event.unit);
  return fact;
}

std::vector<RecordedEvent> recorded_events(const Meta& meta) {
  std::vector<RecordedEvent> events;
  const auto fact = meta.facts.find(kEventsFact);
  std::string_view text = fact == meta.facts.end() ? std::string_view() : fact->second;
  while (!text.empty() && events.size() < kMostEvents) {
    std::string_view line = take_until(text, '\n');
    RecordedEvent event;
    event.name = take_until(line, ' ');
    const auto count = parse_number(take_until(line, ' '));
    const auto value = parse_number<std::int64_t>(take_until(line, ' '));
    const auto samples = parse_number(take_until(line, ' '));
    const auto lost = parse_number(take_until(line, ' '));
    if (event.name.empty() || !count || !value || !samples || !lost || line.empty()) continue;
    event.count = *count;
    event.value = *value;
    event.samples = *samples;
    event.lost = *lost;
    event.unit = line;
    events.push_back(std::move(event));
  }
  return events;
}

FrameId event_frame(Builder& builder, std::string_view name) {
  Module module;
  module.kind = ModuleKind::kNames;
  module.name = builder.string(kEventModule);
  return builder.named_frame(name, builder.module(module));
}

bool names_event(const Meta& meta, std::string_view pattern) {
  return std::ranges::any_of(recorded_events(meta),
                             [&](const RecordedEvent& event) { return fits(pattern, event.name); });
}

std::string title_of(const Profile& profile, Metric metric) {
  const bool of_event = metric == Metric::kCpu && names_event(profile.meta, profile.meta.event);
  return of_event ? profile.meta.event : std::string(info_of(metric).title);
}

Result<> choose_events(Profile& profile, std::string_view pattern) {
  const std::vector<RecordedEvent> events = recorded_events(profile.meta);
  if (events.empty()) return {};
  std::vector<Sample> others, of_events;
  for (const Sample& sample : profile.all_samples())
    (is_event_sample(sample) ? of_events : others).push_back(sample);
  const bool has_cpu =
      std::ranges::any_of(others, [](const Sample& sample) { return sample.metric == Metric::kCpu; });
  std::vector<RecordedEvent> chosen;
  std::string name(pattern);
  for (const RecordedEvent& event : events)
    if (!pattern.empty() && fits(pattern, event.name)) chosen.push_back(event);
  if (pattern.empty() && !has_cpu && profile.meta.event.empty()) {
    const auto first =
        std::ranges::find_if(events, [](const RecordedEvent& event) { return event.samples != 0; });
    if (first != events.end()) {
      chosen.push_back(*first);
      name = first->name;
    }
  }
  if (chosen.empty() && !pattern.empty())
    return fail(ErrorKind::kNotFound, fmt::format("the recording has no event {}", pattern),
                events.front().name);
  if (chosen.empty()) {
    keep_only(profile, std::move(others));
    return {};
  }
  std::vector<std::string> names;
  for (const RecordedEvent& event : chosen) names.push_back(event.name);
  const std::vector<std::uint32_t> frames = events_of_frames(profile, names);
  std::vector<Sample> kept;
  for (Sample sample : of_events) {
    const Stack& stack = profile.stacks[sample.stack.value];
    if (frames[stack.frame.value] == 0) continue;
    sample.metric = Metric::kCpu;
    // Of several events the frame says which one it was.
    if (chosen.size() == 1) sample.stack = stack.parent;
    kept.push_back(sample);
  }
  keep_only(profile, std::move(kept));
  describe(profile, std::move(name), chosen);
  return {};
}

}  // namespace fathom::model

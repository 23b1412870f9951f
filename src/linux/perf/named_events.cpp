#include "linux/perf/named_events.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <optional>

#include "base/abi/kernel_events.h"
#include "base/parse.h"
#include "base/word_distance.h"

namespace fathom::sources {
namespace {

struct KnownEvent {
  std::string_view name, other_name;  // the names that perf list has
  std::uint32_t type;
  std::uint64_t config;
  bool is(std::string_view text) const { return text == name || (!other_name.empty() && text == other_name); }
};
constexpr std::uint32_t kSoftware = PERF_TYPE_SOFTWARE, kHardware = PERF_TYPE_HARDWARE;
constexpr KnownEvent kKnown[] = {
    {"page-faults", "faults", kSoftware, PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", "", kSoftware, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", "", kSoftware, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches", "cs", kSoftware, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", "migrations", kSoftware, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"alignment-faults", "", kSoftware, PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"emulation-faults", "", kSoftware, PERF_COUNT_SW_EMULATION_FAULTS},
    {"instructions", "", kHardware, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", "", kHardware, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", "", kHardware, PERF_COUNT_HW_CACHE_MISSES},
    {"branch-instructions", "branches", kHardware, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", "", kHardware, PERF_COUNT_HW_BRANCH_MISSES},
    {"bus-cycles", "", kHardware, PERF_COUNT_HW_BUS_CYCLES},
    {"stalled-cycles-frontend", "idle-cycles-frontend", kHardware, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled-cycles-backend", "idle-cycles-backend", kHardware, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"ref-cycles", "", kHardware, PERF_COUNT_HW_REF_CPU_CYCLES},
};

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  const auto number = parse_number<Number>(text);
  return number != Number{0} ? number : std::nullopt;
}

bool is_term(std::string_view part) {
  const std::size_t equals = part.find('=');
  if (equals != std::string_view::npos) {
    const std::string_view key = part.substr(0, equals);
    return key == "period" || key == "freq" || key == "weight";
  }
  return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
}

Result<> take_term(EventWish& wish, std::string_view term) {
  const std::size_t equals = term.find('=');
  const std::string_view key = equals == std::string_view::npos ? "period" : term.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? term : term.substr(equals + 1);
  const auto refused = [&] {
    return fail(ErrorKind::kUsage, fmt::format("-e {}: cannot understand '{}'", wish.name, term),
                "EVENT/PERIOD, EVENT/freq=HZ/, or EVENT/weight=FIELD/");
  };
  if (key == "period") {
    const auto period = number_of<std::uint64_t>(value);
    if (!period) return refused();
    wish.period = *period;
  } else if (key == "freq") {
    const auto hz =
        number_of<std::uint32_t>(value.ends_with("hz") ? value.substr(0, value.size() - 2) : value);
    if (!hz) return refused();
    wish.frequency_hz = *hz;
  } else if (key == "weight" && !value.empty()) {
    wish.weight = value;
  } else {
    return refused();
  }
  return {};
}

Result<> take_part(std::vector<EventWish>& wishes, std::string_view part) {
  while (part.ends_with('/')) part.remove_suffix(1);
  if (part.empty()) return {};
  if (is_term(part)) {
    if (wishes.empty())
      return fail(ErrorKind::kUsage, fmt::format("-e: '{}' needs an event before it", part),
                  "-e EVENT/period=N/");
    return take_term(wishes.back(), part);
  }
  const std::size_t slash = part.find('/');
  wishes.push_back({.name = std::string(part.substr(0, slash))});
  if (slash == std::string_view::npos) return {};
  return take_term(wishes.back(), part.substr(slash + 1));
}

bool is_known(std::string_view name) {
  return name == "cpu-clock" || name == "cycles" || name == "cpu-cycles" ||
         std::ranges::any_of(kKnown, [&](const KnownEvent& known) { return known.is(name); });
}

// "cycles:u": perf has letters behind a colon for where an event counts. nullopt: it is the name of a tracepoint.
std::optional<std::string_view> event_with_modifier(std::string_view name) {
  const std::string_view event = name.substr(0, name.find(':'));
  return is_known(event) ? std::optional(event) : std::nullopt;
}

Result<NamedEvent> known_event(const EventWish& wish) {
  const KnownEvent* best = kKnown;
  for (const KnownEvent& known : kKnown) {
    if (known.is(wish.name))
      return NamedEvent{std::string(known.name), known.type, known.config, wish.period,
                        wish.frequency_hz,       {}};
    if (word_distance(wish.name, known.name) < word_distance(wish.name, best->name)) best = &known;
  }
  return fail(
      ErrorKind::kNotFound, fmt::format("-e: there is no event {}", wish.name),
      fmt::format("{}, or a tracepoint such as block:block_rq_issue; docs/events.md lists them", best->name));
}

Result<NamedEvent> traced_event(const std::string& name, const EventWish& wish,
                                const Tracepoints& tracepoints) {
  auto found = tracepoints.find(name);
  if (!found) return tl::unexpected<Error>(found.error());
  NamedEvent event{name, PERF_TYPE_TRACEPOINT, found->id, wish.period, 0, {}};
  if (wish.period > 1 || wish.frequency_hz != 0)
    return fail(ErrorKind::kUsage, fmt::format("-e {}: a tracepoint takes neither a rate nor a period", name),
                fmt::format("-e {}; if there are too many, fathom samples them automatically", name));
  if (wish.weight.empty()) return event;
  std::string numbers;
  for (const TracepointField& field : found->fields) {
    if (!field.is_number()) continue;
    if (field.name == wish.weight) event.field = field;
    numbers += (numbers.empty() ? "" : ", ") + field.name;
  }
  if (event.field.size == 0)
    return fail(ErrorKind::kNotFound,
                fmt::format("-e {}: the tracepoint has no numeric field {}", name, wish.weight),
                "one of: " + numbers);
  return event;
}

}  // namespace

Result<std::vector<EventWish>> parse_events(const std::vector<std::string>& lists) {
  std::vector<EventWish> wishes;
  for (const std::string& list : lists) {
    std::string_view rest = list;
    while (!rest.empty()) {
      const std::string_view part = take_until(rest, ',');
      if (auto taken = take_part(wishes, part); !taken) return tl::unexpected<Error>(taken.error());
    }
  }
  for (const EventWish& wish : wishes)
    if (wish.period != 0 && wish.frequency_hz != 0)
      return fail(ErrorKind::kUsage, fmt::format("-e {}: give either a period or a rate", wish.name),
                  "EVENT/PERIOD, or EVENT/freq=HZ/");
  return wishes;
}

Result<std::vector<NamedEvent>> find_events(const std::vector<EventWish>& wishes, std::uint32_t frequency_hz,
                                            OpenTracepoints open) {
  std::vector<NamedEvent> events;
  std::optional<Tracepoints> tracepoints;
  const auto add = [&](NamedEvent event) {
    if (std::ranges::find(events, event.name, &NamedEvent::name) == events.end())
      events.push_back(std::move(event));
  };
  for (const EventWish& wish : wishes) {
    if (wish.name.find(':') == std::string::npos) {
      if (!wish.weight.empty())
        return fail(ErrorKind::kUsage,
                    fmt::format("-e {}: only tracepoints have fields to weigh by", wish.name),
                    "-e block:block_rq_issue/weight=bytes/");
      auto event = known_event(wish);
      if (!event) return tl::unexpected<Error>(event.error());
      if (event->type == PERF_TYPE_HARDWARE && event->period == 0 && event->frequency_hz == 0)
        event->frequency_hz = frequency_hz;
      add(std::move(*event));
      continue;
    }
    if (const auto event = event_with_modifier(wish.name))
      return fail(
          ErrorKind::kUsage,
          fmt::format("-e {}: fathom counts events in the program and in the kernel alike", wish.name),
          fmt::format("-e {}", *event));
    if (!tracepoints) {
      auto opened = open();
      if (!opened) return tl::unexpected<Error>(opened.error());
      tracepoints.emplace(std::move(*opened));
    }
    const bool is_pattern = wish.name.find_first_of("*?[") != std::string::npos;
    const std::vector<std::string> names =
        is_pattern ? tracepoints->matching(wish.name) : std::vector<std::string>{wish.name};
    if (names.empty())
      return fail(ErrorKind::kNotFound, fmt::format("-e: no tracepoint matches {}", wish.name),
                  "perf list tracepoint prints all names");
    for (const std::string& name : names) {
      auto event = traced_event(name, wish, *tracepoints);
      if (!event) return tl::unexpected<Error>(event.error());
      add(std::move(*event));
    }
  }
  if (events.size() > MAX_KERNEL_EVENTS)
    return fail(ErrorKind::kUsage,
                fmt::format("-e: {} events exceed the limit of {}", events.size(), MAX_KERNEL_EVENTS),
                "a narrower pattern");
  return events;
}

}  // namespace fathom::sources

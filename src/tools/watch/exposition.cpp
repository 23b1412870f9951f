#include "tools/watch/exposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "analysis/core/words.h"

namespace fathom::watch {
namespace {

using metrics::Family;
using metrics::Label;
using metrics::Type;

// Kinds of analysis::MemoryLine; any other one is "other".
constexpr std::array<std::string_view, 18> kParts{
    "heap",   "heap-live", "heap-free",    "mapped",   "anonymous", "thread-stacks", "main-stack",
    "code",   "file",      "copied-pages", "memfd",    "system-v",  "shm",           "shared-anonymous",
    "tracer", "kernel",    "not-split",    "huge-file"};
constexpr std::string_view kOther = "other";

std::string_view part_name(std::string_view kind) {
  const auto known = std::find(kParts.begin(), kParts.end(), kind);
  return known == kParts.end() ? kOther : *known;
}

class Exposition {
 public:
  // The first call of a name says what it is.
  void add(std::string_view name, Type type, std::string_view unit, std::string_view help,
           std::vector<Label> labels, double value) {
    auto family = std::find_if(families_.begin(), families_.end(),
                               [&](const Family& known) { return known.name == name; });
    if (family == families_.end()) {
      families_.push_back({std::string(name), type, std::string(unit), std::string(help), {}});
      family = std::prev(families_.end());
    }
    std::string sample(name);
    if (type == Type::kCounter) sample += "_total";
    family->samples.push_back({std::move(sample), std::move(labels), value});
  }
  std::vector<Family> take() { return std::move(families_); }

 private:
  std::vector<Family> families_;
};

std::vector<Label> labels_of(const Places::Place& place) {
  return {{"process", label_of_name(place.name)}, {"place", fmt::format("{}", place.number)}};
}

std::vector<Label> with(std::vector<Label> labels, std::string_view name, std::string_view value) {
  labels.push_back({std::string(name), std::string(value)});
  return labels;
}

double real(std::uint64_t value) {
  return static_cast<double>(value);
}

class OfProcess {
 public:
  OfProcess(Exposition& out, const ServedView& served)
      : out_(out), view_(*served.view), labels_(labels_of(served.place)) {}

  void add() {
    add_figures();
    add_parts();
    add_slopes();
    add_limit();
    add_counted_limits();
    add_group();
    add_quality();
  }

 private:
  void gauge(std::string_view name, std::string_view unit, std::string_view help, double value) {
    out_.add(name, Type::kGauge, unit, help, labels_, value);
  }
  void gauge(std::string_view name, std::string_view unit, std::string_view help, std::string_view label,
             std::string_view which, double value) {
    out_.add(name, Type::kGauge, unit, help, with(labels_, label, which), value);
  }

  void add_figures() {
    const Figures& figures = view_.look.figures;
    gauge("fathom_process_pid", "", "Number of the process that has this place now.", view_.pid);
    gauge("fathom_process_threads", "", "Threads of the process.", figures.threads);
    static constexpr std::string_view kFaults =
        "Page faults since the process started; a major one had to wait for a disk.";
    out_.add("fathom_process_page_faults", Type::kCounter, "", kFaults, with(labels_, "kind", "minor"),
             real(figures.minor_faults));
    out_.add("fathom_process_page_faults", Type::kCounter, "", kFaults, with(labels_, "kind", "major"),
             real(figures.major_faults));
    static constexpr std::string_view kCpu = "CPU time of the process, of all its threads that were.";
    out_.add("fathom_process_cpu_seconds", Type::kCounter, "seconds", kCpu, with(labels_, "mode", "user"),
             real(figures.user_cpu_ns) * 1e-9);
    out_.add("fathom_process_cpu_seconds", Type::kCounter, "seconds", kCpu, with(labels_, "mode", "system"),
             real(figures.system_cpu_ns) * 1e-9);
    gauge("fathom_memory_rss_bytes", "bytes", "Resident memory of the process.", real(figures.rss));
    gauge("fathom_memory_rss_peak_bytes", "bytes", "Most resident memory that the process ever had.",
          real(figures.rss_peak));
    static constexpr std::string_view kKinds =
        "Resident memory as the kernel divides it: anonymous, of mapped files, shared.";
    gauge("fathom_memory_kind_bytes", "bytes", kKinds, "kind", "anonymous", real(figures.anonymous));
    gauge("fathom_memory_kind_bytes", "bytes", kKinds, "kind", "file", real(figures.file));
    gauge("fathom_memory_kind_bytes", "bytes", kKinds, "kind", "shared", real(figures.shared));
    gauge("fathom_memory_swap_bytes", "bytes", "Memory of the process that was written to swap.",
          real(figures.swap));
    gauge("fathom_memory_page_table_bytes", "bytes",
          "Page tables of the process, not part of its resident memory.", real(figures.page_tables));
    gauge("fathom_memory_huge_file_bytes", "bytes",
          "Explicit huge pages (hugetlbfs), not part of resident memory.", real(figures.huge_files));
    gauge("fathom_memory_virtual_bytes", "bytes", "Address space of the process.",
          real(figures.virtual_size));
  }

  void add_parts() {
    const auto& composition = view_.look.composition;
    if (composition == nullptr) return;
    std::map<std::string_view, double> parts;
    for (const analysis::MemoryLine& line : composition->lines.lines)
      parts[part_name(line.kind)] += real(line.bytes);
    for (const auto& [part, bytes] : parts)
      gauge(
          "fathom_memory_part_bytes", "bytes",
          "What resident memory consists of; with the unexplained it adds up to it, at the time it was read.",
          "part", part, bytes);
    gauge("fathom_memory_unexplained_bytes", "bytes",
          "Resident memory less all its parts: what moved while they were read. Can be negative.",
          static_cast<double>(composition->lines.unexplained_bytes));
  }

  void slope(std::string_view of, const std::optional<analysis::Slope>& slope) {
    if (!slope) return;
    static constexpr std::string_view kHelp =
        "Growth over the time that is remembered (600 looks), with the ends of its interval of 95 percent.";
    for (const auto& [bound, value] : {std::pair<std::string_view, double>{"estimate", slope->per_second},
                                       {"low", slope->low},
                                       {"high", slope->high}})
      out_.add("fathom_memory_growth_bytes_per_second", Type::kGauge, "", kHelp,
               with(with(labels_, "of", of), "bound", bound), value);
  }
  void add_recent_rise() {
    if (!view_.rss_slope && !view_.recent_rise) return;
    gauge("fathom_memory_recent_rise_bytes", "bytes",
          "Rise of resident memory within the last 10 s, if it is 5 % and 8 MiB or more; else 0.",
          view_.recent_rise ? real(view_.recent_rise->bytes) : 0);
    gauge("fathom_memory_recent_left_seconds", "seconds",
          "Time until the limit is reached at the rate of the last 10 s; +Inf if it is over an hour.",
          view_.recent_rise && view_.recent_rise->left_s ? *view_.recent_rise->left_s
                                                         : std::numeric_limits<double>::infinity());
  }
  void add_slopes() {
    slope("rss", view_.rss_slope);
    slope("anonymous", view_.anonymous_slope);
    add_recent_rise();
  }

  void add_limit() {
    if (!view_.limit) return;
    const sources::MemoryLimit& limit = *view_.limit;
    static constexpr std::array<std::string_view, 4> kKinds{"control-group", "address-space", "data",
                                                            "machine"};
    gauge("fathom_memory_limit_bytes", "bytes", "The limit that has the least room.", "kind",
          kKinds[static_cast<std::size_t>(limit.kind)], real(limit.limit));
    gauge("fathom_memory_limit_used_bytes", "bytes", "What the kernel counts against that limit.",
          real(limit.used));
    gauge("fathom_memory_limit_room_bytes", "bytes",
          "Memory left until the kernel kills the process or refuses; page cache does not count.",
          real(limit.room()));
    if (!view_.anonymous_slope || limit.kind == sources::LimitKind::kAddressSpace) return;
    const auto left = [&](std::string_view bound, double seconds) {
      gauge("fathom_memory_limit_left_seconds", "seconds",
            "Time until the limit is met at the present growth; +Inf while growth is not certain.", "bound",
            bound, seconds);
    };
    const double never = std::numeric_limits<double>::infinity();
    left("estimate", view_.time_left ? view_.time_left->seconds : never);
    left("least", view_.time_left ? view_.time_left->least : never);
    left("most", view_.time_left ? view_.time_left->most : never);
  }

  void add_counted_limits() {
    for (const model::CountedLimit& limit : view_.look.counted) {
      gauge("fathom_process_limit", "", "Limit of mappings, descriptors, tasks or bytes, by kind.", "kind",
            to_string(limit.kind), real(limit.limit));
      gauge("fathom_process_limit_used", "", "What the process, its group or the machine uses of that limit.",
            "kind", to_string(limit.kind), real(limit.used));
    }
  }

  void add_group() {
    if (view_.pressure_some)
      gauge("fathom_memory_pressure_ratio", "ratio",
            "Share of the time since the previous reading in which a task waited for memory.", "of",
            view_.look.pressure_of_group ? "group" : "machine", *view_.pressure_some);
    const auto& group = view_.look.limits.group;
    if (!group) return;
    const auto put = [&](std::string_view what, std::optional<std::uint64_t> bytes) {
      if (bytes)
        gauge("fathom_memory_group_bytes", "bytes", "The control group of the process as a whole.", "what",
              what, real(*bytes));
    };
    put("used", group->used);
    put("anonymous", group->memory.anonymous);
    put("page_cache", group->memory.page_cache);
    put("kernel", group->memory.kernel);
    put("page_tables", group->memory.page_tables);
    put("kernel_stacks", group->memory.kernel_stacks);
    put("slab", group->memory.slab);
  }

  void add_quality() {
    gauge("fathom_memory_missing", "",
          "Things that could not be read of the process; fathom watch names them.",
          static_cast<double>(view_.missing.size()));
    const auto& composition = view_.look.composition;
    if (composition == nullptr) return;
    gauge("fathom_memory_parts_age_seconds", "seconds", "How long ago the parts were read.",
          view_.composition_age_s);
    if (composition->sharing)
      gauge(
          "fathom_memory_lazy_free_bytes", "bytes",
          "Resident memory that the process has freed with MADV_FREE; the kernel takes it back when it needs memory.",
          real(composition->sharing->lazy_free));
    gauge("fathom_memory_parts_moved", "", "1 where resident memory changed while the parts were read.",
          composition->moved ? 1 : 0);
    gauge("fathom_memory_parts_from", "", "Where the parts were read: 1 at that way.", "way",
          to_string(composition->way), 1);
    gauge("fathom_memory_reading_seconds", "seconds", "CPU time that the last reading of the parts took.",
          real(composition->took_ns) * 1e-9);
    gauge("fathom_memory_longest_call_seconds", "seconds",
          "The longest call of that reading: as long can a thread that maps memory have waited.",
          real(composition->longest_call_ns) * 1e-9);
  }

  Exposition& out_;
  const View& view_;
  const std::vector<Label> labels_;
};

}  // namespace

std::string label_of_name(std::string_view name) {
  std::string label;
  while (!name.empty()) {
    const auto first = static_cast<unsigned char>(name.front());
    const std::size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const std::string_view character = name.substr(0, size);
    const bool is_control = first < 0x20 || first == 0x7f;
    if (first == '\\') {
      label += "\\\\";
    } else if (is_control || character.size() != size || analysis::valid_utf8(character) != character) {
      label += fmt::format("\\x{:02x}", first);
      name.remove_prefix(1);
      continue;
    } else {
      label += character;
    }
    name.remove_prefix(size);
  }
  return label;
}

Places::Place Places::take(const std::string& name) {
  Place place{name, 1};
  while (taken_.contains(place)) ++place.number;
  taken_.insert(place);
  std::erase(left_, place);
  ++starts_[place];
  return place;
}

void Places::leave(const Place& place) {
  if (taken_.erase(place) == 0) return;
  left_.push_back(place);
  if (left_.size() <= kMostEnded) return;
  starts_.erase(left_.front());
  left_.pop_front();
}

std::uint64_t Places::starts(const Place& place) const {
  const auto known = starts_.find(place);
  return known == starts_.end() ? 0 : known->second;
}

std::vector<Family> make_families(const std::vector<ServedView>& views, const Places& places,
                                  const OwnFigures& own) {
  Exposition out;
  for (const auto& row : places.all()) {
    const Places::Place& place = row.first;
    const bool up = std::any_of(views.begin(), views.end(),
                                [&](const ServedView& served) { return served.place == place; });
    out.add("fathom_process_up", Type::kGauge, "", "1 while a process has this place, 0 when it has ended.",
            labels_of(place), up ? 1 : 0);
    out.add("fathom_process_starts", Type::kCounter, "",
            "Processes that had this place since the watch began.", labels_of(place), real(row.second));
  }
  for (const ServedView& served : views) OfProcess(out, served).add();
  out.add("fathom_own_cpu_seconds", Type::kCounter, "seconds", "CPU time of the watch itself.", {},
          real(own.cpu_ns) * 1e-9);
  out.add("fathom_own_rss_bytes", Type::kGauge, "bytes", "Resident memory of the watch itself.", {},
          real(own.rss));
  static constexpr std::string_view kRequests = "Requests to this endpoint, by what became of them.";
  out.add("fathom_own_requests", Type::kCounter, "", kRequests, {{"outcome", "served"}}, real(own.served));
  out.add("fathom_own_requests", Type::kCounter, "", kRequests, {{"outcome", "refused"}}, real(own.refused));
  return out.take();
}

}  // namespace fathom::watch

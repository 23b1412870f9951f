#include "cli/diff_inputs.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "analysis/core/words.h"
#include "analysis/diff/work_series.h"
#include "base/parse.h"
#include "base/shell_word.h"
#include "cli/newest_recording.h"
#include "cli/time_option.h"
#include "formats/open/short_names.h"
#include "model/marks.h"

namespace fathom::cli {
namespace {

// A part of a recording: of its time, or one of its processes.
struct Range {
  std::optional<double> from_s, to_s;
  std::optional<std::int32_t> pid;
  std::string label;
};

// "pid:4711": what this process did.
std::optional<Range> process_from(std::string_view text) {
  constexpr std::string_view kPid = "pid:";
  if (!text.starts_with(kPid)) return std::nullopt;
  text.remove_prefix(kPid.size());
  Range range;
  range.pid = parse_number<std::int32_t>(text);
  if (!range.pid || *range.pid <= 0) return std::nullopt;
  range.label = fmt::format("{}{}", kPid, *range.pid);
  return range;
}

// "10:40", "10:", ":40": seconds after the start.
std::optional<Range> range_from(const std::string& text) {
  if (auto process = process_from(text)) return process;
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || text.size() < 2) return std::nullopt;
  Range range;
  const auto number = [](std::string_view digits, std::optional<double>& value) {
    if (digits.empty()) return true;
    value = parse_number<double>(digits);
    return value && *value >= 0 && *value <= 1e9;
  };
  const std::string_view view = text;
  if (!number(view.substr(0, colon), range.from_s) || !number(view.substr(colon + 1), range.to_s))
    return std::nullopt;
  range.label =
      fmt::format("{:g}:{}", range.from_s.value_or(0), range.to_s ? fmt::format("{:g}", *range.to_s) : "");
  return range;
}

class Opener {
 public:
  Opener(const DiffSides& sides, DiffInputs& inputs) : sides_(sides), inputs_(inputs) {}

  Result<> open() {
    const std::vector<std::string>& files = sides_.files;
    const bool ranges = files.size() == 1 && (!sides_.base.empty() || !sides_.fresh.empty());
    if (ranges) return open_ranges(files.front());
    if (files.size() == 2 && sides_.base.empty() && sides_.fresh.empty()) {
      if (files[0] == "-" && files[1] == "-")
        return fail(ErrorKind::kUsage, "both sides are standard input", "a file for one of them");
      if (const Result<> read = add_runs(files[0], inputs_.base); !read) return read;
      return add_runs(files[1], inputs_.fresh);
    }
    if (files.empty() && sides_.base.empty() && sides_.fresh.empty())
      if (const std::vector<std::string> here = recordings_here(); here.size() > 1)
        return fail(ErrorKind::kUsage, "two sides are compared",
                    fmt::format("fathom diff {} {}, the two newest recordings here",
                                shell_word(here[here.size() - 2]), shell_word(here.back())));
    if (!files.empty() || sides_.base.empty() || sides_.fresh.empty())
      return fail(
          ErrorKind::kUsage, "two sides are compared",
          "fathom diff BASE NEW, or fathom diff --base RUN... --new RUN..., or fathom diff FILE --base 0:30 --new 30:60");
    for (const std::string& file : sides_.base) {
      if (const Result<> read = add_runs(file, inputs_.base); !read) return read;
    }
    for (const std::string& file : sides_.fresh) {
      if (const Result<> read = add_runs(file, inputs_.fresh); !read) return read;
    }
    return {};
  }

 private:
  Result<> add_runs(const std::string& file, std::vector<analysis::DiffRun>& side) {
    const auto runs = runs_of_input(file, sides_.selection);
    if (!runs) return tl::unexpected(runs.error());
    for (const std::string& run : *runs)
      if (const Result<> read = add(run, {}, side); !read) return read;
    return {};
  }

  Result<> open_ranges(const std::string& file) {
    for (const auto* side : {&sides_.base, &sides_.fresh}) {
      if (side->empty())
        return fail(ErrorKind::kUsage, "one file needs two ranges to compare", "--base 0:30 --new 30:60");
      for (const std::string& text : *side) {
        const Result<std::vector<Range>> ranges = ranges_named(file, text);
        if (!ranges) return tl::unexpected(ranges.error());
        for (const Range& range : *ranges) {
          if (const Result<> read = add(file, range, side == &sides_.base ? inputs_.base : inputs_.fresh);
              !read)
            return read;
        }
      }
    }
    return {};
  }

  // A phase that came several times is several runs.
  Result<std::vector<Range>> ranges_named(const std::string& file, const std::string& text) {
    const Result<DiffInput*> input = opened(file);
    if (!input) return tl::unexpected(input.error());
    std::vector<Range> ranges;
    for (const model::Phase& phase : model::phases_of((*input)->profile)) {
      if (phase.name != text || (phase.to_s && *phase.to_s <= phase.from_s)) continue;
      ranges.push_back({phase.from_s, phase.to_s, {}, phase.name});
    }
    if (!ranges.empty()) return ranges;
    const std::optional<Range> range = range_from(text);
    const std::string known = known_marks((*input)->profile);
    if (!range || (range->from_s && range->to_s && *range->from_s >= *range->to_s))
      return fail(ErrorKind::kUsage,
                  known.empty()
                      ? fmt::format("'{}' is not a range of seconds", analysis::printable(text))
                      : fmt::format("'{}' is neither a range of seconds nor a mark; the marks are {}",
                                    analysis::printable(text), known),
                  "--base 10:40, --new 60: or --base pid:NUMBER, or two files");
    return std::vector<Range>{*range};
  }

  Result<DiffInput*> opened(const std::string& file) {
    std::unique_ptr<DiffInput>& input = inputs_.files[file];
    if (input) return input.get();
    SelectionOptions reading = sides_.selection;
    reading.long_names = true;  // they have the code, which finds functions without a name in another build
    Result<model::Profile> read = open_selected(file, reading);
    if (!read) return tl::unexpected(read.error());
    input = std::make_unique<DiffInput>(DiffInput{std::move(*read), {}});
    input->codes = open::shorten_nameless_functions(input->profile);
    return input.get();
  }

  Result<> add(const std::string& file, const Range& range, std::vector<analysis::DiffRun>& side) {
    const Result<DiffInput*> file_input = opened(file);
    if (!file_input) return tl::unexpected(file_input.error());
    const DiffInput* input = *file_input;
    SelectionOptions options = sides_.selection;
    if (range.from_s) options.from = {range.from_s, {}};
    if (range.to_s) options.until = {range.to_s, {}};
    if (range.pid) options.pid = range.pid;
    Result<analysis::Selection> selection = selection_from(options, input->profile);
    if (!selection) return within(file, selection.error());
    analysis::DiffRun run;
    run.profile = &input->profile;
    run.codes = input->codes;
    run.selection = std::move(*selection);
    run.label = file;
    if (!range.label.empty()) run.label += " " + range.label;
    side.push_back(std::move(run));
    return {};
  }

  const DiffSides& sides_;
  DiffInputs& inputs_;
};

// One number for all runs of a side, or one for each.
Result<> add_work(const std::vector<double>& work, const char* option, std::vector<analysis::DiffRun>& side) {
  if (work.empty()) return {};
  if (work.size() != 1 && work.size() != side.size())
    return fail(
        ErrorKind::kUsage,
        fmt::format("{}: {} numbers for {}", option, work.size(), analysis::counted(side.size(), "run")),
        "one, or one for each run");
  for (std::size_t i = 0; i < side.size(); ++i) side[i].work = work.size() == 1 ? work[0] : work[i];
  return {};
}

// Without numbers, the name of the work is that of a series in which it was counted.
Result<> work_of_series(const std::string& name, std::vector<analysis::DiffRun>& side) {
  for (analysis::DiffRun& run : side) {
    const Result<double> work =
        analysis::work_of_series(*run.profile, name, run.selection.from_ns, run.selection.to_ns);
    if (!work) return within(run.label, work.error());
    run.work = *work;
  }
  return {};
}

Result<> know_work(const DiffSides& sides, DiffInputs& inputs) {
  if (!sides.work_name.empty() && sides.work_base.empty() && sides.work_fresh.empty()) {
    if (const Result<> base = work_of_series(sides.work_name, inputs.base); !base) return base;
    return work_of_series(sides.work_name, inputs.fresh);
  }
  if (const Result<> base = add_work(sides.work_base, "--work-base", inputs.base); !base) return base;
  return add_work(sides.work_fresh, "--work-new", inputs.fresh);
}

}  // namespace

Result<DiffInputs> open_sides(const DiffSides& sides) {
  DiffInputs inputs;
  if (const Result<> opened = Opener(sides, inputs).open(); !opened) return tl::unexpected(opened.error());
  if (const Result<> work = know_work(sides, inputs); !work) return tl::unexpected(work.error());
  return inputs;
}

}  // namespace fathom::cli

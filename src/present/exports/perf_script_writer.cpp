#include "present/exports/perf_script_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "analysis/core/call_tree.h"
#include "analysis/core/empty_selection.h"
#include "analysis/core/words.h"
#include "model/facts.h"
#include "present/exports/frame_lines.h"

namespace fathom::present {
namespace {

constexpr std::size_t kPerfScriptPiece = 1 << 16;  // bytes

std::string script_module(const model::Profile& profile, model::ModuleId id) {
  const model::Module& module = profile.modules[id.value];
  if (module.kind == model::ModuleKind::kKernel) return "[kernel.kallsyms]";
  const std::string_view path = profile.strings[module.path.value != 0 ? module.path : module.name];
  return path.empty() ? "[unknown]" : analysis::printable(path);
}

class ScriptText {
 public:
  ScriptText(const model::Profile& profile, const PerfScriptOptions& options)
      : profile_(profile),
        frames_(profile, options.fold_generics, options.selection.tracer),
        stacks_(profile.stacks.size()) {
    const model::Meta& meta = profile.meta;
    // Of a clock, a sample stands for the time since the one before.
    const bool is_clock = model::facts_of<model::ImportFacts>(meta).unit.empty() && meta.frequency_hz != 0;
    period_ = is_clock ? 1'000'000'000 / meta.frequency_hz : 1;
    event_ = is_clock ? "cpu-clock" : meta.event.empty() ? "samples" : analysis::printable(meta.event);
    std::ranges::replace(event_, ' ', '-');
  }

  void add(const model::Sample& sample, std::string& out) {
    const model::Thread& thread = profile_.threads[sample.thread.value];
    const std::int64_t value = std::max<std::int64_t>(sample.value, 0);
    fmt::format_to(std::back_inserter(out), "{} {}/{} [{:03}] {}.{:09}: {:>10} {}: \n",
                   analysis::printable(analysis::thread_name(profile_, sample.thread)),
                   profile_.processes[thread.process.value].pid, thread.tid, sample.cpu,
                   sample.time_ns / 1'000'000'000, sample.time_ns % 1'000'000'000,
                   value > INT64_MAX / period_ ? INT64_MAX : value * period_, event_);
    out += stack(sample.stack);
    out += '\n';
  }

 private:
  const std::string& stack(model::StackId id) {
    std::string& text = stacks_[id.value];
    if (!text.empty()) return text;
    for (model::StackId at = id; at.value != 0; at = profile_.stacks[at.value].parent) {
      const model::Frame& frame = profile_.frames[profile_.stacks[at.value].frame.value];
      const auto calls = frames_.of_frame(profile_.stacks[at.value].frame);
      for (std::size_t i = 0; i < calls.size(); ++i) {
        const FrameCall& call = frames_.calls()[calls[i]];
        const bool named = frame.line_count != 0 && !call.name.empty();
        fmt::format_to(std::back_inserter(text), "\t{:16x} {} ({})\n", frame.address.value,
                       named ? analysis::printable(call.name) : "[unknown]",
                       i + 1 < calls.size() ? "inlined" : script_module(profile_, frame.module));
      }
    }
    return text;
  }

  const model::Profile& profile_;
  FrameLines frames_;
  std::vector<std::string> stacks_;  // as text
  std::int64_t period_ = 1;
  std::string event_;
};

}  // namespace

Result<> write_perf_script(const model::Profile& profile, const PerfScriptOptions& options,
                           const std::function<void(std::string_view)>& take) {
  analysis::Selection selection = options.selection;
  selection.metric = model::Metric::kCpu;
  const analysis::Filter filter(profile, selection);
  std::vector<const model::Sample*> samples;
  for (const model::Sample& sample : profile.samples)
    if (filter.takes(sample)) samples.push_back(&sample);
  if (samples.empty()) return tl::unexpected(analysis::nothing_selected(profile, selection));
  std::ranges::stable_sort(samples, {}, [](const model::Sample* sample) { return sample->time_ns; });
  const auto origin = model::facts_of<model::OriginFacts>(profile.meta);
  std::string out;
  if (!origin.host.empty()) out += fmt::format("# hostname : {}\n", analysis::printable(origin.host));
  if (!origin.kernel.empty()) out += fmt::format("# os release : {}\n", analysis::printable(origin.kernel));
  if (origin.cpus) out += fmt::format("# nrcpus online : {}\n", *origin.cpus);
  if (!origin.command.empty()) out += fmt::format("# cmdline : {}\n", analysis::printable(origin.command));
  for (const std::string& comment : options.comments)
    out += fmt::format("# {}\n", analysis::printable(comment));
  out += "#\n";
  ScriptText text(profile, options);
  for (const model::Sample* sample : samples) {
    text.add(*sample, out);
    if (out.size() < kPerfScriptPiece) continue;
    take(out);
    out.clear();
  }
  take(out);
  return {};
}

}  // namespace fathom::present

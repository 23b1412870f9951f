#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "base/abi/walk.h"
#include "base/arch/perf_registers.h"
#include "base/cursor.h"
#include "formats/import/idle_cpus.h"
#include "formats/import/import.h"
#include "formats/perf_data/code_maps.h"
#include "formats/perf_data/event_choice.h"
#include "formats/perf_data/perf_data.h"
#include "formats/perf_data/records.h"
#include "formats/perf_data/switches.h"
#include "formats/perf_data/tasks.h"
#include "model/facts.h"

namespace fathom::formats {
namespace {

using namespace std::string_view_literals;

// The same in the other order of bytes is refused by its head.
constexpr std::string_view kMagic = "PERFILE2"sv;
constexpr std::uint64_t kFirstContext = static_cast<std::uint64_t>(-4095);  // marks of the kernel lie above
constexpr std::uint64_t kReleaseEach = std::uint64_t{32} << 20;
// Of mappings that are put into tables for walks, over the whole file.
constexpr std::uint64_t kMostMappingWork = 400'000'000;
constexpr std::uint64_t kMostValue = std::uint64_t{1} << 53;

enum class Mode : std::uint8_t { kKernel, kUser, kOther };

Mode mode_of(std::uint16_t misc) {
  switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
    case PERF_RECORD_MISC_KERNEL:
      return Mode::kKernel;
    case PERF_RECORD_MISC_USER:
      return Mode::kUser;
    default:
      return Mode::kOther;
  }
}

class Reader {
 public:
  Reader(PerfContainer container, const std::string& name, const PerfDataOptions& options)
      : container_(std::move(container)),
        name_(name),
        options_(options),
        files_(import_, container_.build_ids, options.called) {}

  Result<model::Profile> read() {
    if (const Result<> scanned = scan(); !scanned) return tl::unexpected(scanned.error());
    samples_of_.resize(container_.events.size());
    choice_ = choose_events(container_, samples_of_);
    fields_ = switch_fields(container_.tracing);
    nameless_kernel_ =
        import_.frame(import_.module("[kernel.kallsyms]", {}, model::SymbolSource::kNone), "[kernel]");
    std::ranges::stable_sort(order_, {}, &Row::time_ns);
    std::uint64_t since_release = 0;
    for (const Row& row : order_) {
      const PerfRecord record = container_.record_at(row.place);
      take(record, row.time_ns);
      since_release += record.body.size();
      if (since_release < kReleaseEach) continue;
      since_release = 0;
      if (options_.release) options_.release();
    }
    order_ = {};
    return conclude();
  }

 private:
  struct Row {
    std::uint64_t time_ns;
    PerfPlace place;
  };
  // What is to be taken in order of time, and what can be counted at once.
  Result<> scan() {
    std::uint64_t since_release = 0;
    return container_.visit_records([&](const PerfRecord& record, PerfPlace place) {
      since_release += record.body.size();
      if (since_release >= kReleaseEach && options_.release) {
        since_release = 0;
        options_.release();
      }
      const PerfEvent* event = container_.event_of(record);
      samples_of_.resize(container_.events.size());
      model::Quality& quality = import_.profile.quality;
      Cursor in(record.body);
      switch (record.type) {
        case PERF_RECORD_LOST:
          in.skip(8);
          add_lost(quality.lost_ring_full, in.read<std::uint64_t>());
          return;
        case PERF_RECORD_LOST_SAMPLES:
          add_lost(quality.lost_ring_full, in.read<std::uint64_t>());
          return;
        case PERF_RECORD_THROTTLE:
          ++quality.lost_throttled;
          return;
        case PERF_RECORD_SAMPLE:
          if (event != nullptr) ++samples_of_[static_cast<std::size_t>(event - container_.events.data())];
          break;
        case PERF_RECORD_MMAP:
        case PERF_RECORD_MMAP2:
        case PERF_RECORD_COMM:
        case PERF_RECORD_FORK:
        case PERF_RECORD_EXIT:
        case PERF_RECORD_SWITCH:
        case PERF_RECORD_SWITCH_CPU_WIDE:
          break;
        default:
          return;
      }
      if (event == nullptr) {
        ++nobodys_;
        return;
      }
      order_.push_back({time_of(record, event->attributes), place});
    });
  }
  static void add_lost(std::uint64_t& sum, std::uint64_t more) { sum += std::min(more, kMostValue); }

  void take(const PerfRecord& record, std::uint64_t time_ns) {
    switch (record.type) {
      case PERF_RECORD_SAMPLE:
        return take_sample(record);
      case PERF_RECORD_MMAP:
      case PERF_RECORD_MMAP2:
        return take_mapping(record);
      case PERF_RECORD_COMM:
        if (const auto name = parse_name(record)) return tasks_.take(*name);
        return unread();
      case PERF_RECORD_FORK:
        if (const auto task = parse_task(record)) return tasks_.take_fork(*task);
        return unread();
      case PERF_RECORD_EXIT:
        if (const auto task = parse_task(record)) return tasks_.take_exit(*task);
        return unread();
      default:
        return take_switch_record(record, time_ns);
    }
  }

  void take_mapping(const PerfRecord& record) {
    const std::optional<PerfMapping> mapping = parse_mapping(record);
    if (!mapping) return unread();
    if (mode_of(record.misc) == Mode::kKernel || mapping->pid == -1) return take_kernel(*mapping);
    if (!mapping->executable) return;
    PerfTasks::Process& owner = tasks_.process(mapping->pid);
    CodeFile* code = files_.of(*mapping);
    if (owner.executable.empty() && code->kind == model::ModuleKind::kFile) {
      owner.executable = mapping->path;
      if (owner.row)
        import_.profile.processes[owner.row->value].executable = import_.builder.string(mapping->path);
    }
    work_ += owner.maps.size();
    if (work_ > kMostMappingWork ||
        !owner.maps.add(mapping->start, mapping->start + mapping->size, mapping->offset, code))
      bounded_ = true;
  }

  // "[kernel.kallsyms]_text": its place stands where a file has its offset.
  void take_kernel(const PerfMapping& mapping) {
    constexpr std::string_view kKernel = "[kernel.kallsyms]";
    if (!mapping.path.starts_with(kKernel) || kernel_.reference_address != 0) return;
    kernel_.reference = mapping.path.substr(kKernel.size());
    kernel_.reference_address = mapping.offset;
  }

  // The function of the kernel that holds the address.
  model::FrameId kernel_frame(std::uint64_t address) {
    if (!functions_asked_) {
      functions_asked_ = true;
      if (const auto id = container_.build_ids.find("[kernel.kallsyms]"); id != container_.build_ids.end())
        kernel_.build_id = id->second;
      if (options_.kernel) functions_ = options_.kernel(kernel_);
    }
    const auto after = std::ranges::upper_bound(functions_, address, {}, &PerfKernelFunction::address);
    if (after == functions_.begin()) return nameless_kernel_;
    const PerfKernelFunction& function = *std::prev(after);
    const std::string module =
        function.module.empty() ? "[kernel]" : fmt::format("[kernel:{}]", function.module);
    return import_.frame(import_.module(module, {}, model::SymbolSource::kKallsyms), function.name);
  }

  void take_switch_record(const PerfRecord& record, std::uint64_t time_ns) {
    const PerfEvent* event = container_.event_of(record);
    if (event == nullptr || (record.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0) return;
    switches_.in(tid_of(record, event->attributes), time_ns);
  }

  void take_sample(const PerfRecord& record) {
    const PerfEvent* event = container_.event_of(record);
    if (event == nullptr) return;
    const EventUse use = choice_.uses[static_cast<std::size_t>(event - container_.events.data())];
    if (use == EventUse::kLeftOut) return;
    const std::optional<PerfSample> sample = parse_sample(record, event->attributes);
    if (!sample) return unread();
    if (sample->time_ns != 0) {
      first_ns_ = std::min(first_ns_, sample->time_ns);
      last_ns_ = std::max(last_ns_, sample->time_ns);
    }
    // A CPU without work waits for no thread, and wakes threads for devices and clocks.
    if (use == EventUse::kSwitch && sample->tid == 0) {
      if (const auto fields = parse_switch(sample->raw, fields_))
        switches_.in(fields->next_tid, sample->time_ns);
      return;
    }
    if (use == EventUse::kWakeUp && sample->tid == 0) return take_wake_up(*sample, model::kNoThread, {0});
    model::Sample row;
    row.time_ns = sample->time_ns;
    row.thread = tasks_.row_of(sample->tid, tasks_.thread(sample->pid, sample->tid));
    row.cpu = static_cast<std::uint16_t>(std::min<std::uint32_t>(sample->cpu, UINT16_MAX));
    row.stack = stack_of(*sample, record.misc, row.end);
    if (use == EventUse::kSwitch) return take_switch(*sample, row);
    if (use == EventUse::kWakeUp) return take_wake_up(*sample, row.thread, row.stack);
    row.value = static_cast<std::int64_t>(std::min(sample->period, kMostValue));
    if (use == EventUse::kOffCpuTime) row.metric = model::Metric::kOffCpu;
    if (use == EventUse::kCpu && event->attributes.freq != 0 && frequency_ == 0)
      frequency_ =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(event->attributes.sample_freq, 1'000'000));
    import_.profile.samples.push_back(row);
  }

  void take_switch(const PerfSample& sample, const model::Sample& row) {
    const std::optional<Switch> fields = parse_switch(sample.raw, fields_);
    if (!fields) return unread();
    switches_.in(fields->next_tid, sample.time_ns);
    switches_.out(sample.tid, sample.time_ns, row.thread, row.stack, fields->state, row.end);
  }

  void take_wake_up(const PerfSample& sample, model::ThreadId by, model::StackId stack) {
    constexpr std::size_t kWoken = 24;  // behind the common fields and 16 characters of its name
    if (sample.raw.size() < kWoken + 4) return unread();
    Cursor in(sample.raw.subspan(kWoken));
    switches_.woken(in.read<std::int32_t>(), sample.time_ns, by, stack);
  }

  // Leaf first in the record.
  model::StackId stack_of(const PerfSample& sample, std::uint16_t misc, model::WalkEnd& end) {
    frames_.clear();
    const PerfTasks::Process& owner = tasks_.process(sample.pid);
    Mode mode = mode_of(misc);
    bool exact = true;  // the next address is no return address
    const auto add = [&](std::uint64_t address) {
      if (frames_.size() >= kMostImportedFrames) return;
      if (mode == Mode::kKernel) {
        const model::FrameId frame = kernel_frame(exact ? address : address - 1);
        if (frame != nameless_kernel_ || frames_.empty() || frames_.back() != frame) frames_.push_back(frame);
      } else if (mode == Mode::kUser && address != 0) {
        frames_.push_back(frame_of(owner.maps, exact ? address : address - 1));
      }
      exact = false;
    };
    Cursor chain(sample.chain);
    if (sample.chain.empty() && sample.register_abi == PERF_SAMPLE_REGS_ABI_NONE) {
      add(sample.ip);
    } else if (sample.chain.empty() && mode == Mode::kKernel) {
      add(sample.ip);
    }
    std::optional<std::size_t> user_from;
    while (!chain.at_end()) {
      const auto address = chain.read<std::uint64_t>();
      if (address < kFirstContext) {
        add(address);
        continue;
      }
      exact = true;
      mode = address == PERF_CONTEXT_KERNEL ? Mode::kKernel
             : address == PERF_CONTEXT_USER ? Mode::kUser
                                            : Mode::kOther;
      if (mode == Mode::kUser) user_from = frames_.size();
    }
    if (!sample.registers.empty()) add_walked(sample, user_from.value_or(frames_.size()), end);
    model::StackId stack{0};
    for (std::size_t i = frames_.size(); i-- > 0;) stack = import_.builder.stack(stack, frames_[i]);
    return stack;
  }

  // What a walk of the copied stack finds takes the place of the chain's frames of user mode.
  void add_walked(const PerfSample& sample, std::size_t user_from, model::WalkEnd& end) {
    if (sample.register_abi != PERF_SAMPLE_REGS_ABI_64) return;
    Cursor in(sample.registers);
    unwind::RegisterValues registers;
    unwind::UnwindInput input;
    for (int bit = 0; bit < 64; ++bit) {
      if ((sample.register_mask >> bit & 1) == 0) continue;
      const auto value = in.read<std::uint64_t>();
      if (bit == arch::kPerfFpBit) input.fp = value;
      if (bit == arch::kPerfSpBit) input.sp = value;
      if (bit == arch::kPerfPcBit) input.pc = value;
      const int number = arch::dwarf_of_perf_register(bit);
      if (number < 0) continue;
      registers.values[static_cast<std::size_t>(number)] = value;
      registers.known |= 1u << number;
    }
    input.registers = &registers;
    input.stack_start = {input.sp};
    input.stack = sample.stack;
    PerfTasks::Process& owner = tasks_.process(sample.pid);
    walked_.clear();
    std::optional<walk_end> walked;
    if (work_ <= kMostMappingWork && !sample.stack.empty()) walked = owner.maps.walk(input, walked_);
    if (!walked || walked_.empty()) {
      // The chain has what can be had; without one it is known where the thread was.
      if (frames_.size() == user_from && input.pc != 0) frames_.push_back(frame_of(owner.maps, input.pc));
      end = WALK_NO_TABLE;
      ++unwalked_;
      return;
    }
    end = static_cast<model::WalkEnd>(*walked);
    if (*walked == WALK_ROOT) ++import_.profile.quality.complete;
    frames_.resize(user_from);
    for (const FrameAddress& address : walked_)
      if (frames_.size() < kMostImportedFrames)
        frames_.push_back(frame_of(owner.maps, address.for_lookup().value));
    if (*walked != WALK_ROOT) ++early_[{end, module_at(owner.maps, walked_.back().for_lookup().value)}];
  }

  static model::ModuleId module_at(const CodeMaps& maps, std::uint64_t address) {
    const CodeMaps::Mapping* mapping = maps.find(address);
    return mapping != nullptr ? mapping->code->module : model::ModuleId{0};
  }

  model::FrameId frame_of(const CodeMaps& maps, std::uint64_t address) {
    const CodeMaps::Mapping* mapping = maps.find(address);
    if (mapping == nullptr) return import_.builder.frame({0}, ElfAddress{address});
    return import_.builder.frame(mapping->code->module, ElfAddress{address - mapping->bias});
  }

  void unread() { ++unread_; }

  void add_waits() {
    model::Profile& profile = import_.profile;
    const std::uint64_t all = switches_.switches(), ended = switches_.with_end();
    if (all == 0) return;
    if (ended == 0 && profile.samples.empty()) {
      profile.samples = switches_.as_samples();
      model::put_facts(model::ImportFacts{.unit = "switches"}, profile.meta);
      profile.meta.event = "sched:sched_switch";
      import_.note(
          "The file records when threads stopped running but not when they resumed, so it has numbers of switches but no times. perf record -e sched:sched_switch -a without a filter records both.");
      return;
    }
    profile.waits = switches_.take_waits();
    profile.quality.waits = profile.waits.size();
    profile.quality.switches = all;
    if (ended < all)
      import_.note(fmt::format(
          "{} of {} switches have no end in the file, so how long these waits took is not known and they are left out.",
          all - ended, all));
  }

  Result<model::Profile> conclude() {
    model::Profile& profile = import_.profile;
    model::Meta& meta = profile.meta;
    model::put_facts(container_.origin, meta);
    if (last_ns_ != 0) {
      meta.start_ns = first_ns_;
      meta.end_ns = last_ns_;
    }
    meta.event = choice_.cpu_event;
    meta.frequency_hz = frequency_;
    if (!choice_.cpu_event.empty())
      model::put_facts(model::ImportFacts{.unit = choice_.nanoseconds ? "ns" : choice_.cpu_event}, meta);
    profile.quality.samples = 0;
    add_waits();
    if (profile.samples.empty() && profile.waits.empty())
      return fail(ErrorKind::kMalformed, fmt::format("{}: perf.data without a sample", name_),
                  "perf record -g -- COMMAND");
    leave_out_idle_cpus(profile);
    for (const auto& [key, count] : early_)
      profile.quality.early_ends.push_back({key.first, key.second, count});
    add_notes();
    return import_.finish(name_);
  }

  void add_notes() {
    import_.profile.quality.truncated = !container_.whole;
    if (!choice_.left_out.empty())
      import_.note(fmt::format("The file has several events. Shown is {}; left out: {}.", choice_.cpu_event,
                               choice_.left_out));
    if (unwalked_ != 0)
      import_.note(fmt::format(
          "{} samples have a copied stack, but their binary is not on this machine as it was recorded, so only their innermost frame is known. Try --symbols DIR, with the binary in DIR.",
          unwalked_));
    const std::vector<std::string>& missing = files_.missing();
    if (!missing.empty()) {
      const std::size_t shown = std::min<std::size_t>(missing.size(), 5);
      import_.note(
          fmt::format("Not on this machine as recorded, and so without names: {}{}.",
                      fmt::join(missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                      missing.size() > shown ? fmt::format(" and {} more", missing.size() - shown) : ""));
    }
    if (unread_ + nobodys_ != 0)
      import_.note(fmt::format("{} records could not be read.", unread_ + nobodys_));
    if (bounded_ || tasks_.is_bounded())
      import_.note("The file has more mappings than are followed: some frames have no module.");
  }

  PerfContainer container_;
  const std::string& name_;
  const PerfDataOptions& options_;
  Import import_{"perf.data"};
  CodeFiles files_;
  std::vector<Row> order_;
  std::vector<std::uint64_t> samples_of_;  // of each event
  EventChoice choice_;
  SwitchFields fields_;
  Switches switches_;
  model::FrameId nameless_kernel_;  // one for all of its places
  PerfKernel kernel_;
  std::vector<PerfKernelFunction> functions_;
  bool functions_asked_ = false;
  PerfTasks tasks_{import_};
  std::vector<model::FrameId> frames_;  // leaf first
  std::vector<FrameAddress> walked_;
  std::map<std::pair<model::WalkEnd, model::ModuleId>, std::uint64_t> early_;
  std::uint64_t first_ns_ = UINT64_MAX, last_ns_ = 0;
  std::uint64_t work_ = 0, unread_ = 0, nobodys_ = 0, unwalked_ = 0;
  std::uint32_t frequency_ = 0;
  bool bounded_ = false;
};

}  // namespace

bool is_perf_data(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

Result<model::Profile> read_perf_data(std::string_view bytes, const std::string& name,
                                      const PerfDataOptions& options) {
  Result<PerfContainer> container = PerfContainer::of(bytes, name);
  if (!container) return tl::unexpected(container.error());
  return Reader(std::move(*container), name, options).read();
}

Result<model::Profile> read_perf_data(std::string_view bytes, const std::string& name) {
  return read_perf_data(bytes, name, PerfDataOptions{});
}

}  // namespace fathom::formats

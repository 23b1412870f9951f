#include "analysis/summary/resource_makers.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "analysis/core/functions.h"
#include "analysis/core/own_code.h"
#include "analysis/core/words.h"
#include "analysis/waits/wait_site.h"
#include "model/nameless_function.h"
#include "model/system_call.h"
#include "model/system_call_rows.h"

namespace fathom::analysis {
namespace {

constexpr std::array<std::string_view, 5> kSocketMakers{"socket", "socketpair", "accept", "accept4",
                                                        "pidfd_getfd"};
constexpr std::array<std::string_view, 20> kOtherMakers{
    "open",  "openat",       "openat2",        "creat",      "pipe",         "pipe2",        "dup",
    "dup2",  "dup3",         "epoll_create",   "eventfd",    "eventfd2",     "signalfd",     "signalfd4",
    "fcntl", "memfd_create", "timerfd_create", "pidfd_open", "inotify_init", "inotify_init1"};
constexpr std::array<std::string_view, 4> kTaskMakers{"clone", "clone3", "fork", "vfork"};

constexpr double kEnoughCalls = 5, kMostOfTheCalls = 0.5;

std::int32_t pid_of_thread(const model::Profile& profile, model::ThreadId thread) {
  return profile.processes[profile.threads[thread.value].process.value].pid;
}

// The system call in which the sample was taken; "" outside of them.
std::string_view system_call_of_sample(const model::Profile& profile, model::StackId stack) {
  std::string_view call;
  for (; stack.value != 0; stack = profile.stacks[stack.value].parent) {
    const model::Frame& frame = profile.frames[profile.stacks[stack.value].frame.value];
    if (profile.modules[frame.module.value].kind != model::ModuleKind::kKernel) break;
    if (frame.line_count == 0) continue;
    const std::uint32_t outermost = frame.first_line + frame.line_count - 1;
    const model::FunctionId function = profile.lines[outermost].function;
    if (const auto of = system_call_of_entry(profile.strings[profile.functions[function.value].name]);
        !of.empty())
      call = of;
  }
  return call;
}

template <class Map>
auto most_of(const Map& counts) {
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
}

// The key that makes more than half of all; "" where none does.
std::string majority_of(const std::map<std::string, double>& counts) {
  double all = 0;
  for (const auto& [key, count] : counts) all += count;
  const auto most = most_of(counts);
  return most != counts.end() && most->second > 0.5 * all ? most->first : "";
}

// The outermost function of the program's own code: where a thread starts. "": it has none with a name.
std::string start_of(const model::Profile& profile, const OwnCode& own_code, model::StackId stack) {
  std::string start;
  for (; stack.value != 0; stack = profile.stacks[stack.value].parent) {
    const model::FrameId id = profile.stacks[stack.value].frame;
    const model::Frame& frame = profile.frames[id.value];
    if (profile.modules[frame.module.value].kind == model::ModuleKind::kKernel) continue;
    for (std::uint32_t line = 0; line < frame.line_count; ++line) {
      std::string name = frame_name(profile, id, line);
      const std::string_view file = profile.strings[profile.lines[frame.first_line + line].file];
      if (own_code.is_own(name, frame.module, file) && !is_unnamed(name)) start = std::move(name);
    }
  }
  return start;
}

}  // namespace

std::string_view system_call_of_entry(std::string_view kernel_function) {
  for (const std::string_view prefix : {"__x64_sys_", "__arm64_sys_", "__ia32_sys_", "__se_sys_"})
    if (kernel_function.starts_with(prefix)) return kernel_function.substr(prefix.size());
  return "";
}

bool creates_resource(std::string_view system_call, CountedResource resource, std::string_view kind) {
  const auto is_in = [&](const auto& calls) { return std::ranges::find(calls, system_call) != calls.end(); };
  if (resource != CountedResource::kDescriptors) return is_in(kTaskMakers);
  const bool makes_sockets = is_in(kSocketMakers);
  if (kind.empty()) return makes_sockets || is_in(kOtherMakers);
  return kind == "socket" ? makes_sockets : is_in(kOtherMakers);
}

// Who does both does not forget it.
static bool gives_back_resource(std::string_view system_call, CountedResource resource) {
  if (resource == CountedResource::kDescriptors)
    return system_call == "close" || system_call == "close_range" || system_call == "shutdown";
  return resource != CountedResource::kThreads && (system_call == "wait4" || system_call == "waitid");
}

namespace {

// Calls that make one of a resource and calls that give one back, by the function of the program that asks.
struct CallsOfSites {
  std::map<std::string, double> makes, gives_back;
};

class CallsReading {
 public:
  CallsReading(const model::Profile& profile, const ResourceGrowth& growth)
      : profile_(profile), growth_(growth), sites_(profile) {}

  // Empty: system calls were not counted, or none of these was made.
  CallsOfSites counted() {
    CallsOfSites calls;
    for (const model::Calls& row : profile_.calls)
      if (model::kind_of(profile_, row) == model::CallsKind::kSystemCall &&
          profile_.processes[row.process.value].pid == growth_.pid)
        book(calls, profile_.strings[profile_.functions[row.function.value].name], row.stack,
             static_cast<double>(row.calls));
    return calls;
  }
  CallsOfSites caught() {
    CallsOfSites calls;
    for (const model::Sample& sample : profile_.all_samples())
      if (sample.metric == model::Metric::kCpu && pid_of_thread(profile_, sample.thread) == growth_.pid)
        book(calls, system_call_of_sample(profile_, sample.stack), sample.stack,
             static_cast<double>(sample.value));
    for (const model::Wait& wait : profile_.all_waits())
      if (wait.system_call >= 0 && pid_of_thread(profile_, wait.thread) == growth_.pid)
        book(calls, model::system_call_name(wait.system_call), wait.stack, wait.weight);
    return calls;
  }

 private:
  void book(CallsOfSites& calls, std::string_view system_call, model::StackId stack, double weight) {
    if (stack.value == 0) return;
    if (creates_resource(system_call, growth_.resource, growth_.kind)) {
      calls.makes[sites_.of(stack)] += weight;
    } else if (gives_back_resource(system_call, growth_.resource)) {
      calls.gives_back[sites_.of(stack)] += weight;
    }
  }
  const model::Profile& profile_;
  const ResourceGrowth& growth_;
  WaitSites sites_;
};

}  // namespace

std::optional<ResourceMaker> find_resource_maker(const model::Profile& profile,
                                                 const ResourceGrowth& growth) {
  CallsReading reading(profile, growth);
  CallsOfSites calls = reading.counted();
  const bool counted = !calls.makes.empty();
  if (!counted) calls = reading.caught();
  std::erase_if(calls.makes, [&](const auto& site) {
    const auto back = calls.gives_back.find(site.first);
    return back != calls.gives_back.end() && (!counted || back->second >= 0.5 * site.second);
  });
  double all = 0;
  for (const auto& [site, number] : calls.makes) all += number;
  const auto most = most_of(calls.makes);
  if (most == calls.makes.end() || is_unnamed(most->first) ||
      creates_resource(most->first, growth.resource, ""))
    return std::nullopt;  // a function of the C library says no more than the system call
  const bool few = !counted && all < kEnoughCalls;
  if (most->second < (few ? all : kMostOfTheCalls * all)) return std::nullopt;
  return ResourceMaker{most->first, most->second / all, all, counted};
}

std::string start_of_new_threads(const model::Profile& profile, std::int32_t pid) {
  const OwnCode own_code(profile);
  std::map<std::uint32_t, std::string> starts;  // of each new thread
  std::map<std::string, double> names;
  for (std::uint32_t i = 0; i < profile.threads.size(); ++i) {
    const model::Thread& thread = profile.threads[i];
    if (thread.start_ns <= profile.meta.start_ns || thread.end_ns != 0 ||
        profile.processes[thread.process.value].pid != pid)
      continue;
    starts.try_emplace(i);
    ++names[printable(profile.strings[thread.name])];
  }
  const auto look_at_stack = [&](model::ThreadId thread, model::StackId stack) {
    const auto known = starts.find(thread.value);
    if (known != starts.end() && known->second.empty()) known->second = start_of(profile, own_code, stack);
  };
  for (const model::Wait& wait : profile.all_waits()) look_at_stack(wait.thread, wait.stack);
  for (const model::Sample& sample : profile.all_samples()) look_at_stack(sample.thread, sample.stack);
  std::map<std::string, double> functions;
  for (const auto& [thread, start] : starts) ++functions[start];
  const std::string function = majority_of(functions);
  return function.empty() ? majority_of(names) : function;
}

std::string program_of_children(const model::Profile& profile, std::int32_t pid) {
  std::map<std::string, double> programs;
  for (const model::Process& process : profile.processes)
    if (process.parent_pid == pid && process.start_ns > profile.meta.start_ns)
      ++programs[printable(profile.strings[process.name])];
  return majority_of(programs);
}

}  // namespace fathom::analysis

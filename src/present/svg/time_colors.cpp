#include <algorithm>
#include <array>

#include "analysis/core/wait_cause.h"
#include "present/svg/painter.h"
#include "present/svg/palettes.h"

namespace fathom::present {

using analysis::CallTree;
using analysis::NodeKind;
using analysis::TreeNode;

namespace {

// What time can go to: running, and the kinds of waits.
enum TimeKind : std::size_t {
  kOnCpu,
  kInQueue,
  kAtLocks,
  kAtFiles,
  kAtPeers,
  kAsleep,
  kForMemory,
  kOtherwise,
  kIdle,
  kTimeKinds
};

struct TimeWords {
  std::string_view label;
  Hue hue;
};
const std::array<TimeWords, kTimeKinds> kTimeWords = {{{"on a CPU", kKernelHue},
                                                       {"run queue", kAllocatorHue},
                                                       {"locks and other threads", kGroupHues[0]},
                                                       {"files", kGroupHues[2]},
                                                       {"sockets, pipes and polls", kGroupHues[3]},
                                                       {"sleep", kGroupHues[6]},
                                                       {"memory", kGroupHues[5]},
                                                       {"other waits", kGroupHues[7]},
                                                       {"idle", kOtherHue}}};

TimeKind kind_of_cause(std::string_view frame) {
  using analysis::Cause;
  if (frame.starts_with("(idle: ")) return kIdle;
  switch (analysis::cause_of_frame(frame).value_or(Cause::kUnknown)) {
    case Cause::kRunQueue:
    case Cause::kThrottled:
      return kInQueue;
    case Cause::kFutex:
    case Cause::kFileLock:
    case Cause::kIpc:
      return kAtLocks;
    case Cause::kFileRead:
    case Cause::kFileWrite:
    case Cause::kFileSync:
    case Cause::kFileOther:
    case Cause::kIoUring:
    case Cause::kAsyncIo:
    case Cause::kWriteback:
      return kAtFiles;
    case Cause::kSocket:
    case Cause::kPipe:
    case Cause::kPoll:
      return kAtPeers;
    case Cause::kSleep:
    case Cause::kSignal:
      return kAsleep;
    case Cause::kPageFault:
    case Cause::kReclaim:
    case Cause::kMemoryMap:
      return kForMemory;
    default:
      return kOtherwise;
  }
}

}  // namespace

// A frame is coloured by where most of its time goes: to running, or to one kind of waits. The legend adds up what ran and
// what waited itself, and not what is in frames of a colour. Grey for rows that are no code, as their time is nearly always
// mixed.
Coloring color_by_time(const CallTree& tree, bool reverse) {
  using Times = std::array<std::int64_t, kTimeKinds>;
  std::vector<Times> times(tree.nodes.size());
  // In a reversed tree, what led to a cause stands on it, and is of its kind.
  std::vector<TimeKind> own(tree.nodes.size(), kOnCpu);
  Times all{};
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    own[i] = node.kind == NodeKind::kCause ? kind_of_cause(tree.name(node))
             : reverse                     ? own[node.parent]
                                           : kOnCpu;
    times[i][own[i]] = tree.nodes[i].self;
    all[own[i]] += running(node, reverse);
  }
  for (std::size_t i = tree.nodes.size(); i-- > 1;)  // children before their parents
    for (std::size_t kind = 0; kind < kTimeKinds; ++kind) times[tree.nodes[i].parent][kind] += times[i][kind];
  Painter painter(tree, reverse);
  std::array<std::size_t, kTimeKinds> families{};
  for (std::size_t kind = 0; kind < kTimeKinds; ++kind)
    families[kind] =
        painter.family(std::string(kTimeWords[kind].label),
                       [&](std::vector<ColorClass>& classes) { add_shades(kTimeWords[kind].hue, classes); });
  const std::size_t no_code =
      painter.family("threads", [&](std::vector<ColorClass>& classes) { add_shades(kThreadHue, classes); });
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    const bool code = node.kind != NodeKind::kRoot && node.kind != NodeKind::kThread;
    const auto most =
        static_cast<std::size_t>(std::max_element(times[i].begin(), times[i].end()) - times[i].begin());
    painter.paint(i, !code ? no_code : families[most], tree.name(node));
  }
  for (std::size_t kind = 0; kind < kTimeKinds; ++kind) painter.set_share(families[kind], all[kind]);
  painter.set_share(no_code, -1);
  return painter.finish(
      "Colour: where most of a frame's time goes, to running on a CPU or to one kind of waits. Per cent: of all time, whatever the colour of the frames that it is spent in. Shades only tell neighbours apart.",
      true);
}

}  // namespace fathom::present

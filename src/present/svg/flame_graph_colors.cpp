#include "present/svg/flame_graph_colors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "analysis/core/wait_cause.h"
#include "base/flat_map.h"
#include "base/text.h"
#include "model/nameless_function.h"
#include "present/svg/flame_graph_text.h"

namespace fathom::present {
namespace {

using analysis::CallTree;
using analysis::NodeKind;
using analysis::TreeNode;

struct NamedPalette {
  std::string_view name;
  Palette palette;
};
constexpr std::array<NamedPalette, 17> kPalettes = {{{"module", Palette::kModule},
                                                     {"wall", Palette::kWall},
                                                     {"hot", Palette::kHot},
                                                     {"mem", Palette::kMem},
                                                     {"io", Palette::kIo},
                                                     {"wakeup", Palette::kWakeup},
                                                     {"chain", Palette::kChain},
                                                     {"java", Palette::kJava},
                                                     {"js", Palette::kJs},
                                                     {"perl", Palette::kPerl},
                                                     {"red", Palette::kRed},
                                                     {"green", Palette::kGreen},
                                                     {"blue", Palette::kBlue},
                                                     {"aqua", Palette::kAqua},
                                                     {"yellow", Palette::kYellow},
                                                     {"purple", Palette::kPurple},
                                                     {"orange", Palette::kOrange}}};

// Chosen by searching OKLCH for fills that stay apart for normal, protan and deutan sight (Machado 2009) and
// carry dark text in the light scheme and light text in the dark one; flame_graph_colors_test.cpp checks
// both.
struct Hue {
  char letter;
  Color light, dark;
};
constexpr Hue kThreadHue = {'t', {0xD5, 0xD9, 0xE0}, {0x3B, 0x41, 0x4B}};
constexpr Hue kKernelHue = {'k', {0xE1, 0x92, 0x4B}, {0x77, 0x40, 0x01}};
constexpr Hue kRuntimeHue = {'r', {0xC2, 0xC6, 0xCC}, {0x5B, 0x5F, 0x63}};
constexpr Hue kAllocatorHue = {'m', {0xD7, 0x7E, 0x86}, {0x77, 0x31, 0x3A}};
constexpr Hue kGeneratedHue = {'j', {0x99, 0xEC, 0xB1}, {0x30, 0x75, 0x49}};
constexpr Hue kCauseHue = {'w', {0xF6, 0xD9, 0xC9}, {0x5A, 0x48, 0x40}};
constexpr Hue kUnnamedHue = {'u', {0xF4, 0xF4, 0xF4}, {0x3A, 0x3D, 0x42}};  // hatched
constexpr Hue kOtherHue = {'o', {0xE9, 0xE7, 0xDF}, {0x6E, 0x6D, 0x67}};
constexpr std::array<Hue, 8> kGroupHues = {{{'a', {0x79, 0xBE, 0xF4}, {0x21, 0x5C, 0x86}},
                                            {'b', {0xF3, 0xE4, 0x84}, {0x79, 0x6B, 0x11}},
                                            {'c', {0xAE, 0x84, 0xCF}, {0x5A, 0x38, 0x73}},
                                            {'d', {0x95, 0xE2, 0xF7}, {0x2C, 0x6E, 0x80}},
                                            {'e', {0xBF, 0xCC, 0x6B}, {0x5B, 0x63, 0x01}},
                                            {'f', {0xE1, 0x9B, 0xD3}, {0x77, 0x41, 0x6D}},
                                            {'g', {0x67, 0xB5, 0xAF}, {0x12, 0x5B, 0x57}},
                                            {'h', {0xC7, 0xB1, 0x8C}, {0x65, 0x53, 0x36}}}};

std::uint64_t hash_of(
    std::string_view text) {  // FNV-1a, then mixed so that the low bits are as random as the high ones
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash ^= hash >> 32;
  hash *= 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

Color mix(Color color, Color into, double part) {
  const auto channel = [part](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(a + (b - a) * part + 0.5);
  };
  return {channel(color.red, into.red), channel(color.green, into.green), channel(color.blue, into.blue)};
}

// Neighbours of one owner differ a little, so that where a frame ends can be seen.
void add_shades(const Hue& hue, std::vector<ColorClass>& classes) {
  constexpr Color kWhite = {255, 255, 255};
  constexpr Color kBlack = {0, 0, 0};
  const auto name = [&](int shade) { return std::string(1, hue.letter) + std::to_string(shade); };
  classes.push_back({name(0), hue.light, hue.dark});
  classes.push_back({name(1), mix(hue.light, kWhite, 0.22), mix(hue.dark, kBlack, 0.16)});
  classes.push_back({name(2), mix(hue.light, kBlack, 0.06), mix(hue.dark, kBlack, 0.3)});
}

// What a node adds to the share of its group: what ran in it.
std::int64_t running(const TreeNode& node, bool reverse) {
  return !reverse ? node.self : node.depth == 1 ? node.total : 0;
}

// Gives the nodes the classes of their families: a family is a hue with its shades and one item of the
// legend.
class Painter {
 public:
  Painter(const CallTree& tree, bool reverse) : tree_(tree), reverse_(reverse) {
    result_.of_node.resize(tree.nodes.size(), 0);
  }
  // `shades` classes are added when the family is used for the first time; returns its number.
  template <class AddClasses>
  std::size_t family(const std::string& label, AddClasses add_classes) {
    const std::size_t first = result_.classes.size();
    add_classes(result_.classes);
    families_.push_back({label, static_cast<std::uint16_t>(first),
                         static_cast<std::uint16_t>(result_.classes.size() - first), 0, 0});
    return families_.size() - 1;
  }
  void paint(std::size_t node, std::size_t family, std::string_view shaded_by) {
    paint(node, family, hash_of(shaded_by));
  }
  // The same with hash_of(shaded_by).
  void paint(std::size_t node, std::size_t family, std::uint64_t shade) {
    Family& painted = families_[family];
    result_.of_node[node] = static_cast<std::uint16_t>(painted.first + shade % painted.count);
    painted.self += running(tree_.nodes[node], reverse_);
    ++painted.nodes;
  }
  // What the legend says of the family, where that is not what its nodes ran; below 0: nothing.
  void set_share(std::size_t family, std::int64_t value) { families_[family].self = value; }
  // Families that painted nothing leave no trace.
  Coloring finish(std::string meaning, bool say_shares) {
    std::vector<std::uint16_t> moved(result_.classes.size(), 0);
    std::vector<ColorClass> kept;
    for (const Family& family : families_) {
      if (family.nodes == 0 && family.self <= 0) continue;
      LegendItem item{family.label, {}, -1};
      for (std::uint16_t i = 0; i < family.count; ++i) {
        moved[family.first + i] = static_cast<std::uint16_t>(kept.size());
        item.classes.push_back(static_cast<std::uint16_t>(kept.size()));
        kept.push_back(result_.classes[family.first + i]);
      }
      if (say_shares && tree_.total > 0 && family.self >= 0) {
        item.self_share = static_cast<double>(family.self) / static_cast<double>(tree_.total);
      }
      if (!family.label.empty()) result_.legend.push_back(std::move(item));
    }
    for (std::uint16_t& of_node : result_.of_node) of_node = moved[of_node];
    result_.classes = std::move(kept);
    result_.meaning = std::move(meaning);
    return std::move(result_);
  }

 private:
  struct Family {
    std::string label;
    std::uint16_t first, count;
    std::int64_t self;
    std::size_t nodes;
  };
  const CallTree& tree_;
  bool reverse_;
  std::vector<Family> families_;
  Coloring result_;
};

// The crate or namespace, else the file. Folded text knows neither for a C function.
std::string_view group_of(std::string_view name, std::string_view module) {
  const std::string_view space = namespace_of(name);
  return space.empty() ? base_name(module) : space;
}

Coloring color_by_owner(const CallTree& tree, bool reverse) {
  // Each function once: a large tree has hundreds of nodes of one.
  struct Facts {
    Owner owner = Owner::kCode;
    std::string_view group;
    std::int64_t covered = 0;  // by its nodes together
    std::uint64_t shade = 0;
    std::size_t family = 0;
    bool known = false;
  };
  FlatMap<Facts> of_function;
  const auto facts_of = [&](const TreeNode& node) -> Facts& {
    const std::uint64_t module_and_kind =
        std::uint64_t{node.module} << 4 | static_cast<std::uint8_t>(node.kind);
    Facts& facts = of_function[std::uint64_t{node.name} << 32 ^ module_and_kind];
    if (facts.known) return facts;
    facts.known = true;
    facts.shade = hash_of(tree.name(node));
    facts.owner = model::nameless_function(tree.name(node))
                      ? Owner::kUnknown
                      : owner_of(node, tree.name(node), tree.modules[node.module]);
    if (facts.owner == Owner::kCode) facts.group = group_of(tree.name(node), tree.modules[node.module].name);
    return facts;
  };
  for (const TreeNode& node : tree.nodes) facts_of(node).covered += node.total;
  // The eight groups that cover most of the picture get a hue of their own.
  std::map<std::string_view, std::int64_t> area;
  std::int64_t covered_by_code = 0;
  of_function.for_each([&](std::uint64_t, const Facts& facts) {
    if (facts.owner != Owner::kCode) return;
    covered_by_code += facts.covered;
    if (!facts.group.empty()) area[facts.group] += facts.covered;
  });
  std::vector<std::pair<std::string_view, std::int64_t>> largest(area.begin(), area.end());
  std::stable_sort(largest.begin(), largest.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (largest.size() > kGroupHues.size()) largest.resize(kGroupHues.size());
  // Below a fiftieth of the code, a legend's item is hard to find in the picture.
  while (!largest.empty() && largest.back().second < covered_by_code / 50) largest.pop_back();

  Painter painter(tree, reverse);
  const auto add = [&](const Hue& hue, const std::string& label) {
    return painter.family(label, [&](std::vector<ColorClass>& classes) { add_shades(hue, classes); });
  };
  const std::size_t threads = add(kThreadHue, "");
  // A group asks for the hue that its name hashes to, so it mostly keeps its colour from one picture to the
  // next.
  std::map<std::string_view, std::size_t> of_group;
  std::array<bool, kGroupHues.size()> taken{};
  for (const auto& [group, covered] : largest) {
    std::size_t hue = hash_of(group) % kGroupHues.size();
    while (taken[hue]) hue = (hue + 1) % kGroupHues.size();
    taken[hue] = true;
    of_group[group] = add(kGroupHues[hue], clean_text(group));
  }
  const std::size_t other = add(kOtherHue, largest.empty() ? "program" : "other code");
  const std::size_t runtime = add(kRuntimeHue, "runtime, std and libc");
  const std::size_t allocator = add(kAllocatorHue, "allocator");
  const std::size_t generated = add(kGeneratedHue, "generated code (JIT)");
  const std::size_t kernel = add(kKernelHue, "kernel");
  const std::size_t cause = add(kCauseHue, "reason of a wait");
  const std::size_t unnamed =
      painter.family("no name (stripped, or unknown code)", [](std::vector<ColorClass>& classes) {
        classes.push_back({"u0", kUnnamedHue.light, kUnnamedHue.dark, false, true});
      });
  of_function.for_each([&](std::uint64_t, Facts& facts) {
    std::size_t& family = facts.family = other;
    switch (facts.owner) {
      case Owner::kThread:
        family = threads;
        break;
      case Owner::kKernel:
        family = kernel;
        break;
      case Owner::kRuntime:
        family = runtime;
        break;
      case Owner::kAllocator:
        family = allocator;
        break;
      case Owner::kGenerated:
        family = generated;
        break;
      case Owner::kCause:
        family = cause;
        break;
      case Owner::kUnknown:
        family = unnamed;
        break;
      case Owner::kCode:
        if (const auto found = of_group.find(facts.group); found != of_group.end()) family = found->second;
        break;
    }
  });
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const Facts& facts = facts_of(tree.nodes[i]);
    painter.paint(i, facts.family, facts.shade);
  }
  return painter.finish(std::string("Colour: whose code it is (crate, namespace or file). Per cent: what ") +
                            (model::is_heap(tree.metric) ? "such frames asked for" : "ran in such frames") +
                            " themselves. Shades only tell neighbours apart.",
                        true);
}

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

// The classic palettes. The ranges are those that users know from flamegraph.pl; here each has sixteen fixed
// steps.
Color classic_color(Palette palette, double a, double b) {
  const auto color = [](double red, double green, double blue) {
    return Color{static_cast<std::uint8_t>(red), static_cast<std::uint8_t>(green),
                 static_cast<std::uint8_t>(blue)};
  };
  switch (palette) {
    case Palette::kMem:
      return color(0, 190 + 50 * b, 210 * a);
    case Palette::kIo:
      return color(80 + 60 * a, 80 + 60 * a, 190 + 55 * b);
    case Palette::kRed:
      return color(200 + 55 * a, 50 + 80 * b, 50 + 80 * b);
    case Palette::kGreen:
      return color(50 + 60 * b, 200 + 55 * a, 50 + 60 * b);
    case Palette::kBlue:
    case Palette::kChain:
      return color(80 + 60 * b, 80 + 60 * b, 205 + 50 * a);
    case Palette::kAqua:
    case Palette::kWakeup:
      return color(50 + 60 * b, 165 + 55 * a, 165 + 55 * a);
    case Palette::kYellow:
      return color(175 + 55 * a, 175 + 55 * a, 50 + 20 * b);
    case Palette::kPurple:
      return color(190 + 65 * a, 80 + 60 * b, 190 + 65 * a);
    case Palette::kOrange:
      return color(190 + 65 * a, 90 + 65 * b, 0);
    default:
      return color(205 + 50 * b, 230 * a, 55 * b);
  }
}

std::size_t add_classic(Painter& painter, Palette palette, char letter, const std::string& label) {
  return painter.family(label, [&](std::vector<ColorClass>& classes) {
    for (int i = 0; i < 16; ++i) {
      const Color color = classic_color(palette, (i % 4) / 3.0, (i / 4) / 3.0);
      classes.push_back({std::string(1, letter) + std::to_string(i), color, color, true});
    }
  });
}

Coloring color_classic(const CallTree& tree, Palette palette, bool reverse) {
  Painter painter(tree, reverse);
  const std::size_t flat = add_classic(painter, palette, 'p', "");
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) painter.paint(i, flat, tree.name(tree.nodes[i]));
  return painter.finish(
      "Colour (" + std::string(to_string(palette)) + "): no meaning; it follows from the function's name.",
      false);
}

// Palettes by kind of code, as agents and perf maps name it.
Coloring color_by_kind(const CallTree& tree, Palette palette, bool reverse) {
  Painter painter(tree, reverse);
  const bool chain = palette == Palette::kChain;
  const std::size_t generated =
      add_classic(painter, Palette::kGreen, 'j', palette == Palette::kPerl ? "Perl" : "JIT code");
  const std::size_t inlined = add_classic(painter, Palette::kAqua, 'i',
                                          chain                     ? "waker"
                                          : palette == Palette::kJs ? "builtin"
                                                                    : "inlined");
  const std::size_t cpp = add_classic(painter, Palette::kYellow, 'c', "C++ or Rust");
  const std::size_t kernel = add_classic(painter, Palette::kOrange, 'k', "kernel");
  const std::size_t waiting = add_classic(painter, Palette::kBlue, 'b', "waits");
  const std::size_t system = add_classic(painter, Palette::kRed, 's', "other user code");
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    const std::string_view name = tree.name(node);
    const Owner owner = owner_of(node, name, tree.modules[node.module]);
    const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
    std::size_t family = system;
    if (chain) {
      family = name.ends_with("_[w]") ? inlined : waiting;
    } else if (owner == Owner::kKernel || name.ends_with("_[k]")) {
      family = kernel;
    } else if (palette == Palette::kJs && (name.starts_with("Builtin:") || name.starts_with("Builtins_"))) {
      family = inlined;
    } else if (palette == Palette::kPerl ? has("Perl") || has(".pl")
                                         : owner == Owner::kGenerated || name.ends_with("_[j]")) {
      family = generated;
    } else if (palette != Palette::kJs && (node.kind == NodeKind::kInlined || name.ends_with("_[i]"))) {
      family = inlined;
    } else if (has("::")) {
      family = cpp;
    }
    painter.paint(i, family, name);
  }
  return painter.finish("Colour (" + std::string(to_string(palette)) +
                            "): the kind of code. Shades only tell neighbours apart.",
                        true);
}

}  // namespace

Result<Palette> palette_from(std::string_view name) {
  for (const NamedPalette& known : kPalettes) {
    if (known.name == name) return known.palette;
  }
  return fail(ErrorKind::kUsage, "no palette is called \"" + clean_text(name) + "\"",
              "--colors with one of: " + palette_names());
}

std::string_view to_string(Palette palette) {
  for (const NamedPalette& known : kPalettes) {
    if (known.palette == palette) return known.name;
  }
  return "";
}

std::string palette_names() {
  std::string names;
  for (const NamedPalette& known : kPalettes) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

std::string to_string(Color color) {
  return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue);
}

Coloring color_tree(const CallTree& tree, Palette palette, bool reverse) {
  switch (palette) {
    case Palette::kModule:
      return color_by_owner(tree, reverse);
    case Palette::kWall:
      return color_by_time(tree, reverse);
    case Palette::kChain:
    case Palette::kJava:
    case Palette::kJs:
    case Palette::kPerl:
      return color_by_kind(tree, palette, reverse);
    default:
      return color_classic(tree, palette, reverse);
  }
}

}  // namespace fathom::present

// The hues of a flame graph, and who gives them to its nodes: families of classes, each with an item of the legend.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/core/call_tree.h"
#include "present/svg/flame_graph_colors.h"

namespace fathom::present {

// Chosen by searching OKLCH for fills that stay apart for normal, protan and deutan sight (Machado 2009) and
// carry dark text in the light scheme and light text in the dark one; flame_graph_colors_test.cpp checks
// both.
struct Hue {
  char letter;
  Color light, dark;
};
inline constexpr Hue kThreadHue = {'t', {0xD5, 0xD9, 0xE0}, {0x3B, 0x41, 0x4B}};
inline constexpr Hue kKernelHue = {'k', {0xE1, 0x92, 0x4B}, {0x77, 0x40, 0x01}};
inline constexpr Hue kRuntimeHue = {'r', {0xC2, 0xC6, 0xCC}, {0x5B, 0x5F, 0x63}};
inline constexpr Hue kAllocatorHue = {'m', {0xD7, 0x7E, 0x86}, {0x77, 0x31, 0x3A}};
inline constexpr Hue kGeneratedHue = {'j', {0x99, 0xEC, 0xB1}, {0x30, 0x75, 0x49}};
inline constexpr Hue kCauseHue = {'w', {0xF6, 0xD9, 0xC9}, {0x5A, 0x48, 0x40}};
inline constexpr Hue kUnnamedHue = {'u', {0xF4, 0xF4, 0xF4}, {0x3A, 0x3D, 0x42}};  // hatched
inline constexpr Hue kOtherHue = {'o', {0xE9, 0xE7, 0xDF}, {0x6E, 0x6D, 0x67}};
inline constexpr std::array<Hue, 8> kGroupHues = {{{'a', {0x79, 0xBE, 0xF4}, {0x21, 0x5C, 0x86}},
                                                   {'b', {0xF3, 0xE4, 0x84}, {0x79, 0x6B, 0x11}},
                                                   {'c', {0xAE, 0x84, 0xCF}, {0x5A, 0x38, 0x73}},
                                                   {'d', {0x95, 0xE2, 0xF7}, {0x2C, 0x6E, 0x80}},
                                                   {'e', {0xBF, 0xCC, 0x6B}, {0x5B, 0x63, 0x01}},
                                                   {'f', {0xE1, 0x9B, 0xD3}, {0x77, 0x41, 0x6D}},
                                                   {'g', {0x67, 0xB5, 0xAF}, {0x12, 0x5B, 0x57}},
                                                   {'h', {0xC7, 0xB1, 0x8C}, {0x65, 0x53, 0x36}}}};

inline std::uint64_t hash_of(
    std::string_view text) {  // FNV-1a, then mixed so that the low bits are as random as the high ones
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash ^= hash >> 32;
  hash *= 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

inline Color mix(Color color, Color into, double part) {
  const auto channel = [part](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(a + (b - a) * part + 0.5);
  };
  return {channel(color.red, into.red), channel(color.green, into.green), channel(color.blue, into.blue)};
}

// Neighbours of one owner differ a little, so that where a frame ends can be seen.
inline void add_shades(const Hue& hue, std::vector<ColorClass>& classes) {
  constexpr Color kWhite = {255, 255, 255};
  constexpr Color kBlack = {0, 0, 0};
  const auto name = [&](int shade) { return std::string(1, hue.letter) + std::to_string(shade); };
  classes.push_back({name(0), hue.light, hue.dark});
  classes.push_back({name(1), mix(hue.light, kWhite, 0.22), mix(hue.dark, kBlack, 0.16)});
  classes.push_back({name(2), mix(hue.light, kBlack, 0.06), mix(hue.dark, kBlack, 0.3)});
}

// What a node adds to the share of its group: what ran in it.
inline std::int64_t running(const analysis::TreeNode& node, bool reverse) {
  return !reverse ? node.self : node.depth == 1 ? node.total : 0;
}

// Gives the nodes the classes of their families: a family is a hue with its shades and one item of the
// legend.
class Painter {
 public:
  Painter(const analysis::CallTree& tree, bool reverse) : tree_(tree), reverse_(reverse) {
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
  const analysis::CallTree& tree_;
  bool reverse_;
  std::vector<Family> families_;
  Coloring result_;
};

}  // namespace fathom::present

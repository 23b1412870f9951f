#include "present/svg/flame_graph_colors.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <set>

#include "present/svg/flame_graph_testing.h"

namespace fathom::present {
namespace {

Owner owner(std::string_view name, analysis::NodeKind kind = analysis::NodeKind::kUser,
            std::string module = "app", model::ModuleKind module_kind = model::ModuleKind::kFile) {
  analysis::TreeNode node;
  node.kind = kind;
  analysis::TreeModule of;
  of.name = std::move(module);
  of.kind = module_kind;
  return owner_of(node, name, of);
}

TEST(FlameGraphColors, TheOwnerOfARustFunctionIsItsCrate) {
  EXPECT_EQ(namespace_of("reth_evm::execute"), "reth_evm");
  EXPECT_EQ(namespace_of("reth_evm::execute::<revm::Db>"), "reth_evm");
  EXPECT_EQ(namespace_of("tokio::runtime::task::raw::poll"), "tokio");
  EXPECT_EQ(namespace_of("<reth_pool::Pool as core::fmt::Debug>::fmt"), "reth_pool");
  EXPECT_EQ(namespace_of("<&mut reth_pool::Pool<T> as reth_api::Api>::go"), "reth_pool");
  EXPECT_EQ(namespace_of("<alloc::vec::Vec<T> as reth_codec::Encode>::encode"), "reth_codec")
      << "the orphan rule";
  EXPECT_EQ(namespace_of("<T as reth_codec::Encode>::encode"), "reth_codec");
  EXPECT_EQ(namespace_of("<(u8, u16) as rlp::Encodable>::encode"), "rlp");
  EXPECT_EQ(namespace_of("<fn() -> u8 as callbacks::Call>::call"), "callbacks");
  EXPECT_EQ(namespace_of("<reth_db::Table>::open"), "reth_db");
  EXPECT_EQ(namespace_of("<<reth_db::T as core::clone::Clone>::clone::Guard as core::ops::Drop>::drop"),
            "reth_db");
  EXPECT_EQ(namespace_of("core::ops::function::FnOnce::call_once{{vtable.shim}}"), "core");
}

TEST(FlameGraphColors, TheOwnerOfACppFunctionIsItsNamespace) {
  EXPECT_EQ(namespace_of("rocksdb::DBImpl::Get(rocksdb::ReadOptions const&)"), "rocksdb");
  EXPECT_EQ(namespace_of("std::enable_if<true, int>::type rocksdb::f<int>(int)"), "rocksdb");
  EXPECT_EQ(namespace_of("void (anonymous namespace)::go<llvm::Value>()"), "");
  EXPECT_EQ(namespace_of("llvm::(anonymous namespace)::go()"), "llvm");
  EXPECT_EQ(namespace_of("non-virtual thunk to llvm::X::y()"), "llvm");
  EXPECT_EQ(namespace_of("llvm::operator<<(llvm::raw_ostream&, int)"), "llvm");
  EXPECT_EQ(namespace_of("bool operator==<fmt::v9::X>(int, int)"), "");
  EXPECT_EQ(namespace_of("Parser::parse(int)"), "") << "a class is no owner";
  EXPECT_EQ(namespace_of("main"), "");
  for (const char* odd :
       {"", "<", "<<", ">", "::", "a::", "<a", "< as ", "(", "operator", "a b", " ", "<>", "&&&"})
    namespace_of(odd);
}

TEST(FlameGraphColors, KernelRuntimeAllocatorAndGeneratedCodeAreTheirOwn) {
  using analysis::NodeKind;
  EXPECT_EQ(owner("do_syscall_64", NodeKind::kKernel), Owner::kKernel);
  EXPECT_EQ(owner("worker", NodeKind::kThread), Owner::kThread);
  EXPECT_EQ(owner("[unknown+0x1]", NodeKind::kOther), Owner::kUnknown);
  EXPECT_EQ(owner("malloc", NodeKind::kUser, "libc.so.6"), Owner::kAllocator) << "not libc's runtime";
  EXPECT_EQ(owner("malloc@plt"), Owner::kAllocator);
  EXPECT_EQ(owner("operator new(unsigned long)", NodeKind::kUser, "libstdc++.so.6"), Owner::kAllocator);
  EXPECT_EQ(owner("_rjem_je_arena_ralloc"), Owner::kAllocator);
  EXPECT_EQ(owner("anything", NodeKind::kUser, "/usr/lib/libjemalloc.so.2"), Owner::kAllocator);
  EXPECT_EQ(owner("__memmove_avx_unaligned", NodeKind::kUser, "libc.so.6"), Owner::kRuntime);
  EXPECT_EQ(owner("core::fmt::write"), Owner::kRuntime);
  EXPECT_EQ(owner("<alloc::string::String as core::fmt::Write>::write_str"), Owner::kRuntime);
  EXPECT_EQ(owner("std::vector<int>::push_back(int)"), Owner::kRuntime);
  EXPECT_EQ(owner("__gthread_mutex_lock(pthread_mutex_t*)"), Owner::kRuntime) << "inlined into the program";
  EXPECT_EQ(owner("LazyCompile:*run app.js:3"), Owner::kGenerated);
  EXPECT_EQ(owner("Ljava/lang/String;::hashCode"), Owner::kGenerated);
  EXPECT_EQ(owner("f", NodeKind::kUser, "[anonymous]", model::ModuleKind::kAnonymous), Owner::kGenerated);
  EXPECT_EQ(owner("reth_evm::execute"), Owner::kCode);
  EXPECT_EQ(owner("freeze_things"), Owner::kCode);
}

TEST(FlameGraphColors, UnknownPalettesAreRefusedWithTheList) {
  EXPECT_EQ(palette_from("hot").value(), Palette::kHot);
  const auto refused = palette_from("rainbow");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
  EXPECT_NE(refused.error().message.find("rainbow"), std::string::npos);
  for (const char* name : {"module", "wall", "hot", "mem", "io", "wakeup", "chain", "java", "js", "perl",
                           "red", "green", "blue", "aqua", "yellow", "purple", "orange"}) {
    EXPECT_NE(refused.error().remedy.find(name), std::string::npos) << name;
    EXPECT_EQ(to_string(palette_from(name).value()), name);
  }
}

const Folded kMixed = {{"t;main;alpha::run;std::sort;work", 40},
                       {"t;main;beta::run;malloc[libc.so.6]", 30},
                       {"t;main;sys_read_[k];copy_[k]", 20},
                       {"t;main;gen_[j]", 9},
                       {"t;main;<T as gamma::Go>::go", 1}};

TEST(FlameGraphColors, TheLegendNamesWhatIsInThePictureWithWhatRanThere) {
  const Coloring coloring = color_tree(tree_of(kMixed), Palette::kModule, false);
  std::map<std::string, double> shares;
  for (const LegendItem& item : coloring.legend) shares[item.label] = item.self_share;
  EXPECT_EQ(shares, (std::map<std::string, double>{{"app", 0.4},
                                                   {"alpha", 0},
                                                   {"beta", 0},
                                                   {"other code", 0.01},
                                                   {"runtime, std and libc", 0},
                                                   {"allocator", 0.3},
                                                   {"kernel", 0.2},
                                                   {"generated code (JIT)", 0.09}}));
}

TEST(FlameGraphColors, AFunctionOfAStrippedProgramIsNoCodeOfTheProgram) {
  const Coloring coloring =
      color_tree(tree_of({{"t;main;app@fde+0x1c20", 60}, {"t;main", 40}}), Palette::kModule, false);
  std::map<std::string, double> shares;
  for (const LegendItem& item : coloring.legend) shares[item.label] = item.self_share;
  EXPECT_EQ(shares,
            (std::map<std::string, double>{{"app", 0.4}, {"no name (stripped, or unknown code)", 0.6}}));
}

analysis::CallTree with_causes(const Folded& stacks) {
  analysis::CallTree tree = tree_of(stacks);
  for (analysis::TreeNode& node : tree.nodes)
    if (tree.name(node).starts_with('[') || tree.name(node).starts_with('('))
      node.kind = analysis::NodeKind::kCause;
  return tree;
}
std::map<std::string, double> shares_of(const Coloring& coloring) {
  std::map<std::string, double> shares;
  for (const LegendItem& item : coloring.legend) shares[item.label] = item.self_share;
  return shares;
}

TEST(FlameGraphColors, OfWallSeparateWaitingFromRunning) {
  const analysis::CallTree tree = with_causes({{"t;main;work", 40},
                                               {"t;main;lock;[wait: futex]", 25},
                                               {"t;main;both;run", 5},
                                               {"t;main;both;[wait: futex]", 30}});
  const Coloring coloring = color_tree(tree, Palette::kWall, false);
  EXPECT_EQ(shares_of(coloring),
            (std::map<std::string, double>{
                {"on a CPU", 0.45}, {"locks and other threads", 0.55}, {"threads", -1}}));
  const auto is_cool = [&](std::string_view name) {
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const Color fill = coloring.classes[coloring.of_node[i]].light;
      if (tree.name(tree.nodes[i]) == name) return fill.blue > fill.red;
    }
    return false;
  };
  EXPECT_FALSE(is_cool("work"));
  EXPECT_FALSE(is_cool("run"));
  EXPECT_TRUE(is_cool("lock"));
  EXPECT_TRUE(is_cool("[wait: futex]"));
  EXPECT_TRUE(is_cool("both"));  // mostly
}

// A frame that mostly waits also runs: its time on a CPU was booked as waiting, 6.2 % where 25.5 % was true.
TEST(FlameGraphColors, OfWallAddUpWhatRanAndNotTheColourOfFrames) {
  const analysis::CallTree tree = with_causes({{"t;main;serve", 25},
                                               {"t;main;serve;[wait: futex]", 60},
                                               {"t;main;serve;[run queue]", 10},
                                               {"t;main", 5}});
  EXPECT_EQ(shares_of(color_tree(tree, Palette::kWall, false)),
            (std::map<std::string, double>{
                {"on a CPU", 0.3}, {"run queue", 0.1}, {"locks and other threads", 0.6}, {"threads", -1}}));
}

TEST(FlameGraphColors, OfWallDistinguishKindsOfWaits) {
  const analysis::CallTree tree = with_causes({{"t;a;[run queue]", 10},
                                               {"t;b;[wait: futex]", 10},
                                               {"t;c;[wait: file sync]", 10},
                                               {"t;d;[wait: socket]", 10},
                                               {"t;e;[wait: sleep]", 10},
                                               {"t;f;[wait: page fault]", 10},
                                               {"t;g;[wait: child]", 10},
                                               {"t;h;(idle: tokio worker)", 10},
                                               {"t;i", 20}});
  const Coloring coloring = color_tree(tree, Palette::kWall, false);
  std::map<std::string, std::string> fills;  // of a-i
  for (std::size_t i = 0; i < tree.nodes.size(); ++i)
    if (tree.name(tree.nodes[i]).size() == 1 && tree.nodes[i].depth == 2)
      fills[tree.name(tree.nodes[i])] = coloring.classes[coloring.of_node[i]].name.substr(0, 1);
  std::set<std::string> different;
  for (const auto& [name, fill] : fills) different.insert(fill);
  EXPECT_EQ(fills.size(), 9u);
  EXPECT_EQ(different.size(), 9u);
  double sum = 0;
  for (const auto& [label, share] : shares_of(coloring)) sum += std::max(share, 0.0);
  EXPECT_DOUBLE_EQ(sum, 1);
}

TEST(FlameGraphColors, EveryNodeHasAClassAndTheSameTreeTheSameColours) {
  const analysis::CallTree tree = tree_of(kMixed);
  for (const char* name :
       {"module", "wall", "hot", "mem", "io", "wakeup", "chain", "java", "js", "perl", "red"}) {
    const Coloring coloring = color_tree(tree, palette_from(name).value(), false);
    ASSERT_EQ(coloring.of_node.size(), tree.nodes.size());
    for (const std::uint16_t row : coloring.of_node) EXPECT_LT(row, coloring.classes.size());
    std::set<std::string> names;
    for (const ColorClass& color : coloring.classes) names.insert(color.name);
    EXPECT_EQ(names.size(), coloring.classes.size()) << name;
    EXPECT_EQ(color_tree(tree, palette_from(name).value(), false).of_node, coloring.of_node);
    EXPECT_FALSE(coloring.meaning.empty());
  }
}

// ---- Sight: OKLab (Ottosson 2020) distances, also as seen without red or green cones (Machado 2009) ----

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

Vector linear(Color color) {
  const auto channel = [](std::uint8_t value) {
    const double c = value / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return {channel(color.red), channel(color.green), channel(color.blue)};
}

Vector times(const Matrix& matrix, const Vector& v) {
  Vector out{};
  for (std::size_t i = 0; i < 3; ++i)
    out[i] = matrix[i][0] * v[0] + matrix[i][1] * v[1] + matrix[i][2] * v[2];
  return out;
}

double difference(Color a, Color b, const Matrix& sight) {
  constexpr Matrix kCones = {{{0.4122214708, 0.5363325363, 0.0514459929},
                              {0.2119034982, 0.6806995451, 0.1073969566},
                              {0.0883024619, 0.2817188376, 0.6299787005}}};
  constexpr Matrix kLab = {{{0.2104542553, 0.7936177850, -0.0040720468},
                            {1.9779984951, -2.4285922050, 0.4505937099},
                            {0.0259040371, 0.7827717662, -0.8086757660}}};
  const auto lab = [&](Color color) {
    Vector cones = times(kCones, times(sight, linear(color)));
    for (double& c : cones) c = std::cbrt(c);
    return times(kLab, cones);
  };
  const Vector x = lab(a);
  const Vector y = lab(b);
  return 100 * std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}

double contrast(Color a, Color b) {  // WCAG 2
  const auto luminance = [](Color color) {
    const Vector c = linear(color);
    return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
  };
  const double x = luminance(a);
  const double y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

// A tree with every hue: more groups than there are hues for, and all the others.
Coloring all_hues() {
  Folded stacks;
  for (char c = 'a'; c < 'm'; ++c) stacks.push_back({"t;ns_" + std::string(1, c) + "::f", 100 - c % 12});
  for (const auto& stack : kMixed) stacks.push_back(stack);
  return color_tree(tree_of(stacks), Palette::kModule, false);
}

TEST(FlameGraphColors, OwnersStayApartForEveryKindOfSight) {
  constexpr Matrix kNormal = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  constexpr Matrix kProtan = {
      {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
  constexpr Matrix kDeutan = {
      {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};
  const Coloring coloring = all_hues();
  EXPECT_GE(coloring.legend.size(), 13u);
  for (std::size_t i = 0; i < coloring.legend.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const ColorClass& a = coloring.classes[coloring.legend[i].classes[0]];
      const ColorClass& b = coloring.classes[coloring.legend[k].classes[0]];
      const std::string pair = coloring.legend[i].label + " and " + coloring.legend[k].label;
      EXPECT_GE(difference(a.light, b.light, kNormal), 8) << pair;
      EXPECT_GE(difference(a.light, b.light, kProtan), 5) << pair;
      EXPECT_GE(difference(a.light, b.light, kDeutan), 5) << pair;
      EXPECT_GE(difference(a.dark, b.dark, kNormal), 5) << pair;
    }
  }
}

TEST(FlameGraphColors, TextIsReadableOnEveryFill) {
  for (const ColorClass& color : all_hues().classes) {
    EXPECT_GE(contrast(color.light, {0x14, 0x17, 0x1B}), 4.5) << color.name;
    EXPECT_GE(contrast(color.dark, {0xF4, 0xF5, 0xF7}), 4.5) << color.name;
  }
}

}  // namespace
}  // namespace fathom::present

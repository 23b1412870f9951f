#include "analysis/annotate/annotation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "binary/elf/module_file.h"

namespace fathom::annotate {
namespace {

using testing::HasSubstr;

// A recording of the program of testdata, made by hand: samples at places that its symbols and lines give.
class AnnotationTest : public testing::Test {
 protected:
  AnnotationTest() : builder_(profile_) {
    auto file = elf::ModuleFile::open(HOT_LINE);
    if (!file) throw std::runtime_error(file.error().message);
    for (const elf::Symbol& symbol : file->elf().symbols(elf::SymbolTable::kSymtab))
      if (symbol.size != 0) symbols_[std::string(symbol.name)] = symbol;
    identity_ = file->elf().identity();
    profile_.processes.push_back({});
    profile_.threads.push_back({});
    profile_.meta.end_ns = 1'000'000'000;
  }
  void module(const std::string& path, const std::string& identity) {
    module_ = builder_.module({model::ModuleKind::kFile,
                               builder_.string("hot_line"),
                               builder_.string(path),
                               builder_.string(identity),
                               {},
                               {}});
  }
  model::FrameId frame(std::uint64_t address, std::vector<model::Builder::NamedLine> lines) {
    const model::FrameId id = builder_.frame(module_, {address});
    builder_.name_frame(id, lines);
    return id;
  }
  void sample(const std::vector<model::FrameId>& root_first, std::int64_t value) {
    model::StackId stack{0};
    for (const model::FrameId id : root_first) stack = builder_.stack(stack, id);
    model::Sample row;
    row.value = value;
    row.stack = stack;
    profile_.samples.push_back(row);
  }
  std::uint64_t at(const std::string& function) const { return symbols_.at(function).address.value; }
  Annotation annotated(const std::string& pattern, const std::string& symbols = {}) {
    AnnotateOptions options;
    options.pattern = pattern;
    options.names.symbol_directory = symbols;
    auto annotation = annotate(profile_, {}, options);
    EXPECT_TRUE(annotation) << annotation.error().message;
    return annotation ? *annotation : Annotation{};
  }
  // The instruction that fits, of the only block.
  static const CodeInstruction* find(const Annotation& annotation, std::string_view part) {
    for (const CodeInstruction& row : annotation.blocks.at(0).instructions)
      if (row.text.find(part) != std::string::npos) return &row;
    return nullptr;
  }
  model::Profile profile_;
  model::Builder builder_;
  model::ModuleId module_;
  std::string identity_;
  std::map<std::string, elf::Symbol> symbols_;
};

TEST_F(AnnotationTest, CostsStandAtTheirInstructionsAndLines) {
  module(HOT_LINE, identity_);
  // The code itself shows which instruction multiplies and which one calls.
  sample({frame(at("spend"), {{"spend", "", 0}})}, 1);
  const Annotation blank = annotated("spend");
  const CodeInstruction* multiply = find(blank, "imul");
  const CodeInstruction* call = find(blank, "call");
  ASSERT_TRUE(multiply != nullptr && call != nullptr);
  EXPECT_THAT(call->text, HasSubstr("<twice>"));

  sample({frame(multiply->address.value, {{"spend", "", 0}})}, 70);
  // A return address is asked one byte before it: inside of the call.
  const auto caller = frame(call->address.value + call->size - 1, {{"spend", "", 0}});
  sample({caller, frame(at("twice"), {{"twice", "", 0}})}, 9);
  const Annotation annotation = annotated("spend");
  EXPECT_EQ(annotation.cost, (Cost{71, 80}));
  ASSERT_EQ(annotation.blocks.size(), 1U);
  EXPECT_EQ(annotation.blocks[0].size, symbols_["spend"].size);
  EXPECT_EQ(find(annotation, "imul")->cost, (Cost{70, 70}));
  EXPECT_EQ(find(annotation, "call")->cost, (Cost{0, 9}));
  // Inlined: the line of the inlined function, within its host.
  const auto& chain = find(annotation, "imul")->chain;
  ASSERT_EQ(chain.size(), 2U);
  EXPECT_EQ(chain[0], (CodeLine{"mixed", HOT_LINE_SOURCE, 3}));
  EXPECT_EQ(chain[1], (CodeLine{"spend", HOT_LINE_SOURCE, 14}));
  ASSERT_FALSE(annotation.lines.empty());
  EXPECT_EQ(annotation.lines[0].at.line, 3U);
  EXPECT_EQ(annotation.lines[0].cost, (Cost{70, 70}));
  EXPECT_THAT(annotation.lines[0].text, HasSubstr("2654435761u"));
  EXPECT_THAT(annotation.sources.at(HOT_LINE_SOURCE).at(14), HasSubstr("mixed(i ^ sum)"));
  std::int64_t self = 0;
  for (const CodeInstruction& row : annotation.blocks[0].instructions) self += row.cost.self;
  EXPECT_EQ(self, annotation.cost.self) << "nothing is lost between instructions";
}

TEST_F(AnnotationTest, OfAnInlinedFunctionOnlyItsOwnInstructions) {
  module(HOT_LINE, identity_);
  sample({frame(at("spend"), {{"spend", "", 0}})}, 1);
  const CodeInstruction multiply = *find(annotated("spend"), "imul");
  sample({frame(multiply.address.value, {{"mixed", "", 0}, {"spend", "", 0}})}, 5);
  const Annotation annotation = annotated("mixed");
  ASSERT_EQ(annotation.blocks.size(), 1U);
  EXPECT_TRUE(annotation.blocks[0].inlined);
  EXPECT_EQ(annotation.cost, (Cost{5, 5}));
  EXPECT_EQ(find(annotation, "call"), nullptr) << "the call is of the host";
  ASSERT_NE(find(annotation, "imul"), nullptr);
  EXPECT_EQ(find(annotation, "imul")->cost.self, 5);
}

TEST_F(AnnotationTest, AnotherBuildIsReportedAndItsCodeIsNotShown) {
  module(HOT_LINE, "00112233445566778899");
  sample({frame(at("spend") + 4, {{"spend", "hot_line.c", 14}})}, 3);
  const Annotation annotation = annotated("spend");
  ASSERT_EQ(annotation.blocks.size(), 1U);
  EXPECT_THAT(annotation.blocks[0].gap, HasSubstr("another build"));
  ASSERT_EQ(annotation.blocks[0].instructions.size(), 1U);
  EXPECT_EQ(annotation.blocks[0].instructions[0].text, "");
  EXPECT_EQ(annotation.blocks[0].instructions[0].cost, (Cost{3, 3}));
  ASSERT_EQ(annotation.lines.size(), 1U);
  EXPECT_EQ(annotation.lines[0].at.line, 14U) << "as it was recorded";
}

TEST_F(AnnotationTest, AMissingFileIsReported) {
  module("/nowhere/hot_line", identity_);
  sample({frame(at("spend"), {{"spend", "", 0}})}, 3);
  EXPECT_THAT(annotated("spend").blocks.at(0).gap, HasSubstr("is not on this machine"));
}

TEST_F(AnnotationTest, StrippedCodeHasInstructionsAndATwinNamesThem) {
  module(std::string(HOT_LINE) + "_stripped", identity_);
  const std::string pseudo = fmt::format("hot_line_stripped@0x{:x}", at("spend"));
  sample({frame(at("spend"), {{pseudo, "", 0}})}, 3);
  const Annotation bare = annotated(pseudo);
  ASSERT_EQ(bare.blocks.size(), 1U);
  EXPECT_NE(find(bare, "imul"), nullptr) << "its bounds are in its call frame information";
  EXPECT_EQ(find(bare, "imul")->chain.back().line, 0U);
  const Annotation named = annotated(pseudo, std::filesystem::path(HOT_LINE).parent_path().string());
  ASSERT_NE(find(named, "imul"), nullptr);
  EXPECT_EQ(find(named, "imul")->chain.front().line, 3U);
}

TEST_F(AnnotationTest, TheKernelHasNoFile) {
  module_ = builder_.module({model::ModuleKind::kKernel, builder_.string("[kernel]"), {}, {}, {}, {}});
  sample({frame(0xffffffff81000000, {{"do_work", "", 0}})}, 3);
  EXPECT_THAT(annotated("do_work").blocks.at(0).gap, HasSubstr("kernel"));
}

}  // namespace
}  // namespace fathom::annotate

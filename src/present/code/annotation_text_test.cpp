#include "present/code/annotation_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "present/code/annotation_json.h"

namespace fathom::present {
namespace {

using annotate::Annotation;
using annotate::CodeBlock;
using annotate::CodeInstruction;
using testing::HasSubstr;
using testing::Not;

// hot(): 12 instructions, of which the sixth has most, in an inlined call; the last one calls.
Annotation hand_made() {
  Annotation annotation;
  annotation.functions = {"hot"};
  annotation.cost = {80, 100};
  annotation.all = 200;
  annotation.unit = "samples";
  annotation.effective_samples = 200;
  CodeBlock block;
  block.function = "hot";
  block.module = "prog";
  block.path = "/prog";
  block.start = {0x1000};
  block.size = 48;
  block.cost = {80, 100};
  for (std::uint64_t i = 0; i < 12; ++i) {
    CodeInstruction row{{0x1000 + 4 * i}, 4, "nop", {}, {{"hot", "/src/hot.c", 10}}};
    if (i == 5) {
      row.text = "imul eax, edi";
      row.cost = {80, 80};
      row.chain = {{"square", "/src/math.h", 3}, {"hot", "/src/hot.c", 12}};
    }
    if (i == 11) {
      row.text = "call 0x2000 <leaf>";
      row.cost = {0, 20};
      row.chain = {{"hot", "/src/hot.c", 14}};
    }
    block.instructions.push_back(row);
  }
  annotation.blocks.push_back(block);
  annotation.lines.push_back({{"square", "/src/math.h", 3}, {80, 80}, "  return x * x;"});
  annotation.lines.push_back({{"hot", "/src/hot.c", 14}, {0, 20}, ""});
  annotation.sources["/src/math.h"][3] = "  return x * x;";
  annotation.notes = {"/src/hot.c is not on this machine, or may not be read"};
  return annotation;
}

TEST(AnnotationText, TheHottestLineComesFirst) {
  const std::string text = annotation_text(hand_made(), {}, true);
  const std::size_t first = text.find("100.0 % of its own cost is at math.h:3 `return x * x;`.");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_LT(first, text.find("hot in prog, at 0x1000, 48 bytes"));
  EXPECT_THAT(text, HasSubstr("hot: 50.0 % of 200 samples, 40.0 % in its own code"));
  EXPECT_THAT(text, HasSubstr("20.0 % is in what hot.c:14 calls."));
  EXPECT_THAT(text, HasSubstr("/src/hot.c is not on this machine"));
}

TEST(AnnotationText, InstructionsHaveSharesAndInlinedFramesAreNamed) {
  const std::string text = annotation_text(hand_made(), {}, true);
  EXPECT_THAT(text, HasSubstr("  100.0    40.0             1014    imul eax, edi\n")) << text;
  EXPECT_THAT(text, HasSubstr("                   10.0     102c  call 0x2000 <leaf>\n")) << text;
  EXPECT_THAT(text, HasSubstr("  ↳ square  math.h:3  return x * x;\n"));
}

TEST(AnnotationText, WhatHasNoCostIsFoldedUnlessAllIsAskedFor) {
  const std::string folded = annotation_text(hand_made(), {}, true);
  EXPECT_THAT(folded, HasSubstr("⋯ 3 instructions without cost"));
  EXPECT_THAT(folded, Not(HasSubstr("1000  nop")));
  const std::string all = annotation_text(hand_made(), {}, false);
  EXPECT_THAT(all, Not(HasSubstr("without cost")));
  EXPECT_THAT(all, HasSubstr("1000  nop"));
}

TEST(AnnotationText, WithoutCodeTheReasonAndTheRecordedLines) {
  Annotation annotation = hand_made();
  annotation.blocks[0].gap = "/prog is not on this machine";
  for (CodeInstruction& row : annotation.blocks[0].instructions) row.text.clear(), row.size = 0;
  const std::string text = annotation_text(annotation, {}, true);
  EXPECT_THAT(text, HasSubstr("  /prog is not on this machine.\n"));
  EXPECT_THAT(text, HasSubstr("1014    square\n")) << text;
}

TEST(AnnotationText, HostileTextIsHarmless) {
  Annotation annotation = hand_made();
  annotation.blocks[0].function = annotation.functions[0] = "f\x1b[2J";
  annotation.sources["/src/math.h"][3] = "\x1b]0;title\x07 x";
  annotation.lines[0].text = "\x1b[31m";
  const std::string text = annotation_text(annotation, {}, true);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
}

TEST(AnnotationJson, HasTheSameNumbers) {
  const auto json = nlohmann::json::parse(to_json(hand_made()));
  EXPECT_EQ(json["fathom_annotation"], 1);
  EXPECT_EQ(json["self"], 80);
  EXPECT_EQ(json["blocks"][0]["instructions"][5]["self"], 80);
  EXPECT_EQ(json["blocks"][0]["instructions"][5]["chain"][0]["function"], "square");
  EXPECT_EQ(json["sources"]["/src/math.h"]["3"], "  return x * x;");
}

}  // namespace
}  // namespace fathom::present

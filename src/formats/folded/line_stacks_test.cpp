#include "formats/folded/line_stacks.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

namespace fathom::formats {
namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> parts(1);
  for (const char c : line) {
    if (c == ';') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

model::StackId stack_of_line(LineStacks& stacks, std::string_view line, const Parts& parts,
                             std::size_t first) {
  model::StackId found{0};
  stacks.add(line, parts, first);
  stacks.find([&](model::StackId stack) { found = stack; });
  return found;
}

std::string name_of(const model::Profile& profile, model::FrameId id) {
  const model::Frame& frame = profile.frames[id.value];
  std::string name;
  for (std::uint32_t i = frame.line_count; i-- > 0;) {
    const model::Function& function = profile.functions[profile.lines[frame.first_line + i].function.value];
    name += (name.empty() ? "" : ";") + std::string(profile.strings[function.name]);
  }
  return name;
}
std::string stack_of(const model::Profile& profile, model::StackId id) {
  std::string text;
  for (; id.value != 0; id = profile.stacks[id.value].parent)
    text = name_of(profile, profile.stacks[id.value].frame) + (text.empty() ? "" : ";") + text;
  return text;
}

// Lines of few names, so that many stacks begin alike. Several texts are the same frame: "" and "[unknown]", "b" and "b_[i]"
// where nothing is above it.
std::string random_line(std::mt19937& random) {
  static constexpr const char* kNames[] = {"a", "b", "c", "", "[unknown]", "b_[i]", "a_[k]", "c_[j]"};
  std::string line = "thread";
  for (auto depth = random() % 8; depth-- > 0;) line += std::string(";") + kNames[random() % 8];
  return line;
}

std::string without_suffixes(std::string text) {
  for (const char* suffix : {"_[k]", "_[i]", "_[j]"})
    for (std::size_t at; (at = text.find(suffix)) != text.npos;) text.erase(at, 4);
  return text;
}

std::string expected_of(const std::string& line) {
  std::string text;
  const std::vector<std::string> parts = split(line);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string name = without_suffixes(parts[i]);
    text += (i == 1 ? "" : ";") + (name.empty() ? "[unknown]" : name);
  }
  return text;
}

TEST(LineStacks, EveryLineHasItsStackAndEveryStackIsThereOnce) {
  std::mt19937 random(1);
  model::Profile profile;
  model::Builder builder(profile);
  LineStacks stacks(profile, builder);
  Parts parts;
  std::map<std::string, std::uint32_t> known;
  for (int i = 0; i < 10'000; ++i) {
    const std::string line = random_line(random);
    parts.cut(line);
    const model::StackId stack = stack_of_line(stacks, line, parts, 1);
    ASSERT_EQ(stack_of(profile, stack), expected_of(line));
    ASSERT_EQ(known.try_emplace(line, stack.value).first->second, stack.value) << line;
  }
  std::set<std::pair<std::uint32_t, std::uint32_t>> rows;
  for (std::size_t i = 1; i < profile.stacks.size(); ++i) {
    const model::Stack& row = profile.stacks[i];
    ASSERT_TRUE(rows.emplace(row.parent.value, row.frame.value).second);
    ASSERT_LT(row.parent.value, i);
  }
}

// As in sorted texts: nearly all of a line is that of the line before. The thread may be another one, or have two parts.
TEST(LineStacks, LinesThatBeginAsTheOneBeforeHaveTheSameStacksAsAlone) {
  std::mt19937 random(5);
  for (const std::size_t most : {std::size_t{1000}, std::size_t{4}}) {
    model::Profile together, alone;
    model::Builder of_together(together), of_alone(alone);
    LineStacks kept(together, of_together, most), fresh(alone, of_alone, most);
    Parts parts;
    std::string line;
    for (int i = 0; i < 20'000; ++i) {
      const std::string more = random_line(random);
      line = random() % 4 == 0 ? more : line.substr(0, random() % (line.size() + 1)) + more.substr(6);
      if (line.size() > 120) line.resize(60);
      const std::size_t first = random() % 5 == 0 ? 0 : 1;
      parts.cut(line);
      Parts once;
      once.cut(line);
      ASSERT_EQ(stack_of_line(kept, line, parts, first), stack_of_line(fresh, line, once, first)) << line;
    }
    EXPECT_EQ(together.stacks, alone.stacks);
    EXPECT_EQ(kept.functions_left_out(), fresh.functions_left_out());
  }
}

TEST(LineStacks, ManyLinesAtOnceHaveTheSameStacksAsOneByOne) {
  std::mt19937 random(7);
  for (const std::size_t most : {std::size_t{1000}, std::size_t{3}}) {
    model::Profile at_once, by_line;
    model::Builder of_at_once(at_once), of_by_line(by_line);
    LineStacks many(at_once, of_at_once, most), single(by_line, of_by_line, most);
    Parts parts, alone;
    for (int round = 0; round < 500; ++round) {
      std::vector<std::string> lines(random() % 30);
      for (std::string& line : lines) line = random_line(random);
      std::vector<model::StackId> expected, found;
      for (const std::string& line : lines) {
        parts.cut(line);
        many.add(line, parts, 1);
        alone.cut(line);
        expected.push_back(stack_of_line(single, line, alone, 1));
      }
      many.find([&](model::StackId stack) { found.push_back(stack); });
      ASSERT_EQ(found, expected);
    }
    EXPECT_EQ(at_once.stacks, by_line.stacks);
    EXPECT_EQ(many.functions_left_out(), single.functions_left_out());
  }
}

TEST(LineStacks, TwoTextsOfOneFrameAreOneStack) {
  model::Profile profile;
  model::Builder builder(profile);
  LineStacks stacks(profile, builder);
  Parts parts;
  const auto of = [&](std::string_view line) {
    parts.cut(line);
    return stack_of_line(stacks, line, parts, 1);
  };
  const model::StackId named = of("t;main;[unknown];leaf");
  EXPECT_EQ(of("t;main;;leaf"), named);
  EXPECT_EQ(of("t;main;"), of("t;main;[unknown]"));
  EXPECT_EQ(profile.stacks.size(), 4u);
}

TEST(LineStacks, FunctionsBeyondTheLimitAreOneAndCounted) {
  model::Profile profile;
  model::Builder builder(profile);
  LineStacks stacks(profile, builder, 2);
  Parts parts;
  const auto of = [&](std::string_view line) {
    parts.cut(line);
    return stack_of(profile, stack_of_line(stacks, line, parts, 1));
  };
  EXPECT_EQ(of("t;a;b;c;a"), "a;b;(other functions);a") << "the limit is met in the middle of a line";
  EXPECT_EQ(stacks.functions_left_out(), 1u);
  EXPECT_EQ(of("t;a;d;b"), "a;(other functions);b");
  EXPECT_EQ(of("t;a;e;b"), "a;(other functions);b");
  EXPECT_EQ(of("t;b;a"), "b;a");
  EXPECT_EQ(stacks.functions_left_out(), 3u);
  EXPECT_EQ(profile.frames.size(), 3u);
  EXPECT_EQ(profile.stacks.size(), 9u);
}

TEST(LineStacks, FindsStacksOfATableThatSomebodyElseChanged) {
  std::mt19937 random(2);
  model::Profile profile;
  model::Builder builder(profile);
  LineStacks stacks(profile, builder);
  Parts parts;
  const auto of = [&](const std::string& line) {
    parts.cut(line);
    return stack_of_line(stacks, line, parts, 1);
  };
  for (int i = 0; i < 2000; ++i) (void)of(random_line(random));
  profile.stacks.resize(profile.stacks.size() / 2);
  stacks.find_again();
  for (int i = 0; i < 2000; ++i) {
    const std::string line = random_line(random);
    ASSERT_EQ(stack_of(profile, of(line)), expected_of(line));
  }
  std::set<std::pair<std::uint32_t, std::uint32_t>> rows;
  for (std::size_t i = 1; i < profile.stacks.size(); ++i)
    ASSERT_TRUE(rows.emplace(profile.stacks[i].parent.value, profile.stacks[i].frame.value).second);
}

}  // namespace
}  // namespace fathom::formats

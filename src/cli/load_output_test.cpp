#include "cli/load_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace fathom::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

LoadOutput output_of(const std::string& text, std::size_t piece) {
  LoadOutput output;
  for (std::size_t at = 0; at < text.size(); at += piece)
    output.take(std::string_view(text).substr(at, piece));
  output.finish();
  return output;
}

TEST(LoadOutput, IsTheSameInPiecesOfAnySize) {
  const std::string text = "sent 1\nError: nonce too low\r\nsent 2\nlast";
  for (const std::size_t piece : {1, 2, 3, 7, 100}) {
    const LoadOutput output = output_of(text, piece);
    EXPECT_EQ(output.text(), "sent 1\nError: nonce too low\nsent 2\nlast\n");
    EXPECT_EQ(output.bytes(), text.size());
    EXPECT_EQ(output.last_line(), "last");
    EXPECT_EQ(output.error_lines(), 1);
    EXPECT_EQ(output.first_error(), "Error: nonce too low");
  }
}

TEST(LoadOutput, KeepsTheBeginningAndTheEndOfALongOutput) {
  for (const int lines : {1, 100, 1000, 100'000}) {
    std::string all;
    for (int i = 0; i < lines; ++i) all += "request " + std::to_string(i) + "\n";
    const LoadOutput output = output_of(all, 4096);
    const std::string text = output.text();
    EXPECT_LE(text.size(), LoadOutput::kHead + LoadOutput::kTail + 100);
    EXPECT_THAT(text, StartsWith("request 0\n"));
    EXPECT_THAT(text, EndsWith("request " + std::to_string(lines - 1) + "\n"));
    // What is kept and what the line in between counts are all that was printed.
    const std::size_t mark = text.find('[');
    if (mark == std::string::npos) {
      EXPECT_EQ(text, all);
      continue;
    }
    const std::size_t end = text.find('\n', mark);
    EXPECT_EQ(text.size() - (end - mark + 1) + std::stoull(text.substr(mark + 1)), all.size());
  }
}

TEST(LoadOutput, HasNeitherSecretsNorControlCharacters) {
  const LoadOutput output = output_of("a  table   of  blanks\npay --private-key=abcdef \x1b[31mred\n", 5);
  EXPECT_THAT(output.text(), HasSubstr("a  table   of  blanks\n"));
  EXPECT_THAT(output.text(), Not(HasSubstr("abcdef")));
  EXPECT_THAT(output.text(), Not(HasSubstr("\x1b")));
}

TEST(LoadOutput, ALineWithoutAnEndIsBounded) {
  EXPECT_EQ(output_of(std::string(1'000'000, 'x'), 4096).text().size(), LoadOutput::kLongestLine + 1);
}

TEST(LoadOutput, TellsErrorsFromCountsOfNone) {
  for (const char* line :
       {"Error: nonce too low", "error sending request", "insufficient funds for gas", "connection refused",
        "3 requests failed", "Failed requests: 12", "read: operation timed out",
        "thread 'main' panicked at src/main.rs", "10 errors", "errors=7", "execution reverted"})
    EXPECT_TRUE(looks_like_error(line)) << line;
  for (const char* line :
       {"sent 100 requests", "0 errors", "errors: 0", "Failed requests:      0", "failed 0.00%", "no errors",
        "terror", "mirrored", "Requests/sec: 1234.5", "errors=0", ""})
    EXPECT_FALSE(looks_like_error(line)) << line;
}

TEST(LoadCommandLine, HidesSecrets) {
  EXPECT_THAT(load_command_line("cast send --private-key=0xabc 'two words'"),
              AllOf(HasSubstr("cast send"), Not(HasSubstr("0xabc")), HasSubstr("two words")));
  EXPECT_THAT(load_command_line("echo 'no end --password=x1y2"), Not(HasSubstr("x1y2")));
}

}  // namespace
}  // namespace fathom::cli

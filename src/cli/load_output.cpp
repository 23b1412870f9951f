#include "cli/load_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/core/words.h"
#include "cli/shell_words.h"
#include "linux/process/command_line.h"

namespace fathom::cli {
namespace {

// Beginnings of words, in small letters. Load generators for RPC nodes and HTTP servers print these when requests fail.
constexpr std::string_view kErrorWords[] = {"error",     "err:",   "fail",    "panic",        "fatal",
                                            "exception", "refuse", "timeout", "insufficient", "nonce too",
                                            "timed out", "denied", "reverted"};

std::vector<std::string> words_between_blanks(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    if (end != 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string words_joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// A line without a secret keeps its blanks, as most of them are tables.
std::string without_secrets(const std::string& line) {
  const std::vector<std::string> words = words_between_blanks(line);
  std::string shown = process::command_line(words);
  return shown == words_joined(words) ? line : shown;
}

// "0 errors", "errors: 0", "failed 0.00%": a count of nothing on one of the two sides of the word.
bool counts_nothing(std::string_view before, std::string_view after) {
  const auto is_zero = [](std::string_view number) {
    return !number.empty() && number.find_first_of("123456789") == std::string_view::npos &&
           number.front() == '0';
  };
  while (!before.empty() && (before.back() == ' ' || before.back() == '(')) before.remove_suffix(1);
  const std::size_t number = before.find_last_not_of("0123456789.") + 1;
  if (is_zero(before.substr(number)) || before.ends_with("no")) return true;
  // "errors: 0", and "Failed requests: 0" with a word between.
  for (int words = 0; words < 2; ++words) {
    after.remove_prefix(std::min(after.find_first_not_of(" :=\t\""), after.size()));
    if (is_zero(after.substr(0, after.find_first_not_of("0123456789.")))) return true;
    after.remove_prefix(std::min(after.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), after.size()));
  }
  return false;
}

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

bool looks_like_error(std::string_view line) {
  std::string small(line);
  std::ranges::transform(small, small.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string_view text = small;
  for (const std::string_view word : kErrorWords) {
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
      if (at != 0 && is_letter(text[at - 1])) continue;
      std::size_t end = at + word.size();
      while (end < text.size() && is_letter(text[end])) ++end;
      if (!counts_nothing(text.substr(0, at), text.substr(end))) return true;
    }
  }
  return false;
}

void LoadOutput::take(std::string_view bytes) {
  bytes_ += bytes.size();
  for (const char c : bytes) {
    if (c == '\n' || c == '\r')
      end_line();
    else if (line_.size() < kLongestLine)
      line_ += c;
  }
}

void LoadOutput::finish() {
  end_line();
}

void LoadOutput::end_line() {
  if (line_.empty()) return;
  const std::string line = without_secrets(analysis::printable(std::exchange(line_, {})));
  if (looks_like_error(line) && error_lines_++ == 0) first_error_ = line;
  last_line_ = line;
  head_full_ = head_full_ || head_.size() + line.size() >= kHead;
  if (!head_full_) {
    head_ += line + "\n";
    return;
  }
  tail_ += line + "\n";
  if (tail_.size() <= 2 * kTail) return;  // cut now and then, not at each line
  const std::size_t cut = tail_.find('\n', tail_.size() - kTail) + 1;
  left_out_ += cut;
  tail_.erase(0, cut);
}

std::string LoadOutput::text() const {
  std::string_view tail = tail_;
  if (tail.size() > kTail) tail.remove_prefix(tail.find('\n', tail.size() - kTail) + 1);
  const std::uint64_t left_out = left_out_ + tail_.size() - tail.size();
  return head_ + (left_out == 0 ? "" : fmt::format("[{} bytes left out]\n", left_out)) + std::string(tail);
}

std::string load_command_line(const std::string& command) {
  const auto words = shell_words(command);
  return analysis::printable(process::command_line(words ? *words : words_between_blanks(command)));
}

}  // namespace fathom::cli

#include "user_strings.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

namespace fathom::words {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Walks a source literal by literal.
class Scanner {
 public:
  Scanner(const std::string& file, std::string_view source, bool is_script)
      : file_(file), source_(source), is_script_(is_script) {}

  std::vector<UserString> strings() {
    while (at_ < source_.size()) step();
    return std::move(strings_);
  }

 private:
  void step() {
    const std::string_view rest = source_.substr(at_);
    if (rest.starts_with("//")) {
      skip_to("\n");
    } else if (rest.starts_with("/*")) {
      skip_to("*/");
    } else if (rest.starts_with("#include")) {
      skip_to("\n");
    } else if (!is_script_ && rest.starts_with("R\"")) {
      const std::size_t open = source_.find('(', at_);
      if (open == source_.npos) return end();
      skip_to(")" + std::string(source_.substr(at_ + 2, open - at_ - 2)) + "\"");
      joins_ = false;
    } else if (rest[0] == '"' || (is_script_ && (rest[0] == '\'' || rest[0] == '`'))) {
      take(rest[0]);
    } else if (rest[0] == '\'' &&
               (at_ == 0 || std::isalnum(static_cast<unsigned char>(source_[at_ - 1])) == 0)) {
      at_ = closing('\'') + 1;
      joins_ = false;
    } else {
      if (!is_blank(rest[0])) joins_ = false;
      move(1);
    }
  }

  std::size_t closing(char quote) const {
    std::size_t i = at_ + 1;
    while (i < source_.size() && source_[i] != quote && (quote == '`' || source_[i] != '\n'))
      i += source_[i] == '\\' ? 2 : 1;
    return std::min(i, source_.size());
  }

  void take(char quote) {
    const std::size_t close = closing(quote);
    const std::string text(source_.substr(at_ + 1, close - at_ - 1));
    if (joins_ && !is_script_) {
      UserString& before = strings_.back();
      before.wrapped = before.wrapped || !before.text.ends_with("\\n");
      before.text += text;
    } else {
      strings_.push_back({file_, line_, text, false});
    }
    joins_ = true;
    move(std::min(close + 1, source_.size()) - at_);
  }

  void move(std::size_t count) {
    line_ += static_cast<std::size_t>(std::ranges::count(source_.substr(at_, count), '\n'));
    at_ += count;
  }
  void skip_to(const std::string& end_mark) {
    const std::size_t end_at = source_.find(end_mark, at_);
    if (end_at == source_.npos) return end();
    move(end_at + end_mark.size() - at_);
  }
  void end() { at_ = source_.size(); }

  const std::string& file_;
  std::string_view source_;
  bool is_script_;
  std::size_t at_ = 0, line_ = 1;
  bool joins_ = false;  // nothing but blanks since the last literal
  std::vector<UserString> strings_;
};

bool is_source(const std::filesystem::path& path) {
  const std::string name = path.filename().string(), whole = path.string();
  const std::string ending = path.extension().string();
  if (ending != ".cpp" && ending != ".h" && ending != ".ts") return false;
  for (const char* no : {"_test.", "testing", "random_profile", "hand_made"})
    if (name.find(no) != name.npos) return false;
  return whole.find("/testdata/") == whole.npos;
}

}  // namespace

std::vector<UserString> strings_of(const std::string& file, std::string_view source) {
  return Scanner(file, source, file.ends_with(".ts")).strings();
}

bool is_sentence(const UserString& string) {
  static const std::regex kWord("[A-Za-z]{2,}");
  const auto begin = std::sregex_iterator(string.text.begin(), string.text.end(), kWord);
  return string.text.find(' ') != string.text.npos && std::distance(begin, std::sregex_iterator()) >= 3;
}

std::vector<UserString> all_strings(const std::string& folder) {
  std::vector<UserString> all;
  for (const char* part : {"src", "web/src"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder + "/" + part)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      std::ifstream in(entry.path());
      const std::string source((std::istreambuf_iterator<char>(in)), {});
      auto strings = strings_of(std::filesystem::relative(entry.path(), folder).string(), source);
      std::ranges::copy_if(strings, std::back_inserter(all), is_sentence);
    }
  }
  std::ranges::sort(all, [](const UserString& a, const UserString& b) {
    return a.file != b.file ? a.file < b.file : a.line < b.line;
  });
  return all;
}

std::string avoided_in(std::string_view text) {
  // What stands on the left of docs' table of words, as a reader meets it.
  static const std::array kAvoided = {
      std::regex(R"(\b(nobody|somebody|whoever|whomever)\b(?!::))", std::regex::icase),
      std::regex(R"(\b(anew|amid|sought|thereby|thereof|beside)\b)", std::regex::icase),
      std::regex(R"(\b(save|want) (for|of)\b)", std::regex::icase),
      std::regex(R"(\btold\b(?! apart)|\btells\b)", std::regex::icase),
      std::regex(R"(\b(says?|said|speaks?|spoken) of\b)", std::regex::icase),
      std::regex(R"(\blets? go\b)", std::regex::icase),
      std::regex(R"(\bfrom [0-9.]+ ?%? on\b)", std::regex::icase),
      std::regex(R"(\bin the midst\b|\bat the least\b)", std::regex::icase),
      std::regex(R"(\b(is|are|was) (wanted|not told)\b)", std::regex::icase),
  };
  const std::string copy = std::regex_replace(std::string(text), std::regex("user nobody"), "");
  for (const std::regex& avoided : kAvoided)
    if (std::smatch match; std::regex_search(copy, match, avoided)) return match.str();
  return "";
}

}  // namespace fathom::words

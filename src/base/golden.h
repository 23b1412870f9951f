// For tests only: compares a text with the file golden/NAME below the working folder, which ctest makes the folder
// of the test's source (a binary knows no path of the machine that built it). BLESS=1 in the environment writes
// the file instead, and a person reads the difference before it is committed. A missing file fails: nothing passes
// unseen.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace fathom {

inline void expect_golden(const std::string& name, std::string_view actual) {
  const std::filesystem::path path = std::filesystem::path("golden") / name;
  if (const char* bless = std::getenv("BLESS"); bless != nullptr && std::string_view(bless) == "1") {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << actual;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    ADD_FAILURE() << path << " is missing; run with BLESS=1, and read what it wrote";
    return;
  }
  std::ostringstream content;
  content << file.rdbuf();
  const std::string expected = content.str();
  if (expected == actual) return;
  // The first different line says more than two pages of text.
  const std::size_t length = std::min(expected.size(), actual.size());
  std::size_t at = 0;
  while (at < length && expected[at] == actual[at]) ++at;
  const auto line_of = [at](std::string_view text) {
    const std::size_t start = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    return std::string(text.substr(start, text.find('\n', at) - start));
  };
  ADD_FAILURE() << path << " differs in line "
                << 1 + std::count(actual.begin(), actual.begin() + static_cast<std::ptrdiff_t>(at), '\n')
                << "\n  expected: " << line_of(expected) << "\n  actual:   " << line_of(actual)
                << "\nBLESS=1 takes the actual text";
}

}  // namespace fathom

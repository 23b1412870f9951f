#include "formats/open/inputs.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace fathom::open {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> expand(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  return paths;
}

std::vector<std::string> dumps_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().extension() == ".heap" && entry->is_regular_file(ignored))
      paths.push_back(entry->path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// "a.heap,b.heap": two inputs, unless a file is called so.
std::vector<std::string> parts_of(const std::string& input) {
  std::error_code ignored;
  if (input.find(',') == std::string::npos || fs::exists(input, ignored)) return {input};
  std::vector<std::string> parts;
  std::string_view rest = input;
  for (;;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (comma != 0) parts.emplace_back(rest.substr(0, comma));
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
  }
  return parts.empty() ? std::vector<std::string>{input} : parts;
}

}  // namespace

Result<std::vector<std::string>> files_of_inputs(const std::vector<std::string>& inputs) {
  std::vector<std::string> files;
  for (const std::string& given : inputs)
    for (const std::string& input : parts_of(given)) {
      std::error_code ignored;
      const fs::file_status status = fs::status(input, ignored);
      std::vector<std::string> found;
      if (fs::is_directory(status)) {
        found = dumps_in(input);
      } else if (input != "-" && !fs::exists(status) && input.find_first_of("*?[") != std::string::npos) {
        found = expand(input);
        if (found.empty())
          return fail(ErrorKind::kNotFound, fmt::format("{}: no file matches this pattern", input));
      }
      if (found.empty()) found.push_back(input);
      files.insert(files.end(), found.begin(), found.end());
    }
  // The same file under another path is the same dump, and would count twice.
  std::set<fs::path> seen;
  std::erase_if(files, [&](const std::string& file) {
    std::error_code ignored;
    return file != "-" && !seen.insert(fs::weakly_canonical(file, ignored)).second;
  });
  return files;
}

}  // namespace fathom::open

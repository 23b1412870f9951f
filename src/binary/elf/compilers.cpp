#include "binary/elf/compilers.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/parse.h"

namespace fathom::elf {
namespace {

constexpr std::size_t kMostCompilers = 4, kLongestCompiler = 100;
constexpr std::size_t kMostOfComment =
    64 * 1024;  // a text for each object file, before a linker merges equal ones

}  // namespace

std::string compilers_of(const ElfFile& file) {
  const Section* section = file.section(".comment");
  if (section == nullptr) return "";
  const auto data = file.contents(*section);
  if (!data) return "";
  const auto bytes = data->bytes().first(std::min(data->bytes().size(), kMostOfComment));
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<std::string_view> found;
  std::string joined;
  while (!rest.empty() && found.size() < kMostCompilers) {
    const std::string_view text = take_until(rest, '\0');
    if (text.empty() || std::ranges::find(found, text) != found.end()) continue;
    found.push_back(text);
    joined += (joined.empty() ? "" : ", ") + std::string(text.substr(0, kLongestCompiler));
  }
  return joined;
}

}  // namespace fathom::elf

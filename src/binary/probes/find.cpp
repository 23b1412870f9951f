#include "binary/probes/find.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/stable_sort.h"
#include "base/text.h"
#include "base/word_distance.h"
#include "binary/probes/ends.h"
#include "binary/symbolize/demangle.h"

namespace fathom::probes {
namespace {

constexpr std::size_t kMostListed = 20, kMostSimilar = 8, kMostPlaces = 200;

// Without a version, as it stands in the tables of shared libraries: "memcpy@@GLIBC_2.14".
std::string_view plain(std::string_view symbol) {
  const std::size_t at = symbol.find('@');
  return at == 0 || at == symbol.npos ? symbol : symbol.substr(0, at);
}

// "db::Table::put(int) const" -> "db::Table::put": up to the parameters, which no template argument holds.
std::string_view without_parameters(std::string_view name) {
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>' && depth > 0) --depth;
    if (name[i] == '(' && depth == 0 && i > 0 && !name.substr(0, i).ends_with("operator") &&
        !name.substr(i).starts_with("(anonymous namespace)"))
      return name.substr(0, i);
  }
  return name;
}

// What every linker name of the function has in it as it is: "put".
std::string_view last_part(std::string_view name) {
  name = without_parameters(name);
  if (const std::size_t arguments = name.find('<'); arguments != name.npos && arguments > 0)
    name = name.substr(0, arguments);
  const std::size_t colons = name.rfind("::");
  return colons == name.npos ? name : name.substr(colons + 2);
}

bool is_code(const elf::Symbol& symbol) {
  return (symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC) && symbol.section != SHN_UNDEF &&
         symbol.address.value != 0;
}

// A piece that a compiler has put aside, of the function of that linker name.
std::string_view piece_of(std::string_view symbol) {
  const std::size_t cold = symbol.find(".cold");
  const bool ends = cold != symbol.npos && (cold + 5 == symbol.size() || symbol[cold + 5] == '.');
  return ends ? symbol.substr(0, cold) : std::string_view();
}

struct Candidate {
  std::size_t module = 0;
  std::string name;  // as people write it
  std::string_view symbol;
  ElfAddress address;
  std::uint64_t size = 0;
  bool indirect = false;  // STT_GNU_IFUNC
};

enum class Fit : std::uint8_t { kNone, kWithoutParameters, kAsPeopleWrite, kAsTheLinkerDoes };

Fit fit(std::string_view symbol, std::string_view name, std::string_view wanted) {
  if (symbol == wanted) return Fit::kAsTheLinkerDoes;
  if (name == wanted) return Fit::kAsPeopleWrite;
  return without_parameters(name) == wanted ? Fit::kWithoutParameters : Fit::kNone;
}

bool contains(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

// At most one letter is wrong. Most names of a program differ in their length, which costs nothing to see.
bool is_nearly(std::string_view name, std::string_view wanted) {
  const std::size_t shorter = std::min(name.size(), wanted.size()),
                    longer = std::max(name.size(), wanted.size());
  return shorter >= 3 && longer - shorter <= 1 && word_distance(name, wanted) <= 1;
}

class Search {
 public:
  Search(std::span<const Module> modules, const Wish& wish) : modules_(modules), wish_(wish) {}

  Result<Found> run() {
    const std::string_view part = last_part(wish_.function);
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      if (modules_[i].file == nullptr || !is_wanted(modules_[i])) continue;
      any_module_ = true;
      for (const elf::ElfFile* file : files_of(modules_[i]))
        for (const auto table : {elf::SymbolTable::kSymtab, elf::SymbolTable::kDynsym})
          for (const elf::Symbol& symbol : file->symbols(table))
            if (is_code(symbol)) look_at(i, symbol, part);
    }
    if (candidates_.empty()) return nothing(part);
    if (auto one = is_one(); !one) return tl::unexpected<Error>(one.error());
    return found();
  }

 private:
  bool is_wanted(const Module& module) const {
    // "libsqlite3.so.0", as programs name it, is the file libsqlite3.so.0.8.6.
    return wish_.module.empty() || module.path == wish_.module || base_name(module.path) == wish_.module ||
           base_name(module.path).starts_with(wish_.module + ".");
  }

  // Those that have names of its code.
  static std::vector<const elf::ElfFile*> files_of(const Module& module) {
    std::vector<const elf::ElfFile*> files{module.file};
    if (module.names != nullptr) files.push_back(module.names);
    return files;
  }

  void look_at(std::size_t module, const elf::Symbol& symbol, std::string_view part) {
    const std::string_view linker = plain(symbol.name);
    if (!contains(linker, part)) {
      if (is_nearly(linker, wish_.function)) similar_.insert(std::string(linker));
      return;
    }
    const std::string name = symbolize::demangle(linker);
    const Fit how = piece_of(linker).empty() ? fit(linker, name, wish_.function) : Fit::kNone;
    if (how == Fit::kNone) {
      if (similar_.size() < 1000) similar_.insert(name);
      return;
    }
    if (how < best_) return;
    if (how > best_) candidates_.clear();
    best_ = how;
    const auto same = [&](const Candidate& one) {
      return one.module == module && one.address == symbol.address;
    };
    if (const auto known = std::ranges::find_if(candidates_, same); known != candidates_.end()) {
      known->size = std::max(known->size, symbol.size);
      return;
    }
    candidates_.push_back({module, name, linker, symbol.address, symbol.size, symbol.type == STT_GNU_IFUNC});
  }

  std::string_view option() const { return wish_.span.empty() ? "--probe" : "--span"; }

  tl::unexpected<Error> nothing(std::string_view part) const {
    const std::string where = wish_.module.empty() ? "the program and its libraries" : wish_.module;
    if (!any_module_) {
      std::set<std::string_view> names;
      for (const Module& module : modules_)
        if (module.file != nullptr) names.insert(base_name(module.path));
      return fail(ErrorKind::kNotFound,
                  fmt::format("{}: the target has no module '{}'", option(), wish_.module),
                  fmt::format("one of {}", fmt::join(names, ", ")));
    }
    for (const Module& module : modules_)
      if (module.file != nullptr && is_wanted(module) &&
          std::ranges::any_of(files_of(module),
                              [&](const elf::ElfFile* file) { return is_in_debug_names(*file, part); }))
        return fail(
            ErrorKind::kNotFound,
            fmt::format(
                "{}: '{}' has no code of its own in {}: its debug information names it, so it was inlined wherever it is called, or is never called",
                option(), wish_.function, base_name(module.path)),
            "a function that calls it");
    for (const Module& module : modules_)
      if (!wish_.module.empty() && module.file != nullptr && is_wanted(module) && module.names == nullptr &&
          module.file->section(".symtab") == nullptr && similar_.empty())
        return fail(
            ErrorKind::kNotFound,
            fmt::format("{}: '{}' is not a name that {} exports, and its other names were stripped off",
                        option(), wish_.function, base_name(module.path)),
            "its separate debug file (of a -dbg or -dbgsym package, or in a folder: --symbols FOLDER)");
    std::vector<std::string> similar(similar_.begin(), similar_.end());
    stable_sort_rows(similar, {}, &std::string::size);
    if (similar.size() > kMostSimilar) similar.resize(kMostSimilar);
    return fail(
        ErrorKind::kNotFound,
        fmt::format("{}: there is no function '{}' in {}", option(), wish_.function, where),
        similar.empty()
            ? "fathom report lists the functions in a recording; to probe modules that the program loads later, attach to it (-p)"
            : fmt::format("similar: {}", fmt::join(similar, "; ")));
  }

  // The strings of its debug information, without reading the rest of it: a stranger's file is read here with all rights.
  static bool is_in_debug_names(const elf::ElfFile& file, std::string_view name) {
    const elf::Section* section = file.section(".debug_str");
    if (section == nullptr || name.empty()) return false;
    const auto contents = file.contents(*section);
    if (!contents) return false;
    const auto bytes = contents->bytes();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::string wanted = std::string(1, '\0') + std::string(name) + std::string(1, '\0');
    return text.find(wanted) != text.npos || text.starts_with(wanted.substr(1));
  }

  Result<> is_one() const {
    std::set<std::string> names;
    for (const Candidate& one : candidates_)
      names.insert(fmt::format("{}@{}", one.name, base_name(modules_[one.module].path)));
    if (names.size() == 1 && std::ranges::all_of(candidates_, [&](const Candidate& one) {
          return one.module == candidates_[0].module;
        }))
      return {};
    std::vector<std::string> listed(names.begin(), names.end());
    const std::size_t more = listed.size() > kMostListed ? listed.size() - kMostListed : 0;
    listed.resize(listed.size() - more);
    return fail(ErrorKind::kUsage,
                fmt::format("{}: '{}' may be each of {} functions", option(), wish_.function, names.size()),
                fmt::format("one of: {}{}", fmt::join(listed, "; "),
                            more == 0 ? "" : fmt::format("; and {} more", more)));
  }

  // Names of what a compiler has put aside, by linker name.
  std::vector<Bounds> named_pieces(std::size_t module, std::string_view symbol) const {
    std::vector<Bounds> pieces;
    for (const elf::ElfFile* file : files_of(modules_[module]))
      for (const elf::Symbol& each : file->symbols(elf::SymbolTable::kSymtab))
        if (is_code(each) && each.size != 0 && piece_of(each.name) == symbol)
          pieces.emplace_back(each.address, each.size);
    return pieces;
  }

  Result<Found> found() const {
    Found found;
    found.module = candidates_[0].module;
    found.name = std::string(without_parameters(candidates_[0].name));
    if (best_ == Fit::kAsPeopleWrite) found.name = candidates_[0].name;
    const elf::ElfFile& file = *modules_[found.module].file;
    if (candidates_.size() > kMostPlaces)
      return fail(
          ErrorKind::kUsage,
          fmt::format("{}: '{}' has {} copies in the program", option(), wish_.function, candidates_.size()),
          "a function that is not generic");
    Ends ends(file, modules_[found.module].table);
    for (const Candidate& one : candidates_) {
      if (one.indirect)
        return fail(ErrorKind::kNotFound,
                    fmt::format("{}: which code '{}' is, is chosen when the program starts", option(),
                                wish_.function),
                    "the variant that fathom report names");
      const auto entry = file.offset_of(one.address);
      if (!entry)
        return fail(ErrorKind::kNotFound,
                    fmt::format("{}: the code of '{}' is not in {}", option(), wish_.function,
                                modules_[found.module].path),
                    "a function of the program's own file");
      Place place{one.address, *entry, {}};
      std::vector<Bounds> pieces = {{one.address, size_of(file, one)}};
      for (const Bounds& piece : named_pieces(one.module, one.symbol)) pieces.push_back(piece);
      const auto all = ends.of(std::move(pieces));
      if (!all.problem.empty()) {
        if (found.untimed.empty()) found.untimed = all.problem;
      } else {
        for (const arch::FunctionEnd& end : all.ends)
          if (const auto offset = file.offset_of(ElfAddress{end.address}))
            place.ends.push_back({*offset, end});
        found.restarts |= all.restarts;
      }
      found.places.push_back(std::move(place));
    }
    // A mean of some copies would be one of who knows which calls.
    if (!found.untimed.empty())
      for (Place& place : found.places) place.ends.clear();
    return found;
  }

  static std::uint64_t size_of(const elf::ElfFile& file, const Candidate& one) {
    if (one.size != 0) return one.size;
    for (const auto& [start, size] : unwind::function_bounds(file))
      if (start == one.address) return size;
    return 0;
  }

  std::span<const Module> modules_;
  const Wish& wish_;
  bool any_module_ = false;
  Fit best_ = Fit::kNone;
  std::vector<Candidate> candidates_;
  std::set<std::string> similar_;
};

}  // namespace

Result<Found> find_function(std::span<const Module> modules, const Wish& wish) {
  return Search(modules, wish).run();
}

}  // namespace fathom::probes

#include "attach/allocators/nameless/tcmalloc_code.h"

#include <elf.h>

#include <algorithm>
#include <string_view>

#include "attach/allocators/versions.h"

namespace fathom::allocators::nameless {
namespace {

// The rules. ATTRIBUTE_SECTION(google_malloc) stands at each of its public functions that does something to a block but
// tc_malloc_skip_new_handler; tcmalloc looks for it in stacks, so no build leaves it out.
constexpr std::string_view kSection = "google_malloc";
constexpr std::size_t kMostFunctions = 200;  // 2.10 has 40
// Data is the library's that so many functions of the section name. What names several words of it is the library's; what names one
// is looked at.
constexpr int kNamedByAtLeast = 3;
constexpr std::size_t kSharesAtLeast = 2, kMostElsewhere = 100;

}  // namespace

const TcmallocCode::Facts& TcmallocCode::facts(FunctionNumber function) {
  const auto known = facts_.find(function);
  return known != facts_.end() ? known->second
                               : facts_.emplace(function, code_.facts(function)).first->second;
}

Result<TcmallocCode> TcmallocCode::find(const elf::ElfFile& file) {
  if (!holds_tcmalloc_messages(file)) return fail(ErrorKind::kNotFound, "no messages of tcmalloc");
  const elf::Section* section = file.section(kSection);
  if (section == nullptr || (section->flags & SHF_EXECINSTR) == 0)
    return fail(ErrorKind::kUnsupported, "the section that its functions stand in has no name here either");
  TcmallocCode found(file);
  if (found.code_.size() == 0)
    return fail(ErrorKind::kUnsupported, "its code has no unwind tables, which say where functions begin");
  FunctionNumber first = kNoFunction, last = 0;
  for (FunctionNumber each = 0; each < found.code_.size(); ++each) {
    const std::uint64_t start = found.code_.start(each);
    if (start < section->address.value || start - section->address.value >= section->size) continue;
    first = std::min(first, each);
    last = each;
  }
  if (first == kNoFunction)
    return fail(ErrorKind::kUnsupported, "no function is known of the section that its functions stand in");
  if (last - first >= kMostFunctions)
    return fail(ErrorKind::kUnsupported, "too many functions stand in the section of its own");
  found.first_ = first, found.last_ = last;
  found.section_start_ = section->address.value;
  found.section_end_ = section->address.value + section->size;
  find_references(file, found.code_, first, last, {}, found.references_);
  found.find_elsewhere();
  return found;
}

void TcmallocCode::find_elsewhere() {
  std::set<std::uint64_t> exported;
  for (const elf::Symbol& symbol : file_.symbols(elf::SymbolTable::kDynsym))
    if (symbol.section != SHN_UNDEF) exported.insert(symbol.address.value);
  std::map<std::uint64_t, int> named;
  for (FunctionNumber each = first_; each <= last_; ++each)
    if (const Facts& all = facts(each))
      for (const std::uint64_t address : all->data)
        if (code_.is_writable(address) && !exported.contains(address)) ++named[address];
  std::vector<std::uint64_t> data;
  for (const auto& [address, count] : named)
    if (count >= kNamedByAtLeast) data.push_back(address);
  std::map<FunctionNumber, std::set<std::uint64_t>> shares;
  for (const CodeMap::Naming& each : code_.namings(data))
    if (each.by != kNoFunction && !is_in_section(each.by) && facts(each.by) &&
        std::ranges::binary_search(facts(each.by)->data, each.named))
      shares[each.by].insert(each.named);
  for (const auto& [function, addresses] : shares)
    if (addresses.size() >= kSharesAtLeast) elsewhere_.insert(function);
  find_tried(shares);
}

void TcmallocCode::find_tried(const std::map<FunctionNumber, std::set<std::uint64_t>>& shares) {
  // A door asks what thread it is in, or lets another one ask, goes on where those of the section do, and is called by code that
  // knows nothing of the data. Most others would wait for an object that they are not given.
  std::vector<std::uint64_t> starts;
  for (const auto& [function, addresses] : shares) {
    starts.push_back(code_.start(function));
    if (elsewhere_.contains(function) && facts(function)->thread_accesses > 0) tried_.insert(function);
  }
  std::set<std::uint64_t> inner;  // where the section goes on to
  for (FunctionNumber each = first_; each <= last_; ++each)
    if (const Facts& all = facts(each))
      for (const auto* ways : {&all->calls, &all->jumps}) inner.insert(ways->begin(), ways->end());
  const auto goes_on_alike = [&](FunctionNumber function) {
    std::size_t shared = 0;
    for (const auto* ways : {&facts(function)->calls, &facts(function)->jumps})
      shared += static_cast<std::size_t>(
          std::ranges::count_if(*ways, [&](std::uint64_t to) { return inner.contains(to); }));
    return shared >= kSharesAtLeast;
  };
  for (const CodeMap::Naming& each : code_.namings(starts)) {
    const FunctionNumber function = code_.starting_at(each.named);
    if (each.by == kNoFunction || is_in_section(each.by) || shares.contains(each.by) || !facts(each.by))
      continue;
    const auto comes_by = [&](const std::vector<std::uint64_t>& ways) {
      return std::ranges::binary_search(ways, each.named);
    };
    if ((comes_by(facts(each.by)->calls) || comes_by(facts(each.by)->jumps)) && goes_on_alike(function))
      tried_.insert(function);
  }
}

std::vector<Candidate> TcmallocCode::candidates() {
  std::vector<Candidate> found;
  const auto add = [&](FunctionNumber each) {
    found.push_back({.address = {code_.start(each)}, .size = code_.size_of(each)});
  };
  for (FunctionNumber each = first_; each <= last_; ++each) add(each);
  for (const FunctionNumber each : tried_) add(each);
  std::ranges::sort(found, {}, &Candidate::address);
  return found;
}

// Its hooks look whether a caller stands in the section: where that begins is the address of a function, and not meant as one.
bool TcmallocCode::means_the_section(FunctionNumber by, FunctionNumber function) {
  const std::uint64_t start = code_.start(function);
  if (start != section_start_ || by == kNoFunction) return false;
  const Facts& all = facts(by);
  const auto has = [](const std::vector<std::uint64_t>& sorted, std::uint64_t address) {
    return std::ranges::binary_search(sorted, address);
  };
  return all && has(all->data, start) && has(all->data, section_end_) && !has(all->calls, start) &&
         !has(all->jumps, start);
}

// From outside of the library. nullopt: it is not.
std::optional<Candidate> TcmallocCode::referred_to(FunctionNumber function) {
  if (!references_.contains(function)) find_references(file_, code_, function, function, {}, references_);
  Candidate found{.address = {code_.start(function)}, .size = code_.size_of(function)};
  bool is_exported = false;
  for (const Reference& each : references_.at(function)) {
    if (each.exported)
      is_exported = true;
    else if (each.in_table)
      ++found.in_tables;
    else if (each.by == kNoFunction || (!means_the_section(each.by, function) && !is_own(each.by) &&
                                        (each.through || may_name(facts(each.by), code_.start(function)))))
      ++(each.through ? found.through_words : found.direct);
  }
  if (found.direct + found.through_words + found.in_tables == 0 && !is_exported) return std::nullopt;
  return found;
}

Result<LibraryCode::WaysIn> TcmallocCode::ways_in(std::span<const ElfAddress> doors) {
  WaysIn ways;
  std::set<FunctionNumber> looked_at;
  for (FunctionNumber each = first_; each <= last_; ++each) looked_at.insert(each);
  // Elsewhere are methods too, which take an object and not a block: the source has no door there but those that were tried.
  for (const ElfAddress each : doors)
    if (const auto function = code_.starting_at(each.value); function != kNoFunction) {
      looked_at.insert(function);
      if (!is_in_section(function)) elsewhere_.insert(function);
    }
  if (looked_at.size() > kMostFunctions + kMostElsewhere)
    return fail(ErrorKind::kUnsupported, "too many functions behave as its own");
  for (const FunctionNumber each : looked_at) {
    const auto found = referred_to(each);
    if (!found) continue;
    const bool is_door = std::ranges::find(doors, found->address) != doors.end();
    (is_door ? ways.entries : ways.others).push_back(*found);
  }
  std::set<FunctionNumber> own = elsewhere_;
  for (FunctionNumber each = first_; each <= last_; ++each) own.insert(each);
  for (const FunctionNumber each : own) {
    const ElfAddress start{code_.start(each)}, end{start.value + code_.size_of(each)};
    if (!ways.own_code.empty() && ways.own_code.back().end == start)
      ways.own_code.back().end = end;
    else
      ways.own_code.push_back({start, end});
  }
  return ways;
}

}  // namespace fathom::allocators::nameless

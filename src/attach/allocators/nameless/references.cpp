#include "attach/allocators/nameless/references.h"

#include <elf.h>

#include <algorithm>
#include <set>

#include "attach/allocators/relocations.h"
#include "base/address.h"

namespace fathom::allocators::nameless {

void find_references(const elf::ElfFile& file, const CodeMap& code, FunctionNumber first, FunctionNumber last,
                     const WordRanges& left_out, References& into) {
  std::vector<ElfAddress> starts;
  std::vector<std::uint64_t> addresses;
  for (FunctionNumber each = first; each <= last; ++each) {
    into.try_emplace(each);
    starts.push_back({code.start(each)});
    addresses.push_back(code.start(each));
  }
  for (const CodeMap::Naming& each : code.namings(addresses)) {
    const FunctionNumber function = code.starting_at(each.named);
    if (function != kNoFunction && function != each.by) into[function].push_back({each.by});
  }
  std::map<std::uint64_t, FunctionNumber> holds;
  for (const FilledWord& each : words_holding(file, starts))
    holds[each.word.value] = code.starting_at(each.holds.value);
  for (const FilledWord& each : code.fixed_words_holding(starts))
    holds[each.word.value] = code.starting_at(each.holds.value);
  std::erase_if(holds, [&](const auto& each) {
    return std::ranges::any_of(
        left_out, [&](const auto& range) { return each.first >= range.first && each.first < range.second; });
  });
  std::vector<std::uint64_t> words;
  for (const auto& [word, function] : holds) words.push_back(word);
  std::set<std::uint64_t> in_tables(words.begin(), words.end());
  for (const CodeMap::Naming& each : code.namings(words)) {
    in_tables.erase(each.named);
    into[holds.at(each.named)].push_back({each.by, true});
  }
  for (const std::uint64_t word : in_tables) into[holds.at(word)].push_back({kNoFunction, true, true});
  for (const elf::Symbol& symbol : file.symbols(elf::SymbolTable::kDynsym))
    if (symbol.section != SHN_UNDEF)
      if (const auto function = code.starting_at(symbol.address.value);
          function != kNoFunction && function >= first && function <= last)
        into[function].push_back({.by = kNoFunction, .exported = true});
}

bool may_name(const std::optional<arch::FunctionFacts>& facts, std::uint64_t address) {
  if (!facts) return true;
  for (const auto* each : {&facts->calls, &facts->jumps, &facts->data, &facts->words})
    if (std::ranges::binary_search(*each, address)) return true;
  return false;
}

}  // namespace fathom::allocators::nameless

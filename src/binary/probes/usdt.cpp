#include "binary/probes/usdt.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/stable_sort.h"
#include "base/text.h"
#include "binary/elf/probe_notes.h"

namespace fathom::probes {
namespace {

constexpr std::size_t kMostUsdtPlaces = 256, kMostUsdtListed = 12;
constexpr std::size_t kLongestNop = 8;

// Names of the file, read once and only if an operand has one.
class Names {
 public:
  explicit Names(const elf::ElfFile& file) : file_(file) {}

  // Of one address; nullopt: there is no such name, or several.
  std::optional<ElfAddress> address(std::string_view name) {
    if (!read_) {
      read_ = true;
      for (const auto table : {elf::SymbolTable::kSymtab, elf::SymbolTable::kDynsym})
        for (const elf::Symbol& symbol : file_.symbols(table))
          if (symbol.section != SHN_UNDEF && symbol.type != STT_TLS) symbols_.push_back(symbol);
    }
    std::optional<ElfAddress> found;
    for (const elf::Symbol& symbol : symbols_) {
      if (symbol.name.substr(0, symbol.name.find('@')) != name) continue;
      if (found && *found != symbol.address) return std::nullopt;
      found = symbol.address;
    }
    return found;
  }

 private:
  const elf::ElfFile& file_;
  bool read_ = false;
  std::vector<elf::Symbol> symbols_;
};

// `place`: where the probe stands.
void resolve(arch::ProbeOperand& operand, ElfAddress place, const elf::ElfFile& file, Names& names) {
  if (operand.symbol.empty()) return;
  const bool from_place = operand.value.base == PROBE_REGISTER_PC;
  const auto address = names.address(operand.symbol);
  if (!address)
    operand.problem = fmt::format("the file does not say where '{}' is", operand.symbol);
  else if (!from_place && file.type() != ET_EXEC)
    operand.problem = "only the loader knows its address";
  else
    operand.value.offset += static_cast<std::int64_t>(address->value - (from_place ? place.value : 0));
  operand.symbol.clear();
  if (!operand.problem.empty()) operand.value = {};
}

// 16 bits of the file's data that the program may write, and that do not lie across two pages.
std::optional<FileOffset> counter_at(const elf::ElfFile& file, ElfAddress address) {
  const bool writable = std::ranges::any_of(file.segments(), [&](const elf::Segment& segment) {
    return segment.type == PT_LOAD && (segment.flags & PF_W) != 0 && address.value >= segment.address.value &&
           address.value - segment.address.value < segment.file_size;
  });
  const auto offset = file.offset_of(address);
  // libbpf hands it on in 32 bits.
  if (!writable || !offset || address.value % 2 != 0 || offset->value > UINT32_MAX) return std::nullopt;
  return offset;
}

Result<UsdtPlace> place_of(const elf::ProbeNote& note, const elf::ElfFile& file, Names& names) {
  UsdtPlace place;
  const auto offset = file.offset_of(note.location);
  const auto code = file.bytes_from(note.location);
  if (!offset || !arch::is_probe_place(code.first(std::min(code.size(), kLongestNop))))
    return fail(ErrorKind::kMalformed,
                fmt::format("at 0x{:x} is not an instruction of a probe", note.location.value));
  place.offset = *offset;
  if (note.semaphore.value != 0) {
    place.semaphore = counter_at(file, note.semaphore);
    if (!place.semaphore)
      return fail(ErrorKind::kMalformed,
                  fmt::format("at 0x{:x} is not a semaphore in the file's data", note.semaphore.value));
  }
  place.arguments = arch::probe_operands(note.arguments);
  for (arch::ProbeOperand& operand : place.arguments) resolve(operand, note.location, file, names);
  return place;
}

tl::unexpected<Error> none_named(std::span<const Module> modules, const Wish& wish) {
  std::vector<std::string> there;
  for (const Module& module : modules) {
    if (module.file == nullptr) continue;
    const auto probes = read_usdt(*module.file);
    if (!probes) continue;
    for (const Usdt& probe : *probes) there.push_back(fmt::format("{}:{}", probe.provider, probe.name));
  }
  const auto far = [&](const std::string& text) { return text.starts_with(wish.provider + ":") ? 0 : 1; };
  stable_sort_rows(there, {}, far);
  const std::size_t more = there.size() > kMostUsdtListed ? there.size() - kMostUsdtListed : 0;
  there.resize(there.size() - more);
  return fail(ErrorKind::kNotFound,
              fmt::format("--probe: there is no static probe '{}:{}' in {}", wish.provider, wish.function,
                          wish.module.empty() ? "the program and its libraries" : wish.module),
              there.empty() ? "it has no static probes; a size of a function is :argN or :ret"
                            : fmt::format("one of: {}{}", fmt::join(there, ", "),
                                          more == 0 ? "" : fmt::format(", and {} more", more)));
}

}  // namespace

Result<std::vector<Usdt>> read_usdt(const elf::ElfFile& file, std::string_view provider) {
  const auto notes = elf::read_probe_notes(file);
  if (!notes) return tl::unexpected<Error>(notes.error());
  std::vector<Usdt> probes;
  Names names(file);
  for (const elf::ProbeNote& note : *notes) {
    if (!provider.empty() && note.provider != provider) continue;
    auto probe = std::ranges::find_if(probes, [&](const Usdt& known) {
      return known.name == note.name && known.provider == note.provider;
    });
    if (probe == probes.end()) probe = probes.insert(probe, {note.provider, note.name, {}, {}});
    if (probe->places.size() == kMostUsdtPlaces) continue;
    auto place = place_of(note, file, names);
    if (place)
      probe->places.push_back(std::move(*place));
    else if (probe->problems.size() < kMostUsdtListed)
      probe->problems.push_back(std::move(place.error().message));
  }
  return probes;
}

Result<FoundUsdt> find_usdt(std::span<const Module> modules, const Wish& wish) {
  std::optional<FoundUsdt> found;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const Module& module = modules[i];
    if (module.file == nullptr) continue;
    if (!wish.module.empty() && module.path != wish.module && base_name(module.path) != wish.module) continue;
    auto probes = read_usdt(*module.file, wish.provider);
    if (!probes) return tl::unexpected<Error>(probes.error());
    for (Usdt& probe : *probes) {
      if (probe.name != wish.function) continue;
      if (found)
        return fail(ErrorKind::kNotFound,
                    fmt::format("--probe: '{}:{}' exists in {} and in {}", wish.provider, wish.function,
                                base_name(modules[found->module].path), base_name(module.path)),
                    fmt::format("--probe {}:{}@{}", wish.provider, wish.function, base_name(module.path)));
      found = FoundUsdt{i, std::move(probe)};
    }
  }
  if (!found) return none_named(modules, wish);
  const std::string name = fmt::format("{}:{}", wish.provider, wish.function);
  if (found->probe.places.empty())
    return fail(ErrorKind::kMalformed,
                fmt::format("--probe: {}: {}: {}", modules[found->module].path, name,
                            found->probe.problems.empty() ? "it is nowhere" : found->probe.problems[0]),
                "a probe of which readelf -n names a place in the code");
  if (wish.size == SizeFrom::kNothing) return *found;
  for (const UsdtPlace& place : found->probe.places) {
    if (wish.argument > place.arguments.size())
      return fail(
          ErrorKind::kNotFound,
          fmt::format("--probe: {} has {} arguments, not {}", name, place.arguments.size(), wish.argument),
          "one of those, or none");
    if (const std::string& problem = place.arguments[wish.argument - 1].problem; !problem.empty())
      return fail(ErrorKind::kUnsupported,
                  fmt::format("--probe: argument {} of {} cannot be read: {}", wish.argument, name, problem),
                  "another argument, or none: its calls are counted then");
  }
  return *found;
}

}  // namespace fathom::probes

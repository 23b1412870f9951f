#include "binary/symbolize/split_units.h"

#include <dwarf.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/cursor.h"
#include "binary/symbolize/dies.h"

namespace fathom::symbolize {
namespace {

constexpr std::uint64_t kLargestFile = std::uint64_t{4} << 30;  // bytes, unpacked
// An address table before DWARF 5 does not say where it ends. Units have some hundred addresses.
constexpr std::size_t kMostAddressBytes = 4 << 20;
constexpr std::size_t kMostUnits = 1 << 16;  // of one file

std::span<const std::byte> from(std::span<const std::byte> bytes, std::uint64_t offset) {
  return offset <= bytes.size() ? bytes.subspan(static_cast<std::size_t>(offset))
                                : std::span<const std::byte>();
}

std::optional<std::uint64_t> either(Dwarf_Die& die, unsigned name, unsigned gnu_name) {
  const auto value = unsigned_attribute(die, name);
  return value ? value : unsigned_attribute(die, gnu_name);
}

// From the unit's base on, to the end of its own table.
std::span<const std::byte> address_table(std::span<const std::byte> section, std::uint64_t base,
                                         unsigned version) {
  auto table = from(section, base);
  if (version >= 5 && base >= 8) {  // length, version, sizes: the length counts from the version on
    const auto length = Cursor(from(section, base - 8)).read<std::uint32_t>();
    if (length >= 4) table = table.first(std::min<std::size_t>(table.size(), length - 4));
  }
  return table.first(std::min(table.size(), kMostAddressBytes));
}

std::optional<std::uint64_t> id_of(Dwarf_CU* unit) {
  std::uint64_t id = 0;
  if (::dwarf_cu_info(unit, nullptr, nullptr, nullptr, nullptr, &id, nullptr, nullptr) != 0)
    return std::nullopt;
  return id;
}

std::optional<Dwarf_Die> unit_with_id(Dwarf* dwarf, std::uint64_t id) {
  Dwarf_CU* unit = nullptr;
  for (std::size_t i = 0; i < kMostUnits; ++i) {
    Dwarf_CU* next = nullptr;
    Dwarf_Die die;
    if (::dwarf_get_units(dwarf, unit, &next, nullptr, nullptr, &die, nullptr) != 0) break;
    unit = next;
    if (::dwarf_tag(&die) == DW_TAG_compile_unit && id_of(unit) == id) return die;
  }
  return std::nullopt;
}

}  // namespace

struct SplitUnits::Skeleton {
  std::uint64_t id = 0;
  unsigned version = 5;
  std::string name, directory;
  std::span<const std::byte> addresses, ranges;
  std::uint64_t base = 0;
};

std::vector<AddressRange> SplitUnit::ranges(Dwarf_Die& entry, std::size_t limit) const {
  Dwarf_Attribute attribute;
  if (::dwarf_attr(&entry, DW_AT_ranges, &attribute) == nullptr) return ranges_of(entry, limit);
  if (::dwarf_whatform(&attribute) == DW_FORM_rnglistx) {
    // libdw would resolve it by a base that it looks for in the skeleton.
    const auto info = file->section(".debug_info");
    const auto* value = reinterpret_cast<const std::byte*>(attribute.valp);
    if (value < info.data() || value >= info.data() + info.size()) return {};
    const auto number = Cursor(info.subspan(static_cast<std::size_t>(value - info.data()))).read_uleb128();
    const auto offset = range_list_offset(tables, number);
    return offset ? range_list(tables, *offset, limit) : std::vector<AddressRange>();
  }
  const auto offset = unsigned_attribute(entry, DW_AT_ranges);
  return offset ? range_list(tables, *offset, limit) : std::vector<AddressRange>();
}

std::optional<SplitUnits::File> SplitUnits::open(const PointedPaths& paths, const std::string& path) {
  File file;
  file.pointed = open_pointed_file(paths, path);
  if (!file.pointed) return std::nullopt;
  const elf::ElfFile& elf = file.pointed->file.elf();
  std::uint64_t total = 0;
  for (const elf::Section& section : elf.sections()) {
    const bool of_split = section.name.ends_with(".dwo") || section.name == ".debug_cu_index";
    if (!of_split || (total += elf.claimed_size(section)) > kLargestFile) continue;
    auto content = elf.contents(section);
    if (!content) continue;
    file.contents.push_back(std::move(*content));
    std::string name(section.name);
    if (name.starts_with(".z")) name.erase(1, 1);
    file.sections.push_back({std::move(name), file.contents.back().bytes()});
  }
  if (section_of(file.sections, ".debug_info.dwo").empty()) return std::nullopt;
  return file;
}

std::optional<SplitUnits::Skeleton> SplitUnits::read_skeleton(Dwarf_Die die) const {
  Skeleton skeleton;
  Dwarf_Half version = 0;
  std::uint8_t type = 0;
  if (::dwarf_cu_info(die.cu, &version, &type, nullptr, nullptr, &skeleton.id, nullptr, nullptr) != 0 ||
      type != DW_UT_skeleton)
    return std::nullopt;
  skeleton.version = version;
  auto name = text_attribute(die, DW_AT_dwo_name);
  if (!name) name = text_attribute(die, DW_AT_GNU_dwo_name);
  skeleton.name = name.value_or("");
  skeleton.directory = text_attribute(die, DW_AT_comp_dir).value_or("");
  skeleton.addresses = address_table(main_.section(".debug_addr"),
                                     either(die, DW_AT_addr_base, DW_AT_GNU_addr_base).value_or(0), version);
  skeleton.ranges =
      from(main_.section(".debug_ranges"), unsigned_attribute(die, DW_AT_GNU_ranges_base).value_or(0));
  Dwarf_Addr low = 0;
  if (::dwarf_lowpc(&die, &low) == 0) skeleton.base = low;
  return skeleton;
}

std::unique_ptr<SplitUnit> SplitUnits::unit_of(const SplitSections& sections, const Skeleton& skeleton,
                                               bool of_package) const {
  UnitStrings strings;
  if (of_package) {
    auto own = strings_of_unit(section_of(sections, ".debug_str_offsets.dwo"),
                               section_of(sections, ".debug_str.dwo"), skeleton.version);
    if (!own) return nullptr;
    strings = std::move(*own);
  }
  SplitSections plain;
  for (const DebugSection& section : sections) {
    if (!section.name.ends_with(".dwo")) continue;
    auto bytes = section.bytes;
    if (of_package && section.name == ".debug_str_offsets.dwo") bytes = strings.offsets;
    if (of_package && section.name == ".debug_str.dwo") bytes = strings.strings;
    plain.push_back({section.name.substr(0, section.name.size() - 4), bytes});
  }
  plain.push_back({".debug_addr", skeleton.addresses});
  if (skeleton.version < 5) plain.push_back({".debug_ranges", skeleton.ranges});
  auto file = DwarfFile::of_image(make_debug_image(machine_, std::move(plain)), skeleton.name);
  if (!file) return nullptr;
  const auto die = unit_with_id((*file)->dwarf(), skeleton.id);
  if (!die) return nullptr;
  auto unit = std::make_unique<SplitUnit>();
  unit->die = *die;
  unit->tables = {skeleton.version,
                  (*file)->section(skeleton.version >= 5 ? ".debug_rnglists" : ".debug_ranges"),
                  (*file)->section(".debug_addr"), skeleton.base};
  unit->file = std::move(*file);
  return unit;
}

const std::vector<SplitUnits::File>& SplitUnits::packages() {
  if (packages_) return *packages_;
  packages_.emplace();
  const std::string& module = paths_.module;
  std::set<std::string> names = {module + ".dwp"};
  if (module.ends_with(".debug")) names.insert(module.substr(0, module.size() - 6) + ".dwp");
  for (const std::string& name : names)
    if (auto file = open(paths_, name); file && file->is_package()) packages_->push_back(std::move(*file));
  return *packages_;
}

std::unique_ptr<SplitUnit> SplitUnits::find(Dwarf_Die die) {
  const auto skeleton = read_skeleton(die);
  if (!skeleton) return nullptr;
  ++looked_for_;
  for (const File& package : packages())
    if (const auto parts = unit_in_package(package.sections, skeleton->id))
      if (auto unit = unit_of(*parts, *skeleton, true)) return unit;
  if (!skeleton->name.empty()) {
    const std::string folder = paths_.module.substr(0, paths_.module.rfind('/') + 1);
    const std::string file_name = skeleton->name.substr(skeleton->name.rfind('/') + 1);
    std::vector<std::string> tried;
    for (const std::string& path : {beside(skeleton->directory + "/", skeleton->name),
                                    beside(folder, skeleton->name), folder + file_name}) {
      if (std::ranges::find(tried, path) != tried.end()) continue;
      tried.push_back(path);
      const auto file = open(paths_, path);
      if (!file) continue;
      if (auto unit = unit_of(file->sections, *skeleton, false)) return unit;
    }
    if (first_missing_.empty()) first_missing_ = tried.front();
  }
  ++missing_;
  return nullptr;
}

std::string SplitUnits::problem() const {
  if (missing_ == 0) return {};
  return fmt::format(
      "{} of {} units asked for have their debug information in files that are not there ({}{})", missing_,
      looked_for_, first_missing_.empty() ? "unnamed" : first_missing_, missing_ > 1 ? ", ..." : "");
}

}  // namespace fathom::symbolize

// Split DWARF: the entries of a unit lie in a file of their own (.dwo, or the object file itself), or in a
// package of many (.dwp next to the module), and the module has a skeleton of the unit. One way for all
// three: the unit's sections become an image for libdw, with the skeleton's addresses. Private to this
// folder.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "binary/symbolize/dwarf_file.h"
#include "binary/symbolize/range_lists.h"
#include "binary/symbolize/split_package.h"

namespace fathom::symbolize {

struct SplitUnit {
  std::unique_ptr<DwarfFile> file;
  Dwarf_Die die{};  // of the unit
  RangeTables tables;

  // Address ranges of one of its entries; at most `limit`.
  std::vector<AddressRange> ranges(Dwarf_Die& entry, std::size_t limit) const;
};

class SplitUnits {
 public:
  // `main` has the skeletons, and outlives this object. Packages and files next to the module are found
  // through `paths`.
  SplitUnits(const DwarfFile& main, std::uint16_t machine, PointedPaths paths)
      : main_(main), machine_(machine), paths_(std::move(paths)) {}

  // nullptr: `skeleton` is none, or its other part is nowhere.
  std::unique_ptr<SplitUnit> find(Dwarf_Die skeleton);

  // One line: which parts are not there; "" if all are.
  std::string problem() const;

 private:
  // A file with split DWARF, and its sections, unpacked where they were compressed.
  struct File {
    std::optional<PointedFile> pointed;
    std::vector<elf::SectionData> contents;
    SplitSections sections;
    bool is_package() const { return !section_of(sections, ".debug_cu_index").empty(); }
  };
  struct Skeleton;
  static std::optional<File> open(const PointedPaths& paths, const std::string& path);
  std::optional<Skeleton> read_skeleton(Dwarf_Die die) const;
  std::unique_ptr<SplitUnit> unit_of(const SplitSections& sections, const Skeleton& skeleton,
                                     bool of_package) const;
  const std::vector<File>& packages();

  const DwarfFile& main_;
  std::uint16_t machine_;
  PointedPaths paths_;
  std::optional<std::vector<File>> packages_;
  std::size_t looked_for_ = 0, missing_ = 0;
  std::string first_missing_;
};

}  // namespace fathom::symbolize

// What was mapped where in the program of a file of bytehound, and the programs that the file holds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/bytehound/events.h"
#include "formats/import/import.h"

namespace fathom::formats::bytehound {

class Code {
 public:
  // `import` outlives it.
  explicit Code(Import& import) : import_(import) {}
  void take_maps(std::string_view text);
  void add_region(const Event& event);
  void remove_region(const Event& event);
  // Contents of a file; nothing is kept of those that are no program.
  void take_file(const std::string& path, std::string_view contents);

  struct Place {
    model::FrameId frame;
    bool of_tool = false;  // in bytehound's own library
  };
  // `address`: that of the call, one below the address it returns to.
  Place place(std::uint64_t address);
  // Modules whose places are addresses of the process, as the file does not hold them.
  std::size_t without_contents() const { return without_contents_; }
  bool bad_maps() const { return bad_maps_; }

 private:
  struct Load {
    std::uint64_t offset, address, size;
    bool code;
  };
  struct Name {
    std::uint64_t address, size;
    std::string mangled;
  };
  struct Program {
    std::string identity;
    std::vector<Load> loads;
    std::vector<Name> names;  // by address
  };
  struct Mapping {
    std::uint64_t end, offset;
    std::string path;
    bool known = false, of_tool = false;  // the rest, once asked for
    model::ModuleId module;
    std::uint64_t bias = 0;
    const Program* program = nullptr;
  };
  void find(std::uint64_t start, Mapping& mapping);
  model::FrameId frame_of(const Mapping& mapping, std::uint64_t address);

  Import& import_;
  std::map<std::uint64_t, Mapping> mappings_;  // of code, by start
  std::map<std::string, Program> programs_;
  std::map<std::string, model::ModuleId> unknown_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, model::FrameId> frames_;
  std::size_t without_contents_ = 0;
  std::size_t room_ = std::size_t{1} << 30;  // bytes for names of programs that are still to come
  bool bad_maps_ = false;
};

}  // namespace fathom::formats::bytehound

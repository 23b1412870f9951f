#include "base/arch/common/function_ends.h"

#include <Zydis/Zydis.h>
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace fathom::arch {
namespace {

class EndsReading {
 public:
  explicit EndsReading(std::span<const CodePart> parts) : parts_(parts) {}

  FunctionEnds run() {
    if (parts_.empty() || parts_[0].code.empty() ||
        ZYAN_FAILED(ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
      return nothing("it has no code");
    for (const CodePart& part : parts_) {
      for (std::size_t at = 0; at < part.code.size();) {
        ZydisDecodedInstruction instruction;
        ZydisDecoderContext context;
        if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder_, &context, part.code.data() + at,
                                                      part.code.size() - at, &instruction)))
          return nothing(fmt::format("what lies at 0x{:x} is not an instruction", part.start + at));
        begins_.insert(part.start + at);
        read(instruction, part.start + at);
        if (!found_.problem.empty()) return nothing(found_.problem);
        at += instruction.length;
      }
    }
    for (const std::uint64_t target : targets_)
      if (!begins_.contains(target))
        return nothing(fmt::format("it jumps into an instruction at 0x{:x}", target));
    if (found_.ends.empty() && found_.open_jumps.empty()) return nothing("it is never left");
    return std::move(found_);
  }

 private:
  static FunctionEnds nothing(std::string why) {
    FunctionEnds none;
    none.problem = std::move(why);
    return none;
  }

  bool is_inside(std::uint64_t address) const {
    return std::ranges::any_of(parts_, [&](const CodePart& part) { return part.contains(address); });
  }

  void read(const ZydisDecodedInstruction& instruction, std::uint64_t address) {
    switch (instruction.meta.category) {
      case ZYDIS_CATEGORY_RET:
        if (instruction.meta.branch_type != ZYDIS_BRANCH_TYPE_NEAR)
          found_.problem = fmt::format("it returns in an unusual way at 0x{:x}", address);
        else
          found_.ends.push_back({.address = address, .returns = true});
        break;
      case ZYDIS_CATEGORY_UNCOND_BR:
      case ZYDIS_CATEGORY_COND_BR:
        jump(instruction, address);
        break;
      default:
        break;
    }
  }

  void jump(const ZydisDecodedInstruction& instruction, std::uint64_t address) {
    const bool conditional = instruction.meta.category == ZYDIS_CATEGORY_COND_BR;
    const auto& raw = instruction.raw;
    if (!raw.imm[0].is_relative) return jump_through(instruction, address);
    const std::uint64_t target =
        address + instruction.length + static_cast<std::uint64_t>(raw.imm[0].value.s);
    const bool restart = target == parts_[0].start;
    if (is_inside(target) && !restart) {
      targets_.push_back(target);
      return;
    }
    found_.restarts |= restart;
    FunctionEnd end;
    end.address = address;
    end.target = target;
    if (conditional) {
      // Jcc alone ask the flags: 70 to 7f, and 0f 80 to 0f 8f. Source: SDM volume 2, appendix B.1.4.7.
      const bool asks_flags =
          (instruction.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (instruction.opcode & 0xf0) == 0x70) ||
          (instruction.opcode_map == ZYDIS_OPCODE_MAP_0F && (instruction.opcode & 0xf0) == 0x80);
      if (!asks_flags) {
        found_.problem = fmt::format("it leaves in an unusual way at 0x{:x}", address);
        return;
      }
      end.is_conditional = true;
      end.condition = instruction.opcode & 0xf;
    }
    found_.ends.push_back(end);
  }

  void jump_through(const ZydisDecodedInstruction& instruction, std::uint64_t address) {
    const auto& raw = instruction.raw;
    // The compiler's word that the target is its own: jump tables have it in code for CET.
    if ((instruction.attributes & ZYDIS_ATTRIB_HAS_NOTRACK) != 0) return;
    const bool memory = raw.modrm.mod != 3;
    // jmp *slot(%rip): as a procedure linkage table does.
    if (memory && raw.modrm.mod == 0 && raw.modrm.rm == 5) {
      found_.ends.push_back({.address = address});
      return;
    }
    // With an index it is a table of the function's own; without, the slot of an object's function.
    const bool indexed = memory && raw.modrm.rm == 4 && (raw.sib.index != 4 || raw.rex.X != 0);
    if (!indexed) found_.open_jumps.push_back({address, memory});
  }

  std::span<const CodePart> parts_;
  ZydisDecoder decoder_{};
  FunctionEnds found_;
  std::unordered_set<std::uint64_t> begins_;
  std::vector<std::uint64_t> targets_;
};

}  // namespace

FunctionEnds function_ends(std::span<const CodePart> parts) {
  return EndsReading(parts).run();
}

}  // namespace fathom::arch

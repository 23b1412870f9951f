#!/usr/bin/env bash
# Knowledge about a processor stays in src/base/arch (and, where it needs types of DWARF, in src/binary/dwarf/PROCESSOR): no other
# source names its registers, its instructions or itself. Tests and what is for tests only (*_test.cpp, testing*, testdata) are
# free to: they run on one.
#
#   scripts/check-arch.sh [SOURCE TREE]      prints each line that it finds, and fails then
set -uo pipefail
cd "${1:-$(dirname "$0")/..}" || exit 2

# Registers by name, system headers' names for them, relocation kinds, the decoder, and the processor's own name. A hexadecimal
# number like 0x86 is none of these.
words='(^|[^0])x86|X86|\b[re](ip|sp|bp|[abcd]x|si|di)\b|\borig_r?ax\b|\bREG_(R[A-Z0-9]+|EFL)\b'
words+='|user_regs_struct|rdtsc|x86intrin|Zydis|ZYDIS|\bendbr|\bR_AARCH64|aarch64'

mapfile -t sources < <(
  find src \( -path src/base/arch -o -path 'src/binary/dwarf/*/*' \) -prune -o -type f \
    \( -name '*.h' -o -name '*.c' -o -name '*.cpp' -o -name '*.S' -o -name '*.lds' -o -name '*.cmake' -o -name CMakeLists.txt \) \
    -print | grep -vE '(_test\.cpp|/testing[^/]*|/testdata/.*|/testing/.*)$' | sort)
[ ${#sources[@]} -gt 300 ] || { echo "check-arch: only ${#sources[@]} sources: not the source tree" >&2; exit 2; }
if grep -nE "$words" "${sources[@]}"; then
  echo "check-arch: these lines outside of src/base/arch know a processor"
  exit 1
fi
echo "check-arch: of ${#sources[@]} sources outside of src/base/arch none knows a processor"

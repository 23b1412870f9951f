/* The values that a static probe (USDT) of the target names, read from its registers and its memory. */
#ifndef FATHOM_BPF_PROBE_VALUES_H
#define FATHOM_BPF_PROBE_VALUES_H

#include "base/abi/probe_accounts.h"

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1); /* MAX_PROBE_VALUES, set before loading */
  __type(key, u32);
  __type(value, struct probe_value);
} probe_values SEC(".maps");

/* 0 where the number is none of a register: the tables of user space have such ones only. */
static __always_inline u64 register_for_value(const struct pt_regs* regs, u32 number) {
  u64 value = 0;
  if (number == PROBE_REGISTER_PC)
    bpf_probe_read_kernel(&value, 8, &REGISTERS_PC(regs));
  else if (number < DWARF_REGISTERS_KEPT)
    bpf_probe_read_kernel(&value, 8, (const u64*)regs + word_of_register[number]);
  return value;
}

/* Its number in probe_values. Not 0: it could not be read. A program of its own for the verifier, as three of these in line are
 * nine kinds of reading each. */
static __attribute__((noinline)) int read_probe_value(u32 number, u64* out) {
  const struct probe_value* from = bpf_map_lookup_elem(&probe_values, &number);
  const struct pt_regs* regs = entry_registers(current_task());
  u64 value, address;
  u32 bits, size;
  *out = 0;
  if (!from) return -1;
  size = from->size;
  if (from->kind == PROBE_VALUE_CONSTANT) {
    value = from->offset;
  } else if (from->kind == PROBE_VALUE_REGISTER) {
    value = register_for_value(regs, from->base) >> (from->shift & 63);
  } else if (from->kind == PROBE_VALUE_MEMORY) {
    address = from->offset + register_for_value(regs, from->base) +
              register_for_value(regs, from->index) * from->scale;
    value = 0;
    /* Not more than there is: what lies behind may not be mapped. */
    if (size == 8) {
      if (bpf_probe_read_user(&value, 8, (const void*)address)) return -1;
    } else if (size == 4) {
      if (bpf_probe_read_user(&value, 4, (const void*)address)) return -1;
    } else if (size == 2) {
      if (bpf_probe_read_user(&value, 2, (const void*)address)) return -1;
    } else {
      if (bpf_probe_read_user(&value, 1, (const void*)address)) return -1;
    }
  } else {
    return -1;
  }
  bits = 64 - size * 8;
  bits &= 63;
  value <<= bits;
  *out = from->is_signed ? (u64)((s64)value >> bits) : value >> bits;
  return 0;
}

#endif

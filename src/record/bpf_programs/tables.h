/* The maps that user space fills: which processes are recorded, where their code is mapped, and how to unwind
 * it; and the accessors through which base/arch/step.h reads them. Arrays are mmapped by user space and written with
 * memcpy. */
#ifndef FATHOM_BPF_TABLES_H
#define FATHOM_BPF_TABLES_H

/* Array elements are rounded up to 8 bytes, so rows are packed; the last steps of a search share a cache
 * line. */
#define ROWS_PER_LINE 16
struct row_line {
  unwind_row rows[ROWS_PER_LINE];
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1); /* set before loading */
  __type(key, u32);
  __type(value, struct row_line);
} unwind_rows SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1); /* set before loading */
  __type(key, u32);
  __type(value, unwind_page);
} unwind_pages SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, UNWIND_MAX_RULES);
  __type(key, u32);
  __type(value, struct unwind_rule);
} unwind_rules SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, MAX_MAPPINGS);
  __type(key, u32);
  __type(value, struct unwind_mapping);
} unwind_mappings SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, MAX_PROCESSES);
  __type(key, u32);
  __type(value, struct tracked_process);
} processes SEC(".maps");

/* How many programs a recorded process has executed since it is followed; nothing stands for 0. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, MAX_PROCESSES);
  __type(key, u32);
  __type(value, u32);
} programs_executed SEC(".maps");

/* The epoch that holds now. `mapping_count` is 0 as long as the mappings are those of an earlier program. */
static __always_inline u32 current_epoch(u32 pid, const struct tracked_process* process, u32* mapping_count) {
  const u32* executed = bpf_map_lookup_elem(&programs_executed, &pid);
  u32 first_epoch = executed ? *executed << EPOCH_PROGRAM_SHIFT : 0;
  if (process->epoch < first_epoch) {
    *mapping_count = 0;
    return first_epoch;
  }
  *mapping_count = process->mapping_count;
  return process->epoch;
}

#define STEP_FN SHARED_FUNCTION

struct step_walk;
static __always_inline int step_read_u64(struct step_walk* w, u64 address, u64* value);
static __always_inline int step_read_code(struct step_walk* w, u64 address, u64* value);
static __always_inline int step_read_register(struct step_walk* w, u32 number, u64* value);
static __always_inline const struct unwind_mapping* step_mapping(struct step_walk* w, u32 index);
static __always_inline unwind_page step_page(struct step_walk* w, u32 page);
static __always_inline const unwind_row* step_row(struct step_walk* w, u32 row);
static __always_inline const struct unwind_rule* step_rule(struct step_walk* w, u32 rule);

#include "base/arch/step.h"

static __always_inline int step_read_u64(struct step_walk* w, u64 address, u64* value) {
  return bpf_probe_read_user(value, 8, (void*)address) ? WALK_READ_FAULT : 0;
}

static __always_inline int step_read_code(struct step_walk* w, u64 address, u64* value) {
  return bpf_probe_read_user(value, 8, (void*)address) ? -1 : 0;
}

/* By DWARF number. */
const volatile u8 word_of_register[DWARF_REGISTERS_KEPT] = WORDS_OF_REGISTERS;

static __always_inline int step_read_register(struct step_walk* w, u32 number, u64* value) {
  struct pt_regs* regs = entry_registers(current_task());
  if (number >= DWARF_REGISTERS_KEPT) return -1;
  return bpf_probe_read_kernel(value, 8, (const u64*)regs + word_of_register[number]) ? -1 : 0;
}

static __always_inline const struct unwind_mapping* step_mapping(struct step_walk* w, u32 index) {
  u32 key = (u32)w->mapping_first + index;
  if (index >= w->mapping_count) return 0;
  return bpf_map_lookup_elem(&unwind_mappings, &key);
}

static __always_inline unwind_page step_page(struct step_walk* w, u32 page) {
  unwind_page* value = bpf_map_lookup_elem(&unwind_pages, &page);
  return value ? *value : 0;
}

static __always_inline const unwind_row* step_row(struct step_walk* w, u32 row) {
  u32 line = row / ROWS_PER_LINE;
  struct row_line* value = bpf_map_lookup_elem(&unwind_rows, &line);
  return value ? &value->rows[row % ROWS_PER_LINE] : 0;
}

static __always_inline const struct unwind_rule* step_rule(struct step_walk* w, u32 rule) {
  return bpf_map_lookup_elem(&unwind_rules, &rule);
}

#endif

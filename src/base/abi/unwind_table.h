/* The unwind table: what .eh_frame and .debug_frame say, for the registers pc, sp and fp (the instruction, stack and frame pointers), in a form
 * that a BPF program can search. One table per module, in ELF addresses; all modules of a recording are
 * joined into one array of rows, one of pages and one of rules. Plain C: compiled for BPF and for user mode.
 *
 *   page index   address >> 16 (minus the module's first page)  ->  rows of that page
 *   row          low 16 bits of the address from which on the rule holds, and the rule's number
 *   rule         how to find the caller's registers; the same few hundred serve all modules
 *
 * An address uses the last row whose address is not greater; rows of the page before count for the start of a
 * page. The first row of every module is at the start of its first page (UNWIND_ROW(0, ...), CFA_NONE unless
 * code starts right there), so that no search leaves the module. */
#ifndef FATHOM_ABI_UNWIND_TABLE_H
#define FATHOM_ABI_UNWIND_TABLE_H

#ifndef __bpf__
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
#endif

/* Where the canonical frame address (CFA) is: the value of sp before the call instruction pushed. */
enum unwind_cfa {
  CFA_NONE = 0,        /* no rule: a gap between functions, or code without unwind information */
  CFA_SP = 1,          /* sp + offset */
  CFA_FP = 2,          /* fp + offset */
  CFA_PLT = 3,         /* sp + offset + ((pc & 15) >= reg ? 8 : 0): procedure linkage table stubs */
  CFA_DEREF_SP = 4,    /* *(sp + offset) + add: re-aligned frames */
  CFA_DEREF_FP = 5,    /* *(fp + offset) + add */
  CFA_REGISTER = 6,    /* DWARF register `reg` + offset, as sampled: doubted in all frames but the first */
  CFA_SIGNAL = 7,      /* a signal frame: the registers are in the kernel's ucontext above sp */
  CFA_END = 8,         /* the return address is undefined: the start of the thread */
  CFA_UNSUPPORTED = 9, /* there is a rule and we cannot express it */
  CFA_EXCEPTION =
      10, /* slots that the rule counts on are overwritten: an exception goes on to its handler from here */
  CFA_BINDING =
      11 /* the loader looks a function up: as CFA_REGISTER in the first frame, and else by the frame's size,
                    * which the word at ELF address fp_offset has (fp is FP_SAME); base/arch/step.h says how */
};

/* Where the caller's fp is. */
enum unwind_fp {
  FP_SAME = 0,
  FP_AT_CFA = 1, /* *(CFA + fp_offset) */
  FP_AT_FP = 2,  /* *(fp + fp_offset): re-aligned frames */
  FP_UNDEFINED = 3
};

/* The return address is at CFA - 8 always, but for CFA_SIGNAL and CFA_END. */
struct unwind_rule {
  s32 cfa_offset;
  s32 fp_offset;
  u8 cfa; /* enum unwind_cfa */
  u8 fp;  /* enum unwind_fp */
  u8 reg; /* CFA_REGISTER: DWARF number; CFA_PLT: the threshold */
  s8 add; /* CFA_DEREF_*: added after the load */
  u32 flags;
};

/* Made from code whose bounds are guessed: a return address that this rule finds is believed only behind a call. */
#define UNWIND_RULE_GUESSED 1u
/* Of code that changes to another stack: the caller's frame may lie below, and its return address is doubted as well.
 */
#define UNWIND_RULE_SWITCHES 2u

/* A row: low 16 bits of the address | rule number << 16. */
typedef u32 unwind_row;
#define UNWIND_ROW(address, rule) ((u32)((address)&0xffff) | (u32)(rule) << 16)
#define UNWIND_ROW_ADDRESS(row) ((row)&0xffff)
#define UNWIND_ROW_RULE(row) ((row) >> 16)

/* A page: first row | row after the last << 32. */
typedef u64 unwind_page;

#define UNWIND_PAGE_SHIFT 16
#define UNWIND_MAX_RULES 65536
/* Rule 0 is always CFA_NONE. */

/* An executable mapping of a process, in a sorted array. */
struct unwind_mapping {
  u64 start, end; /* process addresses */
  u64 bias;       /* process address - ELF address; 0 without a table */
  u32 first_page; /* in the joined page array: of ELF address first_address >> 16 */
  u32 page_count; /* 0: code without a table (made at run time, or the table space is full) */
  u64 page_base;  /* ELF address >> 16 of first_page */
};

#ifdef __cplusplus
static_assert(sizeof(unwind_rule) == 16, "rules are 16 bytes on both sides");
static_assert(sizeof(unwind_mapping) == 40, "mappings are 40 bytes on both sides");
#endif

#endif

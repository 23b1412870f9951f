/* The entries of the hooks and their fast paths, and the header of the image.
 *
 * A caller that was compiled together with the original may know which registers that one leaves alone (gcc -fipa-ra):
 * the fast paths change nothing but r10, r11, rax and the flags, and the slow path gives every register back as it was,
 * or as the original left it. Nothing here touches a vector register.
 *
 * Jumps to the originals are `notrack`: the relocated start of a function has no endbr64. */
#include "attach/tracer/state.h"

#define HOOKS (1 << HOOKS_LOG2)
#define ENTRY_BYTES 128
/* Shapes from this one on have no fast path. */
#define FIRST_RARE_SHAPE 10
#define RARE_SHAPES 6
#define RARE_ENTRY_BYTES 16

/* ---- the header: struct tracer_image_header ---- */
  .section .header, "a", @progbits
  .globl tracer_image_start
  .hidden tracer_image_start
tracer_image_start:
  .ascii "fhtracer"
  .long 6                                         /* TRACER_VERSION */
  .long tracer_image_end - tracer_image_start     /* text_bytes */
  .long tracer_config - tracer_image_start        /* config_offset */
  .long STATE_BYTES
  .set shape, 0
  .rept FIRST_RARE_SHAPE
    .set i, 0
    .rept HOOKS
      .long entries - tracer_image_start + (i * FIRST_RARE_SHAPE + shape) * ENTRY_BYTES
      .set i, i + 1
    .endr
    .set shape, shape + 1
  .endr
  .set i, 0
  .rept HOOKS * RARE_SHAPES
    .long rare_entries - tracer_image_start + i * RARE_ENTRY_BYTES
    .set i, i + 1
  .endr

/* ---- struct tracer_config, on pages of its own ---- */
  .section .config, "a", @progbits
  .globl tracer_config
  .hidden tracer_config
tracer_config:
  .zero 8192

/* ---- the entries and the fast paths ---- */
  .text

/* On to the original; `hook` is a number, shape and index. */
  .macro jump_to_original_of hook
  notrack jmp *tracer_config + CONFIG_ORIGINAL + 8 * (\hook)(%rip)
  .endm
  .macro jump_to_original /* the hook is in r11 */
  lea tracer_config + CONFIG_ORIGINAL(%rip), %rax
  notrack jmp *(%rax,%r11,8)
  .endm

/* The thread's slot: its place, without STATE_SLOTS, in r10; to `missing` if it has none where it should be, to `none` if
 * there is no state. Changes rax. */
  .macro find_slot missing, none
  cmpq $0, tracer_config + CONFIG_STATE(%rip)
  je \none
  mov %fs:0, %rax
  imul $HASH_FACTOR_32, %eax, %r10d
  shr $(32 - SLOTS_LOG2), %r10d
  shl $SLOT_SIZE_LOG2, %r10d
  add tracer_config + CONFIG_STATE(%rip), %r10
  cmp %rax, STATE_SLOTS(%r10)
  jne \missing
  .endm

/* Takes the size in a register off the countdown; on to `due` with the countdown as it was if nothing would be left, and
 * with what would be left in rax. */
  .macro count_down size, due
  mov STATE_SLOTS + SLOT_COUNTDOWN(%r10), %rax
  sub \size, %rax
  jbe \due
  mov %rax, STATE_SLOTS + SLOT_COUNTDOWN(%r10)
  .endm

/* The same for a product. */
  .macro count_down_product count, size, overflow, due
  mov \count, %rax
  imul \size, %rax
  jo \overflow
  neg %rax
  jg \overflow
  add STATE_SLOTS + SLOT_COUNTDOWN(%r10), %rax
  jle \due
  mov %rax, STATE_SLOTS + SLOT_COUNTDOWN(%r10)
  .endm

/* May the block in rdi be a sampled one? Then to `maybe`. Changes r10 and rax. */
  .macro test_block_bit bits, bits_log2
  imul $HASH_FACTOR_32, %edi, %r10d
  shr $(32 - \bits_log2), %r10d
  mov %r10d, %eax
  shr $3, %eax
  and $-4, %eax
  add tracer_config + CONFIG_STATE(%rip), %rax
  mov \bits(%rax), %eax
  bt %r10d, %eax
  .endm
  .macro check_block maybe
  test_block_bit STATE_SIEVE, SIEVE_LOG2
  jnc no_block_\@
  test_block_bit STATE_FILTER, FILTER_LOG2
  jnc no_block_\@
  test_block_bit STATE_BITMAP, BITMAP_LOG2
  jc \maybe
no_block_\@:
  .endm

/* An entry ends with the ways out of its fast path. */
  .macro ways_out hook, slow_path, exact_path
9: jump_to_original_of \hook
2: mov $(\hook), %r11d
  jmp \slow_path
3: mov $(\hook), %r11d
  jmp \exact_path
  .endm

  .macro entry_of_one_size hook, size, exact_path
  endbr64
  find_slot 2f, 9f
  count_down \size, 3f
  ways_out \hook, slow, \exact_path
  .endm

  .macro entry_of_product hook
  endbr64
  find_slot 2f, 9f
  count_down_product %rdi, %rsi, 2f, 3f
  ways_out \hook, slow, exact
  .endm

  .macro entry_of_free hook, exact_path
  endbr64
  mov tracer_config + CONFIG_STATE(%rip), %r10
  test %r10, %r10
  je 9f
  cmpl $2, STATE_MODE(%r10) /* TRACER_EXACT */
  je 3f
  imul $HASH_FACTOR_32, %edi, %r11d
  shr $(32 - SIEVE_LOG2), %r11d
  mov %r11d, %eax
  shr $5, %eax
  mov STATE_SIEVE(%r10,%rax,4), %eax
  bt %r11d, %eax
  jc 2f
  ways_out \hook, path_free, \exact_path
  .endm

  .macro entry_elsewhere hook, path
  endbr64
  mov $(\hook), %r11d
  jmp \path
  .endm

  .macro define_malloc hook
  entry_of_one_size \hook, %rdi, exact
  .endm
  .macro define_calloc hook
  entry_of_product \hook
  .endm
  .macro define_aligned hook
  entry_of_one_size \hook, %rsi, exact
  .endm
  .macro define_posix hook
  entry_of_one_size \hook, %rdx, exact_posix
  .endm
  .macro define_realloc hook
  entry_elsewhere \hook, path_realloc
  .endm
  .macro define_reallocarray hook
  entry_elsewhere \hook, path_reallocarray
  .endm
  .macro define_xallocx hook
  entry_elsewhere \hook, path_xallocx
  .endm
  .macro define_free hook
  entry_of_free \hook, exact_free
  .endm
  .macro define_new hook
  entry_of_one_size \hook, %rdi, slow
  .endm
  .macro define_free_sized hook
  entry_of_free \hook, exact_free_sized
  .endm

  .macro entry shape, number
  .org entries + ENTRY_BYTES * (i * FIRST_RARE_SHAPE + \number), 0xcc /* an entry that is too long is an error here */
  define_\shape (\number << HOOKS_LOG2) | i
  .endm

/* The hooks of a program are the first few of each shape: those lie on one page, as each page of code more costs a program
 * that uses many by itself. */
  .balign 4096
entries:
  .set i, 0
  .rept HOOKS
  entry malloc, 0
  entry calloc, 1
  entry aligned, 2
  entry posix, 3
  entry realloc, 4
  entry reallocarray, 5
  entry xallocx, 6
  entry free, 7
  entry new, 8
  entry free_sized, 9
  .set i, i + 1
  .endr
  .org entries + ENTRY_BYTES * HOOKS * FIRST_RARE_SHAPE, 0xcc

  .balign 16
rare_entries:
  .set i, 0
  .rept HOOKS * RARE_SHAPES
  .org rare_entries + RARE_ENTRY_BYTES * i, 0xcc
  entry_elsewhere (FIRST_RARE_SHAPE << HOOKS_LOG2) + i, path_rare
  .set i, i + 1
  .endr
  .org rare_entries + RARE_ENTRY_BYTES * i, 0xcc

  .balign 32
path_realloc:
  cmpq $0, tracer_config + CONFIG_STATE(%rip)
  je original
  check_block slow
  find_slot slow, original
  count_down %rsi, slow
original:
  jump_to_original

  .balign 32
path_reallocarray:
  cmpq $0, tracer_config + CONFIG_STATE(%rip)
  je original
  check_block slow
  find_slot slow, original
  count_down_product %rsi, %rdx, slow, slow
  jump_to_original

  .balign 32
path_free: /* the first level of the sets says that it may be a sampled one; the state is in r10 */
  imul $HASH_FACTOR_32, %edi, %eax
  shr $(32 - FILTER_LOG2), %eax
  btl %eax, STATE_FILTER(%r10)
  jnc original
  imul $HASH_FACTOR_32, %edi, %eax
  shr $(32 - BITMAP_LOG2), %eax
  btl %eax, STATE_BITMAP(%r10)
  jc slow_free
  jump_to_original

  .balign 32
path_rare:
  cmpq $0, tracer_config + CONFIG_STATE(%rip)
  jne slow
  jump_to_original

  .balign 32
path_xallocx:
  mov tracer_config + CONFIG_STATE(%rip), %rax
  test %rax, %rax
  je original
  cmpl $2, STATE_MODE(%rax)
  je slow
  jump_to_original

/* A free in exact mode, when all is as it mostly is: the thread has its slot where it belongs and a ring with room in one
 * piece, is inside of no recorded call, and nothing is due to be looked at. What the original may free is recorded before.
 * The state is in r10. */
  .macro record_free kind, bytes
  test %rdi, %rdi
  je original
  push %rcx
  push %rdx
  mov %fs:0, %rax
  imul $HASH_FACTOR_32, %eax, %ecx
  shr $(32 - SLOTS_LOG2), %ecx
  shl $SLOT_SIZE_LOG2, %ecx
  lea STATE_SLOTS(%r10,%rcx), %rcx
  mov STATE_TID_OFFSET(%r10), %rdx
  cmp %rax, (%rcx)
  jne 2f
  cmpq $0, SLOT_BUSY(%rcx)
  jne 2f
  mov %fs:(%rdx), %eax
  cmp %eax, SLOT_TID(%rcx)
  jne 2f
  mov SLOT_HEAD(%rcx), %rax
  add $\bytes, %rax
  cmp SLOT_LIMIT(%rcx), %rax
  ja 2f
  lea 25(%rsp), %rax
  mov %rax, SLOT_BUSY(%rcx)
  .if \bytes == 24
  lea tracer_config + CONFIG_ALLOCATOR(%rip), %rax
  cmpb $255, (%rax,%r11) /* TRACER_NO_ALLOCATOR: the event that frees comes next, and has the time */
  mov $\kind, %eax
  je 1f
  .endif
  mov STATE_SEQUENCE(%r10), %rax
  test %rax, %rax
  jne 3f
  rdtsc
  shl $40, %rdx
  shl $8, %rax
  lea \kind(%rax,%rdx), %rax
4:
  add STATE_FIRST_BIAS(%r10), %rax
1:
  mov SLOT_HEAD(%rcx), %rdx
  add SLOT_BIAS(%rcx), %rdx
  mov %rax, (%rdx)
  lea tracer_config + CONFIG_ALLOCATOR(%rip), %rax
  movzbl (%rax,%r11), %eax
  shl $56, %rax
  or %rdi, %rax
  mov %rax, 8(%rdx)
  .if \bytes == 24
  mov %rsi, 16(%rdx)
  .endif
  mov SLOT_HEAD(%rcx), %rax
  mov SLOT_RING(%rcx), %rdx
  add $\bytes, %rax
  mov %rax, SLOT_HEAD(%rcx)
  mov %rax, RING_HEAD(%rdx)
  movq $0, SLOT_BUSY(%rcx)
  pop %rdx
  pop %rcx
  jump_to_original
3:
  mov $1, %edx
  lock xadd %rdx, (%rax)
  shl $8, %rdx
  lea \kind(%rdx), %rax
  jmp 4b
2:
  pop %rdx
  pop %rcx
  jmp slow_free
  .endm

  .balign 64
exact_free:
  record_free 5, 16 /* TRACER_EVENT_FREE */

  .balign 64
exact_free_sized:
  record_free 8, 24 /* TRACER_EVENT_FREE_SIZED */

/* Makes struct call on the stack. */
  .macro push_call
  push %rbp
  mov %rsp, %rbp
  sub $CALL_FRAME, %rsp
  mov %rdi, CALL_ARGUMENTS(%rsp)
  mov %rsi, CALL_ARGUMENTS + 8(%rsp)
  mov %rdx, CALL_ARGUMENTS + 16(%rsp)
  mov %rcx, CALL_ARGUMENTS + 24(%rsp)
  mov %r8, CALL_ARGUMENTS + 32(%rsp)
  mov %r9, CALL_ARGUMENTS + 40(%rsp)
  mov %r11, CALL_HOOK(%rsp)
  .endm

/* The registers as the original left them, but for those that the fast paths change. */
  .macro save_result
  mov %rax, CALL_AFTER(%rsp)
  mov %rdx, CALL_AFTER + 8(%rsp)
  mov %rcx, CALL_AFTER + 16(%rsp)
  mov %rsi, CALL_AFTER + 24(%rsp)
  mov %rdi, CALL_AFTER + 32(%rsp)
  mov %r8, CALL_AFTER + 40(%rsp)
  mov %r9, CALL_AFTER + 48(%rsp)
  .endm
  .macro result
  mov CALL_AFTER(%rsp), %rax
  mov CALL_AFTER + 8(%rsp), %rdx
  mov CALL_AFTER + 16(%rsp), %rcx
  mov CALL_AFTER + 24(%rsp), %rsi
  mov CALL_AFTER + 32(%rsp), %rdi
  mov CALL_AFTER + 40(%rsp), %r8
  mov CALL_AFTER + 48(%rsp), %r9
  .endm

/* The registers as the caller had them. */
  .macro arguments
  mov CALL_ARGUMENTS(%rsp), %rdi
  mov CALL_ARGUMENTS + 8(%rsp), %rsi
  mov CALL_ARGUMENTS + 16(%rsp), %rdx
  mov CALL_ARGUMENTS + 24(%rsp), %rcx
  mov CALL_ARGUMENTS + 32(%rsp), %r8
  mov CALL_ARGUMENTS + 40(%rsp), %r9
  mov CALL_HOOK(%rsp), %r11
  .endm

  .balign 32
slow_free:
  test %rdi, %rdi
  je original
  push_call
  mov %rsp, %rdi
  call tracer_free
pass:
  arguments
  leave
  jump_to_original

  .balign 32
slow:
  push_call
  lea tracer_config + CONFIG_ORIGINAL(%rip), %rax
  mov (%rax,%r11,8), %rax
  mov %rax, CALL_TARGET(%rsp)
  mov %rsp, %rdi
  call tracer_before
  test %eax, %eax
  je pass
  arguments
  notrack call *CALL_TARGET(%rsp)
  save_result
  mov %rsp, %rdi
  call tracer_after
  test %eax, %eax
  jne pass
  result
  leave
  ret

/* An allocation in exact mode, with the slot's place in r10 and in rax what would be left of its countdown, which is 0 in
 * this mode: no tracer_before. The word below the frame is what is_nested looks for, before the call puts its return
 * address there. */
  .macro record_allocation posix
  cmpl $2, STATE_SLOTS + SLOT_MODE(%r10)
  jne slow
  cmpq $0, STATE_SLOTS + SLOT_BUSY(%r10)
  jne slow
  push %rbp
  mov %rsp, %rbp
  sub $CALL_FRAME, %rsp
  neg %rax
  mov %rax, CALL_SIZE(%rsp)
  .if \posix
  mov %rdi, CALL_ARGUMENTS(%rsp)
  .endif
  mov %r11, CALL_HOOK(%rsp)
  add $STATE_SLOTS, %r10
  mov %r10, CALL_SLOT(%rsp)
  lea exact(%rip), %rax
  mov %rax, -8(%rsp)
  lea 16(%rbp), %rax
  mov %rax, SLOT_BUSY(%r10)
  lea tracer_config + CONFIG_ORIGINAL(%rip), %rax
  notrack call *(%rax,%r11,8)
  save_result
  mov %rsp, %rdi
  .if \posix
  xor %esi, %esi
  test %eax, %eax
  jne 1f
  mov CALL_ARGUMENTS(%rsp), %rax
  mov (%rax), %rsi
1:
  .else
  mov %rax, %rsi
  .endif
  call tracer_after_exact
  result
  leave
  ret
  .endm

  .balign 64
exact:
  record_allocation 0

  .balign 64
exact_posix:
  record_allocation 1

  .section .note.GNU-stack, "", @progbits

/* The entries of the hooks and their fast paths, and the header of the image.
 *
 * A caller that was compiled together with the original may know which registers that one leaves alone (gcc -fipa-ra):
 * the fast paths change nothing but r10, r11, rax and the flags, and the slow path gives every register back as it was,
 * or as the original left it. Nothing here touches a vector register.
 *
 * Jumps to the originals are `notrack`: the relocated start of a function has no endbr64. */
#include "tracer/state.h"

#define HOOKS (1 << HOOKS_LOG2)
#define ENTRY_BYTES 16

/* ---- the header: struct tracer_image_header ---- */
  .section .header, "a", @progbits
  .globl tracer_image_start
  .hidden tracer_image_start
tracer_image_start:
  .ascii "fhtracer"
  .long 1                                         /* TRACER_VERSION */
  .long tracer_image_end - tracer_image_start     /* text_bytes */
  .long tracer_config - tracer_image_start        /* config_offset */
  .long STATE_BYTES
  .irp shape, malloc, calloc, aligned, posix, realloc, reallocarray, xallocx, free, new
    .set i, 0
    .rept HOOKS
      .long entries_\shape - tracer_image_start + i * ENTRY_BYTES
      .set i, i + 1
    .endr
  .endr

/* ---- struct tracer_config, on pages of its own ---- */
  .section .config, "a", @progbits
  .globl tracer_config
  .hidden tracer_config
tracer_config:
  .zero 4096

/* ---- the entries: which hook, and on to the path of the shape ---- */
  .text
  .macro entries shape, number
  .balign 16
entries_\shape:
  .set i, 0
  .rept HOOKS
  .balign ENTRY_BYTES
  endbr64
  mov $((\number << HOOKS_LOG2) | i), %r11d
  jmp path_\shape
  .set i, i + 1
  .endr
  .endm
  entries malloc, 0
  entries calloc, 1
  entries aligned, 2
  entries posix, 3
  entries realloc, 4
  entries reallocarray, 5
  entries xallocx, 6
  entries free, 7
  entries new, 8

/* On to the original, r11 being the hook. */
  .macro jump_to_original
  lea tracer_config + CONFIG_ORIGINAL(%rip), %rax
  notrack jmp *(%rax,%r11,8)
  .endm

/* The thread's slot in r10, or on to the slow path; to `original` if there is no state. Changes rax. */
  .macro find_slot
  cmpq $0, tracer_config + CONFIG_STATE(%rip)
  je original
  mov %fs:0, %rax
  movabs $HASH_FACTOR, %r10
  imul %rax, %r10
  shr $(64 - SLOTS_LOG2), %r10
  shl $SLOT_SIZE_LOG2, %r10
  add tracer_config + CONFIG_STATE(%rip), %r10
  cmp %rax, STATE_SLOTS(%r10)
  jne slow
  .endm

/* Takes the size in a register off the countdown; on to `due` with the countdown as it was if less would be left than
 * nothing. */
  .macro count_down size, due
  mov STATE_SLOTS + SLOT_COUNTDOWN(%r10), %rax
  sub \size, %rax
  js \due
  mov %rax, STATE_SLOTS + SLOT_COUNTDOWN(%r10)
  .endm

/* The same for a product. */
  .macro count_down_product count, size, due
  mov \count, %rax
  imul \size, %rax
  jo slow
  neg %rax
  add STATE_SLOTS + SLOT_COUNTDOWN(%r10), %rax
  js \due
  mov %rax, STATE_SLOTS + SLOT_COUNTDOWN(%r10)
  .endm

/* May the block in rdi be a sampled one? Then to `slow`. Needs a state. */
  .macro check_block slow
  movabs $HASH_FACTOR, %r10
  imul %rdi, %r10
  shr $(64 - BITMAP_LOG2), %r10
  mov %r10d, %eax
  shr $3, %eax
  and $-4, %eax
  add tracer_config + CONFIG_STATE(%rip), %rax
  mov STATE_BITMAP(%rax), %eax
  bt %r10d, %eax
  jc \slow
  .endm

/* Ticks in rax; changes rdx. */
  .macro read_clock
  rdtsc
  shl $32, %rdx
  or %rdx, %rax
  .endm

/* The shapes that need nothing before the original but that the thread is marked as busy. */
  .balign 32
path_malloc:
  find_slot
  count_down %rdi, exact
original:
  jump_to_original

  .balign 32
path_new:
  find_slot
  count_down %rdi, slow
  jump_to_original

  .balign 32
path_aligned:
  find_slot
  count_down %rsi, exact
  jump_to_original

  .balign 32
path_posix:
  find_slot
  count_down %rdx, exact
  jump_to_original

  .balign 32
path_calloc:
  find_slot
  count_down_product %rdi, %rsi, exact
  jump_to_original

  .balign 32
path_realloc:
  cmpq $0, tracer_config + CONFIG_STATE(%rip)
  je original
  check_block slow
  find_slot
  count_down %rsi, slow
  jump_to_original

  .balign 32
path_reallocarray:
  cmpq $0, tracer_config + CONFIG_STATE(%rip)
  je original
  check_block slow
  find_slot
  count_down_product %rsi, %rdx, slow
  jump_to_original

  .balign 32
path_xallocx:
  mov tracer_config + CONFIG_STATE(%rip), %rax
  test %rax, %rax
  je original
  cmpl $2, STATE_MODE(%rax) /* TRACER_EXACT */
  je slow
  jump_to_original

  .balign 32
path_free:
  mov tracer_config + CONFIG_STATE(%rip), %rax
  test %rax, %rax
  je original
  cmpl $2, STATE_MODE(%rax)
  je exact_free
  check_block slow_free
  jump_to_original

/* A free in exact mode, when all is as it mostly is: the thread has its slot where it belongs and a ring with room, is
 * inside of no recorded call, and nothing is due to be looked at. What the original may free is recorded before. */
  .balign 32
exact_free:
  test %rdi, %rdi
  je original
  mov %fs:0, %rax
  movabs $HASH_FACTOR, %r10
  imul %rax, %r10
  shr $(64 - SLOTS_LOG2), %r10
  shl $SLOT_SIZE_LOG2, %r10
  add tracer_config + CONFIG_STATE(%rip), %r10
  add $STATE_SLOTS, %r10
  cmp %rax, (%r10)
  jne slow_free
  cmpq $0, SLOT_BUSY(%r10)
  jne slow_free
  mov tracer_config + CONFIG_STATE(%rip), %rax
  mov STATE_TID_OFFSET(%rax), %rax
  mov %fs:(%rax), %eax
  cmp %eax, SLOT_TID(%r10)
  jne slow_free
  mov SLOT_HEAD(%r10), %rax
  add $16, %rax
  cmp SLOT_LIMIT(%r10), %rax
  ja slow_free
  subl $1, SLOT_CREDIT(%r10)
  jb no_credit
  lea 9(%rsp), %rax
  mov %rax, SLOT_BUSY(%r10)
  push %rdx
  push %rcx
  mov tracer_config + CONFIG_STATE(%rip), %rcx
  read_clock
  sub STATE_TSC_BASE(%rcx), %rax
  mov STATE_RING_MASK(%rcx), %rcx
  mov SLOT_HEAD(%r10), %rdx
  and %rcx, %rdx
  add SLOT_RING(%r10), %rdx
  shl $8, %rax
  or $5, %rax /* TRACER_EVENT_FREE */
  mov %rax, RING_DATA(%rdx)
  lea tracer_config + CONFIG_ALLOCATOR(%rip), %rax
  movzbl (%rax,%r11), %edx
  shl $56, %rdx
  or %rdi, %rdx
  mov SLOT_HEAD(%r10), %rax
  add $8, %rax
  and %rcx, %rax
  mov SLOT_RING(%r10), %rcx
  mov %rdx, RING_DATA(%rcx,%rax)
  mov SLOT_HEAD(%r10), %rax
  add $16, %rax
  mov %rax, SLOT_HEAD(%r10)
  mov %rax, RING_HEAD(%rcx)
  movq $0, SLOT_BUSY(%r10)
  pop %rcx
  pop %rdx
  jump_to_original
no_credit:
  movl $0, SLOT_CREDIT(%r10)
  jmp slow_free

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

/* An allocation in exact mode, with the slot's place in r10: no tracer_before. The word below the frame is what is_nested
 * looks for, before the call puts its return address there. */
  .balign 32
exact:
  cmpl $2, STATE_SLOTS + SLOT_MODE(%r10)
  jne slow
  cmpq $0, STATE_SLOTS + SLOT_BUSY(%r10)
  jne slow
  push %rbp
  mov %rsp, %rbp
  sub $CALL_FRAME, %rsp
  mov %rdi, CALL_ARGUMENTS(%rsp)
  mov %rsi, CALL_ARGUMENTS + 8(%rsp)
  mov %rdx, CALL_ARGUMENTS + 16(%rsp)
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
  call tracer_after_exact
  result
  leave
  ret

  .section .note.GNU-stack, "", @progbits

// Hand-written code without a single line of call frame information, as in many an old library.
    .text

// A leaf that pushes nothing: its return address is on top of the stack.
    .globl  zoo_leaf_without_cfi
    .type   zoo_leaf_without_cfi, @function
zoo_leaf_without_cfi:
    mov     %rdi, %rcx
    mov     $1, %eax
1:  imul    $1103515245, %rax, %rax
    add     %rcx, %rax
    dec     %rcx
    jnz     1b
    ret
    .size   zoo_leaf_without_cfi, . - zoo_leaf_without_cfi

// Calls on, and can be passed only by its frame pointer.
    .globl  zoo_framed_without_cfi
    .type   zoo_framed_without_cfi, @function
zoo_framed_without_cfi:
    push    %rbp
    mov     %rsp, %rbp
    mov     %rdi, %rax
    mov     %rsi, %rdi
    call    *%rax
    pop     %rbp
    ret
    .size   zoo_framed_without_cfi, . - zoo_framed_without_cfi

    .section .note.GNU-stack, "", @progbits

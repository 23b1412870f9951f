/* The linked image, as bytes of fathom. */
  .section .rodata.fathom_tracer_image, "a", @progbits
  .balign 4096
  .globl fathom_tracer_image_start, fathom_tracer_image_end
  .hidden fathom_tracer_image_start
  .hidden fathom_tracer_image_end
fathom_tracer_image_start:
  .incbin IMAGE
fathom_tracer_image_end:
  .section .note.GNU-stack, "", @progbits

/* What the portable programs write in assembler that A32 code has by another name. */

#ifndef __ASSEMBLER__
__asm(".macro nop.w\n\tnop\n\t.endm");
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The table of instruction forms, by kind. What an approximation may differ by is what the PTX ISA says of it. */
#include "forms.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define INTS "{u16,s16,u32,s32,u64,s64}"
#define ALL_INTS "{u8,s8,u16,s16,u32,s32,u64,s64}"
#define ROUNDS "{rn,rz,rm,rp}"
#define FLOAT_COMPARISONS "{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}"
#define FTZ "{,.ftz}"
#define SAT "{,.sat}"
#define NAN_ "{,.NaN}"

#define CARRY_2 "add.cc.u32 z, #2, #3; ! $0, #0, #1; addc.u32 $1, 0, 0;"
#define CARRY_3 "add.cc.u32 z, #3, #4; ! $0, #0, #1, #2; addc.u32 $1, 0, 0;"
#define FILL "st.shared.b64 [sa], #0; st.shared.b64 [sa+8], #1; "
#define FILL_GLOBAL "st.global.b64 [ga], #0; st.global.b64 [ga+8], #1; "
#define FILL_ROWS "st.shared.b64 [sr], #0; st.shared.b64 [sr+8], #1; bar.warp.sync -1; "
#define SEEN " ld.shared.b64 $0, [sa]; ld.shared.b64 $1, [sa+8];"
#define SEEN_GLOBAL " ld.global.b64 $0, [ga]; ld.global.b64 $1, [ga+8];"
#define SEEN_ROWS " bar.warp.sync -1; ld.shared.b64 $0, [sr]; ld.shared.b64 $1, [sr+8];"
#define ATOM_32 "st.shared.b32 [sa], #0; ! $0, [sa], #1; ld.shared.b32 $1, [sa];"
#define ATOM_64 "st.shared.b64 [sa], #0; ! $0, [sa], #1; ld.shared.b64 $1, [sa];"
#define ATOM_GLOBAL_32 "st.global.b32 [ga], #0; ! $0, [ga], #1; ld.global.b32 $1, [ga];"
#define ATOM_GLOBAL_64 "st.global.b64 [ga], #0; ! $0, [ga], #1; ld.global.b64 $1, [ga];"
#define MMA_4_2_4 "! {$0,$1,$2,$3}, {#0,#1,#2,#3}, {#4,#5}, {#6,#7,#8,#9};"
#define MMA_2_1_4 "! {$0,$1,$2,$3}, {#0,#1}, {#2}, {#3,#4,#5,#6};"
#define MMA_4_2_2 "! {$0,$1}, {#0,#1,#2,#3}, {#4,#5}, {#6,#7};"
#define MMA_2_1_2 "! {$0,$1}, {#0,#1}, {#2}, {#3,#4};"
#define MMA_1_1_2 "! {$0,$1}, {#0}, {#1}, {#2,#3};"

#define ATOM_ANY_32 "st.global.b32 [ga], #0; ! $0, [ga], #1; ld.global.b32 $1, [ga];"
#define SHUFFLE "! $0|$1, #0, #1, "
/* for the copy that arrives at the barrier behind a thread's bytes, but not for ever */
#define WAIT                                                                    \
    "mov.u32 z, 0; Wait: mbarrier.test_wait.parity.shared.b64 zp, [sa+32], 0; " \
    "@zp bra Done; add.u32 z, z, 1; setp.lt.u32 zp, z, 1000000; @zp bra Wait; Done: "
/* lanes 0 to 15, or those whose number is odd; the others give zeros */
#define LOWER "mov.u32 z, %laneid; setp.lt.u32 zp, z, 16; "
#define ODD "mov.u32 z, %lanemask_eq; and.b32 z, z, 0xaaaaaaaa; setp.ne.u32 zp, z, 0; "

#define HALF 1e-3    /* of a float16, a few units in the last place */
#define SHORT 8e-3   /* of a bfloat16 */
#define PRODUCT 2e-5 /* of sums of at most 32 products of halves, in any order */
#define PRODUCT_TF32 2e-5

const form_row form_rows[] = {
    /* integers */
    {70, "{neg,abs}.{s16,s32,s64}", "?", "?", NULL, 0},
    {70, "{add,sub,mul.lo,mul.hi,min,max}." INTS, "?", "??", NULL, 0},
    {70, "{add,sub}.sat.s32", "w", "ww", NULL, 0},
    {70, "{div,rem}.{u16,s16}", "h", "hm", NULL, 0},
    {70, "{div,rem}.{u32,s32}", "w", "wn", NULL, 0},
    {70, "{div,rem}.{u64,s64}", "d", "dN", NULL, 0},
    {70, "mul24.lo.{u32,s32}", "w", "ww", NULL, 0},
    {70, "mad.lo." INTS, "?", "???", NULL, 0},
    {70, "mad.hi.{u32,s32,u64,s64}", "?", "???", NULL, 0},
    {70, "sad.{u32,s32}", "w", "www", NULL, 0},
    {70, "mul.wide.{u16,s16}", "w", "hh", NULL, 0},
    {70, "mul.wide.{u32,s32}", "d", "ww", NULL, 0},
    {70, "mad.wide.{u16,s16}", "w", "hhw", NULL, 0},
    {70, "mad.wide.{u32,s32}", "d", "wwd", NULL, 0},
    {70, "dp4a.{u32.u32,s32.s32,u32.s32,s32.u32}", "w", "www", NULL, 0},
    {70, "dp2a.{lo,hi}.{u32.u32,s32.s32,u32.s32,s32.u32}", "w", "www", NULL, 0},
    {70, "shl.b16", "h", "hw", NULL, 0},
    {70, "shl.b32", "w", "wl", NULL, 0},
    {70, "shl.{b32,b64}", "?", "?w", NULL, 0},
    {70, "shr.{u16,s16,b16,u32,s32,b32,u64,s64,b64}", "?", "?w", NULL, 0},
    {70, "shr.{u16,s16,u32,s32,u64,s64}", "?", "?l", NULL, 0},
    {70, "bmsk.clamp.b32", "w", "ww", NULL, 0},
    {70, "{not,cnot}.{b16,b32,b64}", "?", "?", NULL, 0},
    {70, "brev.{b32,b64}", "?", "?", NULL, 0},
    {70, "{and,or,xor}.{b16,b32,b64}", "?", "??", NULL, 0},
    {70, "{and,or,xor}.pred", "p", "pp", NULL, 0},
    {70, "not.pred", "p", "p", NULL, 0},
    {70, "{popc,clz}.b32", "w", "w", NULL, 0},
    {70, "{popc,clz}.b64", "w", "d", NULL, 0},
    {70, "bfind{,.shiftamt}.{u32,s32}", "w", "w", NULL, 0},
    {70, "bfind{,.shiftamt}.{u64,s64}", "w", "d", NULL, 0},
    {70, "lop3.b32", "w", "www", "! $0, #0, #1, #2, 0xca;", 0},
    {70, "lop3.b32", "w", "www", "! $0, #0, #1, #2, 0x96;", 0},
    {70, "shf.{l,r}.{wrap,clamp}.b32", "w", "www", NULL, 0},
    {70, "prmt.b32", "w", "www", NULL, 0},
    {70, "bfe.{u32,s32}", "w", "www", NULL, 0},
    {70, "bfe.{u32,s32}", "w", "wll", NULL, 0},
    {70, "bfe.{u64,s64}", "d", "dll", NULL, 0},
    {70, "bfi.b32", "w", "wwll", NULL, 0},
    {70, "bfi.b64", "d", "ddll", NULL, 0},
    {70, "selp.{b16,u16,s16,b32,u32,s32,f32,b64,u64,s64,f64}", "?", "??p", NULL, 0},
    {70, "slct.{b16,u16,s16,b32,u32,s32,f32,b64,u64,s64,f64}.s32", "?", "??w", "! $0, #0, #1, #2;",
     0},
    {70, "{add.cc,addc,addc.cc,sub.cc,subc,subc.cc}.{u32,s32}", "ww", "wwww", CARRY_2, 0},
    {70, "{add.cc,addc,addc.cc,sub.cc,subc,subc.cc}.{u64,s64}", "dw", "ddww", CARRY_2, 0},
    {70, "{mad.lo.cc,madc.lo,madc.lo.cc}.{u32,s32}", "ww", "wwwww", CARRY_3, 0},
    {70, "{mad.lo.cc,madc.lo,madc.lo.cc}.{u64,s64}", "dw", "dddww", CARRY_3, 0},
    {70, "{mad.hi.cc,madc.hi,madc.hi.cc}.u32", "ww", "wwwww", CARRY_3, 0},
    {70, "{mad.hi.cc,madc.hi,madc.hi.cc}.u64", "dw", "dddww", CARRY_3, 0},
    /* floats */
    {70, "{neg,abs}" FTZ ".f32", "f", "f", NULL, 0},
    {70, "{neg,abs}.f64", "g", "g", NULL, 0},
    {70, "{sqrt,rcp}." ROUNDS FTZ ".f32", "f", "f", NULL, 0},
    {70, "{sqrt,rcp}." ROUNDS ".f64", "g", "g", NULL, 0},
    {70, "{sqrt,rcp,rsqrt}.approx" FTZ ".f32", "f", "f", NULL, -3e-7},
    {70, "rsqrt.approx" FTZ ".f64", "g", "g", NULL, -2e-6},
    {70, "rcp.approx.ftz.f64", "g", "g", NULL, -2e-6},
    {70, "{sin,cos}.approx" FTZ ".f32", "f", "a", NULL, 6e-7},
    {70, "lg2.approx" FTZ ".f32", "f", "f", NULL, 4e-7},
    {70, "ex2.approx" FTZ ".f32", "f", "f", NULL, -4e-7},
    {75, "tanh.approx.f32", "f", "f", NULL, 1e-3},
    {70, "{add,sub,mul}." ROUNDS FTZ SAT ".f32", "f", "ff", NULL, 0},
    {70, "{add,sub,mul}" FTZ SAT ".f32", "f", "ff", NULL, 0},
    {70, "{add,sub,mul}." ROUNDS ".f64", "g", "gg", NULL, 0},
    {70, "{add,sub,mul}.f64", "g", "gg", NULL, 0},
    {70, "div." ROUNDS FTZ ".f32", "f", "ff", NULL, 0},
    {70, "div.{approx,full}" FTZ ".f32", "f", "tt", NULL, -3e-7},
    {70, "div." ROUNDS ".f64", "g", "gg", NULL, 0},
    {70, "{min,max}" FTZ ".f32", "f", "ff", NULL, 0},
    {80, "{min,max}" FTZ ".NaN.f32", "f", "ff", NULL, 0},
    {70, "{min,max}.f64", "g", "gg", NULL, 0},
    {70, "copysign.f32", "f", "ff", NULL, 0},
    {70, "copysign.f64", "g", "gg", NULL, 0},
    {70, "{fma,mad}." ROUNDS FTZ SAT ".f32", "f", "fff", NULL, 0},
    {70, "{fma,mad}." ROUNDS ".f64", "g", "ggg", NULL, 0},
    {70, "testp.{finite,infinite,number,notanumber,normal,subnormal}.f32", "p", "f", NULL, 0},
    {70, "testp.{finite,infinite,number,notanumber,normal,subnormal}.f64", "p", "g", NULL, 0},
    /* halves */
    {70, "{add,sub,mul}{,.rn}" FTZ SAT ".f16", "e", "ee", NULL, 0},
    {70, "{add,sub,mul}{,.rn}" FTZ SAT ".f16x2", "E", "EE", NULL, 0},
    {90, "{add,sub,mul}{,.rn}.bf16", "b", "bb", NULL, 0},
    {90, "{add,sub,mul}{,.rn}.bf16x2", "B", "BB", NULL, 0},
    {70, "fma.rn" FTZ SAT ".f16", "e", "eee", NULL, 0},
    {70, "fma.rn" FTZ SAT ".f16x2", "E", "EEE", NULL, 0},
    {80, "fma.rn" FTZ ".relu.f16", "e", "eee", NULL, 0},
    {80, "fma.rn" FTZ ".relu.f16x2", "E", "EEE", NULL, 0},
    {80, "fma.rn{,.relu}.bf16", "b", "bbb", NULL, 0},
    {80, "fma.rn{,.relu}.bf16x2", "B", "BBB", NULL, 0},
    {80, "{min,max}" FTZ NAN_ ".f16", "e", "ee", NULL, 0},
    {80, "{min,max}" FTZ NAN_ ".f16x2", "E", "EE", NULL, 0},
    {80, "{min,max}" NAN_ ".bf16", "b", "bb", NULL, 0},
    {80, "{min,max}" NAN_ ".bf16x2", "B", "BB", NULL, 0},
    {75, "{ex2,tanh}.approx.f16", "e", "e", NULL, HALF},
    {75, "{ex2,tanh}.approx.f16x2", "E", "E", NULL, HALF},
    {90, "{ex2.approx.ftz,tanh.approx}.bf16", "b", "b", NULL, SHORT},
    {90, "{ex2.approx.ftz,tanh.approx}.bf16x2", "B", "B", NULL, SHORT},
    {70, "{neg,abs}" FTZ ".f16", "e", "e", NULL, 0},
    {70, "{neg,abs}" FTZ ".f16x2", "E", "E", NULL, 0},
    {80, "{neg,abs}.bf16", "b", "b", NULL, 0},
    {80, "{neg,abs}.bf16x2", "B", "B", NULL, 0},
    /* conversions */
    {70, "cvt." ALL_INTS "." ALL_INTS, "?", "?", NULL, 0},
    {70, "cvt.sat.s8.u8", "?", "?", NULL, 0},
    {70, "cvt.sat.{u8,u16,u32,u64}.s8", "?", "?", NULL, 0},
    {70, "cvt.sat.{u8,s8,s16}.u16", "?", "?", NULL, 0},
    {70, "cvt.sat.{u8,s8,u16,u32,u64}.s16", "?", "?", NULL, 0},
    {70, "cvt.sat.{u8,s8,u16,s16,s32}.u32", "?", "?", NULL, 0},
    {70, "cvt.sat.{u8,s8,u16,s16,u32,u64}.s32", "?", "?", NULL, 0},
    {70, "cvt.sat.{u8,s8,u16,s16,u32,s32,s64}.u64", "?", "?", NULL, 0},
    {70, "cvt.sat.{u8,s8,u16,s16,u32,s32,u64}.s64", "?", "?", NULL, 0},
    {70, "cvt." ROUNDS ".{f16,f32,f64}." ALL_INTS, "?", "?", NULL, 0},
    {70, "cvt.{rni,rzi,rmi,rpi}{,.sat}." ALL_INTS ".{f16,f32,f64}", "?", "?", NULL, 0},
    {70, "cvt.{rni,rzi,rmi,rpi}.ftz{,.sat}." ALL_INTS ".f32", "?", "?", NULL, 0},
    {70, "cvt.{rn,rz}{,.sat}.f16.f32", "e", "f", NULL, 0},
    {70, "cvt.rn.f16.f64", "e", "g", NULL, 0},
    {70, "cvt" FTZ SAT ".f32.f16", "f", "e", NULL, 0},
    {70, "cvt.f64.{f16,f32}", "?", "?", NULL, 0},
    {70, "cvt." ROUNDS FTZ SAT ".f32.f64", "f", "g", NULL, 0},
    {70, "cvt.{rni,rzi,rmi,rpi}.{f16.f16,f32.f32,f64.f64}", "?", "?", NULL, 0},
    {70, "cvt.{rni,rzi,rmi,rpi}.ftz.sat.f32.f32", "?", "?", NULL, 0},
    {70, "cvt{.ftz,.sat,.ftz.sat}.f32.f32", "?", "?", NULL, 0},
    {70, "cvt.sat.{f16.f16,f64.f64}", "?", "?", NULL, 0},
    {80, "cvt.{rn,rz}{,.relu}.bf16.f32", "b", "f", NULL, 0},
    {80, "cvt.f32.bf16", "f", "b", NULL, 0},
    {80, "cvt.{rn,rz}{,.relu}.f16x2.f32", "E", "ff", NULL, 0},
    {80, "cvt.{rn,rz}{,.relu}.bf16x2.f32", "B", "ff", NULL, 0},
    {80, "cvt.rna.tf32.f32", "w", "f", NULL, 0},
    /* comparisons */
    {70, "setp.{eq,ne,lt,le,gt,ge}." INTS, "p", "??", NULL, 0},
    {70, "setp.{eq,ne}.{b16,b32,b64}", "p", "??", NULL, 0},
    {70, "setp.{lo,ls,hi,hs}.{u16,u32,u64}", "p", "??", NULL, 0},
    {70, "setp." FLOAT_COMPARISONS FTZ ".f32", "p", "ff", NULL, 0},
    {70, "setp." FLOAT_COMPARISONS ".f64", "p", "gg", NULL, 0},
    {70, "setp." FLOAT_COMPARISONS ".f16", "p", "ee", NULL, 0},
    {90, "setp." FLOAT_COMPARISONS ".bf16", "p", "bb", NULL, 0},
    {70, "setp.{lt,ge}.{and,or,xor}.{u32,f32}", "pp", "??p", "! $0|$1, #0, #1, #2;", 0},
    {70, "set.{eq,lt,ge}.{u32,s32}.{u32,s32,s64,f32}", "w", "??", NULL, 0},
    {70, "set.{eq.f32.s32,lt.f32.s32,eq.f32.f32,geu.f32.f32}", "f", "??", NULL, 0},
    /* moves */
    {70, "mov.{b16,u16,s16,b32,u32,s32,f32,b64,u64,s64,f64}", "?", "?", NULL, 0},
    {70, "mov.pred", "p", "p", NULL, 0},
    {70, "mov.b32", "hh", "w", "! {$0, $1}, #0;", 0},
    {70, "mov.b32", "w", "hh", "! $0, {#0, #1};", 0},
    {70, "mov.b64", "ww", "d", "! {$0, $1}, #0;", 0},
    {70, "mov.b64", "d", "ww", "! $0, {#0, #1};", 0},
    {70, "mov.b64", "d", "hhhh", "! $0, {#0, #1, #2, #3};", 0},
    {70, "mov.u32", "w", "w", "! $0, %laneid;", 0},
    {70, "mov.u32", "w", "w", "! $0, %lanemask_lt;", 0},
    {70, "mov.u32", "w", "w", "! $0, %lanemask_ge;", 0},
    {70, "mov.u32", "www", "w", "! $0, %lanemask_eq; ! $1, %lanemask_le; ! $2, %lanemask_gt;", 0},
    {70, "mov.u32", "wwww", "w", "! $0, %tid.x; ! $1, %ctaid.x; ! $2, %ntid.x; ! $3, %nctaid.x;",
     0},
    {70, "cvta.shared.u64", "w", "dd", FILL "cvt.u64.u32 zd, sa; ! zd, zd; ld.u32 $0, [zd];", 0},
    {70, "cvta.to.shared.u64", "w", "dd",
     FILL "cvt.u64.u32 zd, sa; cvta.shared.u64 zd, zd; ! zd, zd; cvt.u32.u64 z, zd; ld.shared.u32 "
          "$0, [z];",
     0},
    {70, "cvta{.global,.to.global}.u64", "w", "w", "! zd, ia; ld.u32 $0, [zd];", 0},
    {70, "cvta.local.u64", "d", "d",
     "{ .local .b64 l; mov.u64 zd, l; ! zd, zd; st.b64 [zd], #0; ld.local.b64 $0, [l]; }", 0},
    {70, "cvta.to.local.u64", "d", "d",
     "{ .local .b64 l; mov.u64 zd, l; cvta.local.u64 zd, zd; ! zd, zd; st.local.b64 [zd], #0; "
     "ld.local.b64 $0, [zd]; }",
     0},
    {70, "isspacep.{shared,global}", "pp", "w",
     "cvt.u64.u32 zd, sa; cvta.shared.u64 zd, zd; ! $0, zd; ! $1, ga;", 0},
    /* memory */
    {70, "ld.shared.{u8,s8,u16,s16,b16,u32,s32,b32,f32}", "w", "dd", FILL "! $0, [sa];", 0},
    {70, "ld.shared.{u64,s64,b64,f64}", "d", "dd", FILL "! $0, [sa+8];", 0},
    {70, "ld.shared.v2.{u8,u16,b32,f32}", "ww", "dd", FILL "! {$0, $1}, [sa+8];", 0},
    {70, "ld.shared.v2.{u64,f64}", "dd", "dd", FILL "! {$0, $1}, [sa];", 0},
    {70, "ld.shared.v4.{u8,u16,u32,f32}", "wwww", "dd", FILL "! {$0, $1, $2, $3}, [sa];", 0},
    {70, "ld.{volatile,relaxed.gpu,acquire.gpu}.global.{u32,s32}", "w", "dd",
     FILL_GLOBAL "! $0, [ga+4];", 0},
    {70, "ld.global{,.ca,.cg,.cs,.cv}.{u8,s8,u16,s16,u32,f32}", "w", "dd",
     FILL_GLOBAL "! $0, [ga];", 0},
    {70, "ld.global.v2.{b32,f32}", "ww", "dd", FILL_GLOBAL "! {$0, $1}, [ga+8];", 0},
    {70, "ld.global.v4.{u32,f32}", "wwww", "dd", FILL_GLOBAL "! {$0, $1, $2, $3}, [ga];", 0},
    {70, "ld.global.v2.{u64,f64}", "dd", "dd", FILL_GLOBAL "! {$0, $1}, [ga];", 0},
    {70, "ld.global.nc.u32", "w", "w", "! $0, [ia];", 0},
    {70, "ld.global.{b16,s32,b32}", "w", "dd", FILL_GLOBAL "! $0, [ga+8];", 0},
    {70, "ld.global.{u64,s64,b64,f64}", "d", "dd", FILL_GLOBAL "! $0, [ga+8];", 0},
    {70, "ld.global.v2.{u8,u16,b16,u32}", "ww", "dd", FILL_GLOBAL "! {$0, $1}, [ga+8];", 0},
    {70, "ld.global.v4.{u8,u16,b16,b32}", "wwww", "dd", FILL_GLOBAL "! {$0, $1, $2, $3}, [ga];", 0},
    {70, "ld.global.nc.{u8,s8,u16,s16,b16,s32,b32,f32}", "w", "w", "! $0, [ia];", 0},
    {70, "ld.global.nc.{u64,b64,f64}", "d", "d", "! $0, [ia];", 0},
    {70, "ld.global.nc.v2.{u8,u16,u32,f32}", "ww", "d", "! {$0, $1}, [ia];", 0},
    {70, "ld.global.nc.v4.{u8,u16,u32,f32}", "wwww", "dd", "! {$0, $1, $2, $3}, [ia];", 0},
    {70, "ld.global.nc.v2.{u64,f64}", "dd", "dd", "! {$0, $1}, [ia];", 0},
    {70, "ld.{u8,s16,u32,f32}", "w", "dd", FILL_GLOBAL "! $0, [ga+4];", 0},
    {70, "ld.local.{u8,s8,u16,u32,f32}", "w", "w",
     "{ .local .b32 l; st.local.b32 [l], #0; ! $0, [l]; }", 0},
    {70, "ld.local.{u64,f64}", "d", "d", "{ .local .b64 l; st.local.b64 [l], #0; ! $0, [l]; }", 0},
    {70, "ld.local.v4.{u32,f32}", "wwww", "dd",
     "{ .local .align 16 .b64 l[2]; st.local.v2.b64 [l], {#0, #1}; ! {$0, $1, $2, $3}, [l]; }", 0},
    {70, "ld.param.{u64,b64}", "d", "d", "! zd, [in]; mad.wide.u32 zd, u, 96, zd; ld.b64 $0, [zd];",
     0},
    {70, "ld.param.{u32,b32,f32}", "d", "d",
     "! z, [in]; ! t, [in+4]; mov.b64 zd, {z, t}; mad.wide.u32 zd, u, 96, zd; ld.b64 $0, [zd];", 0},
    {70, "st.shared.{u8,s8,b16,u16}", "dd", "ddw", FILL "! [sa+4], #2;" SEEN, 0},
    {70, "st.shared.{u32,s32,b32,f32}", "dd", "ddw", FILL "! [sa+4], #2;" SEEN, 0},
    {70, "st.shared.{b64,f64}", "dd", "ddd", FILL "! [sa+8], #2;" SEEN, 0},
    {70, "st.shared.v2.{u8,u16,b32}", "dd", "ddww", FILL "! [sa+8], {#2, #3};" SEEN, 0},
    {70, "st.shared.v4.{u8,u16,b32}", "dd", "ddwwww", FILL "! [sa], {#2, #3, #4, #5};" SEEN, 0},
    {70, "st.shared.u64", "dd", "ddd", FILL "! [sa], #2;" SEEN, 0},
    {70, "st.shared.v2.{u32,f32}", "dd", "ddww", FILL "! [sa+8], {#2, #3};" SEEN, 0},
    {70, "st.shared.v2.{u64,f64}", "dd", "dddd", FILL "! [sa], {#2, #3};" SEEN, 0},
    {70, "st.shared.v4.{u32,f32}", "dd", "ddwwww", FILL "! [sa], {#2, #3, #4, #5};" SEEN, 0},
    {70, "st.global.{u8,s8,u16,b16,s32,b32,f32}", "dd", "ddw",
     FILL_GLOBAL "! [ga+4], #2;" SEEN_GLOBAL, 0},
    {70, "st.global.{u64,b64,f64}", "dd", "ddd", FILL_GLOBAL "! [ga+8], #2;" SEEN_GLOBAL, 0},
    {70, "st.global.v2.{u8,u16,u32,f32}", "dd", "ddww",
     FILL_GLOBAL "! [ga+8], {#2, #3};" SEEN_GLOBAL, 0},
    {70, "st.global.v4.{u8,u16,u32,f32}", "dd", "ddwwww",
     FILL_GLOBAL "! [ga], {#2, #3, #4, #5};" SEEN_GLOBAL, 0},
    {70, "st.{u8,u32,f32}", "dd", "ddw", FILL_GLOBAL "! [ga+4], #2;" SEEN_GLOBAL, 0},
    {70, "st.local.{u8,u16,u32,f32}", "w", "ww",
     "{ .local .b32 l; st.local.b32 [l], #0; ! [l], #1; ld.local.b32 $0, [l]; }", 0},
    {70, "st.local.{u64,f64}", "d", "d", "{ .local .b64 l; ! [l], #0; ld.local.b64 $0, [l]; }", 0},
    {70, "st.local.v4.{u32,f32}", "dd", "wwww",
     "{ .local .align 16 .b64 l[2]; ! [l], {#0, #1, #2, #3}; ld.local.v2.b64 {$0, $1}, [l]; }", 0},
    {70, "st.local.v2.{u64,f64}", "dd", "dd",
     "{ .local .align 16 .b64 l[2]; ! [l], {#0, #1}; ld.local.v2.b64 {$0, $1}, [l]; }", 0},
    {70, "st.{,volatile.,relaxed.gpu.,release.gpu.}global.u32", "dd", "ddw",
     FILL_GLOBAL "! [ga+4], #2;" SEEN_GLOBAL, 0},
    {70, "st.global.v4.b32", "dd", "ddwwww", FILL_GLOBAL "! [ga], {#2, #3, #4, #5};" SEEN_GLOBAL,
     0},
    {70, "st.global.v2.{b64,u64,f64}", "dd", "dddd", FILL_GLOBAL "! [ga], {#2, #3};" SEEN_GLOBAL,
     0},
    {70, "st.global.v2.{b16,b32}", "dd", "ddww", FILL_GLOBAL "! [ga+8], {#2, #3};" SEEN_GLOBAL, 0},
    {70, "st.global.v4.b16", "dd", "ddwwww", FILL_GLOBAL "! [ga], {#2, #3, #4, #5};" SEEN_GLOBAL,
     0},
    {70, "ld.local.v2.{u32,f32}", "ww", "d",
     "{ .local .align 16 .b64 l[2]; st.local.b64 [l], #0; ! {$0, $1}, [l]; }", 0},
    {70, "ld.local.v2.{u64,f64}", "dd", "dd",
     "{ .local .align 16 .b64 l[2]; st.local.v2.b64 [l], {#0, #1}; ! {$0, $1}, [l]; }", 0},
    {70, "st.local.v2.{u32,f32}", "d", "ww",
     "{ .local .align 16 .b64 l[2]; ! [l], {#0, #1}; ld.local.b64 $0, [l]; }", 0},
    {70, "atom.shared.{add.u32,min.u32,max.u32,inc.u32,dec.u32,exch.b32,and.b32,or.b32,xor.b32}",
     "ww", "ww", ATOM_32, 0},
    {70, "atom.shared.{add.s32,min.s32,max.s32}", "ww", "ww", ATOM_32, 0},
    {70, "atom.shared.{add,min,max}.u64", "dd", "dd", ATOM_64, 0},
    {70, "atom.shared.{and,or,xor,exch}.b64", "dd", "dd", ATOM_64, 0},
    {70, "atom.shared.{min,max}.s64", "dd", "dd", ATOM_64, 0},
    {70, "atom.shared.add.f32", "ff", "tt", ATOM_32, 0},
    {70, "atom.global.add.f32", "ff", "tt", ATOM_GLOBAL_32, 0},
    {70, "atom.global.add.f64", "gg", "yy", ATOM_GLOBAL_64, 0},
    {70, "atom.global.add.noftz.f16x2", "EE", "uu", ATOM_GLOBAL_32, 0},
    {90, "atom.global.add.noftz.bf16x2", "BB", "vv", ATOM_GLOBAL_32, 0},
    {70, "atom.{relaxed,acquire,release,acq_rel}.{cta,gpu,sys}.global.add.u32", "ww", "ww",
     ATOM_GLOBAL_32, 0},
    {70, "atom.global.{add.u32,min.u32,max.u32,inc.u32,dec.u32,exch.b32,and.b32,or.b32,xor.b32}",
     "ww", "ww", ATOM_GLOBAL_32, 0},
    {70, "atom.global.{add.s32,min.s32,max.s32}", "ww", "ww", ATOM_GLOBAL_32, 0},
    {70, "atom.global.{add.u64,min.u64,max.u64,min.s64,max.s64,and.b64,or.b64,xor.b64,exch.b64}",
     "dd", "dd", ATOM_GLOBAL_64, 0},
    {70, "atom.{add.u32,max.s32,exch.b32,and.b32,or.b32,xor.b32}", "ww", "ww", ATOM_ANY_32, 0},
    {70, "atom.global.add.noftz.f16", "ee", "ee",
     "st.global.b16 [ga], #0; ! $0, [ga], #1; ld.global.b16 $1, [ga];", 0},
    {70, "atom.shared.add.noftz.f16x2", "EE", "uu", ATOM_32, 0},
    {70, "atom{,.relaxed}.global.cas.b32", "ww", "ww",
     "st.global.b32 [ga], #0; ! $0, [ga], #0, #1; ld.global.b32 $1, [ga];", 0},
    {70, "atom{.global,}.cas.b32", "ww", "www", /* what is compared is another value, mostly */
     "st.global.b32 [ga], #0; ! $0, [ga], #1, #2; ld.global.b32 $1, [ga];", 0},
    {70, "atom.global.cas.b16", "hh", "hh",
     "st.global.b16 [ga], #0; ! $0, [ga], #0, #1; ld.global.b16 $1, [ga];", 0},
    {70, "atom.shared.cas.b64", "dd", "dd",
     "st.shared.b64 [sa], #0; ! $0, [sa], #0, #1; ld.shared.b64 $1, [sa];", 0},
    {70, "atom.shared.cas.b32", "ww", "ww",
     "st.shared.b32 [sa], #0; ! $0, [sa], #0, #1; ld.shared.b32 $1, [sa];", 0},
    {70, "atom.global.cas.b64", "dd", "dd",
     "st.global.b64 [ga], #0; ! $0, [ga], #0, #1; ld.global.b64 $1, [ga];", 0},
    {70, "red.shared.{add.u32,min.u32,max.u32,and.b32,or.b32,xor.b32}", "w", "ww",
     "st.shared.b32 [sa], #0; ! [sa], #1; ld.shared.b32 $0, [sa];", 0},
    {70, "red.global.add.{u64,f64}", "?", "yy",
     "st.global.b64 [ga], #0; ! [ga], #1; ld.global.b64 $0, [ga];", 0},
    {70, "red.global.{add.u32,add.s32,min.s32,max.u32,and.b32,or.b32,xor.b32,inc.u32}", "w", "ww",
     "st.global.b32 [ga], #0; ! [ga], #1; ld.global.b32 $0, [ga];", 0},
    {70, "red.global.add.f32", "f", "tt",
     "st.global.b32 [ga], #0; ! [ga], #1; ld.global.b32 $0, [ga];", 0},
    {70, "red.global.add.noftz.f16x2", "E", "uu",
     "st.global.b32 [ga], #0; ! [ga], #1; ld.global.b32 $0, [ga];", 0},
    /* all threads of a block change the same word */
    {70, "red.shared.{add.u32,max.s32,xor.b32}", "w", "w",
     "st.shared.b32 [q], 0; bar.sync 0; ! [q], #0; bar.sync 0; ld.shared.b32 $0, [q];", 0},
    {80, "cp.async.ca.shared.global", "d", "d",
     "! [sa], [ia], 8; cp.async.wait_all; ld.shared.b64 $0, [sa];", 0},
    {80, "cp.async.ca.shared.global", "ww", "w",
     "! [sa], [ia], 4; cp.async.commit_group; ! [sa+4], [ia], 4, 0; cp.async.commit_group; "
     "cp.async.wait_group 0; ld.shared.b32 $0, [sa]; ld.shared.b32 $1, [sa+4];",
     0},
    {80, "cp.async.cg.shared.global", "dd", "dd", "! [sa], [ia], 16, 12; cp.async.wait_all;" SEEN,
     0},
    /* the bytes that are copied are in a register, or there is a size of a prefetch; the rest is zeros */
    {80, "cp.async.cg.shared.global", "dd", "ddw",
     FILL "and.b32 z, #2, 15; ! [sa], [ia], 16, z; cp.async.wait_all;" SEEN, 0},
    {80, "cp.async.ca.shared.global", "dd", "ddp",
     FILL "selp.b32 z, 8, 0, #2; ! [sa+8], [ia], 8, z; cp.async.wait_all;" SEEN, 0},
    {80, "cp.async.c{a,g}.shared.global.L2::{64,128,256}B", "dd", "dd",
     "! [sa], [ia], 16; cp.async.wait_all;" SEEN, 0},
    {80, "cp.async.{commit_group,wait_group}", "dd", "dd",
     "cp.async.ca.shared.global [sa], [ia], 8; cp.async.commit_group; "
     "cp.async.ca.shared.global [sa+8], [ia+8], 8; cp.async.commit_group; cp.async.wait_group 1; "
     "ld.shared.b64 $0, [sa]; cp.async.wait_group 0; ld.shared.b64 $1, [sa+8];",
     0},
    {80, "cp.async.mbarrier.arrive.noinc.shared.b64", "dd", "dd",
     "mbarrier.init.shared.b64 [sa+32], 1; cp.async.cg.shared.global [sa], [ia], 16; ! "
     "[sa+32]; " WAIT SEEN,
     0},
    {80, "cp.async.mbarrier.arrive.shared.b64", "dd", "dd",
     "mbarrier.init.shared.b64 [sa+32], 1; cp.async.cg.shared.global [sa], [ia], 16; ! [sa+32]; "
     "mbarrier.arrive.shared.b64 zd, [sa+32]; " WAIT SEEN,
     0},
    {90, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", "dd", "dd",
     "mbarrier.init.shared.b64 [sa+32], 1; fence.proxy.async; "
     "mbarrier.arrive.expect_tx.shared.b64 zd, [sa+32], 16; ! [sa], [ia], 16, [sa+32]; " WAIT SEEN,
     0},
    {80, "mbarrier.arrive_drop.shared.b64", "ppp", "w",
     "mbarrier.init.shared.b64 [sa], 2; ! zd, [sa]; mbarrier.test_wait.shared.b64 $0, [sa], zd; "
     "mbarrier.arrive.shared.b64 zd, [sa]; mbarrier.test_wait.shared.b64 $1, [sa], zd; "
     "mbarrier.arrive.shared.b64 zd, [sa]; mbarrier.test_wait.shared.b64 $2, [sa], zd;",
     0},
    {80, "mbarrier.{init,arrive,test_wait,inval}.shared.b64", "pp", "w",
     "mbarrier.init.shared.b64 [sa], 2; mbarrier.arrive.shared.b64 zd, [sa]; "
     "mbarrier.test_wait.shared.b64 $0, [sa], zd; mbarrier.arrive.shared.b64 zd, [sa]; "
     "mbarrier.test_wait.shared.b64 $1, [sa], zd; mbarrier.inval.shared.b64 [sa];",
     0},
    {90, "mbarrier.{expect_tx,try_wait}.shared.b64", "pp", "w",
     "mbarrier.init.shared.b64 [sa], 1; mbarrier.arrive.expect_tx.shared.b64 zd, [sa], 16; "
     "mbarrier.test_wait.parity.shared.b64 $0, [sa], 0; mbarrier.try_wait.parity.shared.b64 $1, "
     "[sa], 1;",
     0},
    /* warps */
    {70, "shfl.sync.{idx,bfly}.b32", "wp", "wl", "! $0|$1, #0, #1, 0x1f, -1;", 0},
    {70, "shfl.sync.down.b32", "wp", "wl", "! $0|$1, #0, #1, 0x1f, -1;", 0},
    {70, "shfl.sync.up.b32", "wp", "wl", "! $0|$1, #0, #1, 0, -1;", 0},
    {70, "shfl.sync.{idx,down,bfly}.b32", "wp", "wl", "! $0|$1, #0, #1, 0x181f, -1;", 0},
    /* segments of 16, 4 and 2 lanes, a clamp within the warp, any lane's number; lanes of a mask */
    {70, "shfl.sync.{idx,down,bfly}.b32", "wp", "ww", SHUFFLE "0x101f, -1;", 0},
    {70, "shfl.sync.{idx,down,bfly}.b32", "wp", "wl", SHUFFLE "0x1c1f, -1;", 0},
    {70, "shfl.sync.{idx,down,bfly}.b32", "wp", "wl", SHUFFLE "0x1e1f, -1;", 0},
    {70, "shfl.sync.{idx,down,bfly}.b32", "wp", "ww", SHUFFLE "0x0013, -1;", 0},
    {70, "shfl.sync.up.b32", "wp", "ww", SHUFFLE "0x1000, -1;", 0},
    {70, "shfl.sync.up.b32", "wp", "wl", SHUFFLE "0x1800, -1;", 0},
    {70, "shfl.sync.up.b32", "wp", "wl", SHUFFLE "0x1c00, -1;", 0},
    {70, "shfl.sync.up.b32", "wp", "wl", SHUFFLE "0x1e00, -1;", 0},
    {70, "shfl.sync.up.b32", "wp", "wl", SHUFFLE "0x0009, -1;", 0},
    {70, "shfl.sync.{idx,down,bfly}.b32", "w", "ww",
     LOWER "mov.b32 $0, 0; @zp ! $0, #0, #1, 0x101f, 0xffff;", 0},
    {70, "shfl.sync.up.b32", "w", "ww", LOWER "mov.b32 $0, 0; @zp ! $0, #0, #1, 0x1000, 0xffff;",
     0},
    {70, "vote.sync.{all,any,uni}.pred", "p", "p", "! $0, #0, -1;", 0},
    {70, "vote.sync.ballot.b32", "w", "p", "! $0, #0, -1;", 0},
    {70, "match.any.sync.b32", "w", "l", "! $0, #0, -1;", 0},
    {70, "match.any.sync.b64", "w", "d", "and.b64 zd, #0, 3; ! $0, zd, -1;", 0},
    {70, "match.all.sync.b32", "wp", "l", "and.b32 z, #0, 0; ! $0|$1, z, -1;", 0},
    {70, "match.all.sync.b64", "wp", "d", "! $0|$1, #0, -1;", 0},
    {80, "redux.sync.{add,min,max}.{u32,s32}", "w", "w", "! $0, #0, -1;", 0},
    {80, "redux.sync.{and,or,xor}.b32", "w", "w", "! $0, #0, -1;", 0},
    {70, "vote.sync.ballot.b32", "w", "p", ODD "mov.b32 $0, 0; @zp ! $0, #0, 0xaaaaaaaa;", 0},
    {70, "match.any.sync.b32", "w", "l", ODD "mov.b32 $0, 0; @zp ! $0, #0, 0xaaaaaaaa;", 0},
    {80, "redux.sync.{add.u32,min.s32,max.s32,xor.b32}", "w", "w",
     ODD "mov.b32 $0, 0; @zp ! $0, #0, 0xaaaaaaaa;", 0},
    {90, "elect.sync", "p", "w", "! z|$0, -1;", 0},
    {70, "activemask.b32", "w", "w", "! $0;", 0},
    {70, "bar.warp.sync", "w", "w", "! -1; mov.b32 $0, #0;", 0},
    {70, "bar.sync", "w", "w", "st.shared.b32 [sa], #0; ! 0; ld.shared.b32 $0, [sa];", 0},
    {70, "barrier{,.cta}.sync{,.aligned}", "w", "w",
     "st.shared.b32 [sa], #0; ! 1, 32; ld.shared.b32 $0, [sa];", 0},
    {70, "bar.red.popc.u32", "w", "p", "! $0, 0, #0;", 0},
    {70, "bar.red.{and,or}.pred", "p", "p", "! $0, 0, #0;", 0},
    {70, "{membar.gl,fence.acq_rel.gpu,fence.sc.cta}", "w", "w", "!; mov.b32 $0, #0;", 0},
    /* control */
    {70, "bra{,.uni}", "w", "ww", "mov.b32 $0, #0; ! Skip; mov.b32 $0, #1; Skip:", 0},
    {70, "bra", "w", "wwp", "mov.b32 $0, #0; @#2 ! Skip; mov.b32 $0, #1; Skip:", 0},
    {70, "brx.idx", "w", "ww",
     "{ Table: .branchtargets A, B, C; rem.u32 z, u, 3; ! z, Table; A: mov.b32 $0, #0; bra D; B: "
     "mov.b32 $0, #1; bra D; C: mov.b32 $0, 7; D: }",
     0},
    /* matrix units */
    {75, "ldmatrix.sync.aligned.m8n8.x1{,.trans}.shared.b16", "w", "dd", FILL_ROWS "! {$0}, [sr];",
     0},
    {75, "ldmatrix.sync.aligned.m8n8.x2{,.trans}.shared.b16", "ww", "dd",
     FILL_ROWS "! {$0, $1}, [sr];", 0},
    {75, "ldmatrix.sync.aligned.{m8n8.x4,x4.m8n8,m8n8.x4.trans}.shared.b16", "wwww", "dd",
     FILL_ROWS "! {$0, $1, $2, $3}, [sr];", 0},
    {90, "stmatrix.sync.aligned.m8n8.x4{,.trans}.shared.b16", "dd", "ddwwww",
     FILL_ROWS "! [sr], {#2, #3, #4, #5};" SEEN_ROWS, 0},
    {90, "stmatrix.sync.aligned.m8n8.x2{,.trans}.shared.b16", "dd", "ddww",
     FILL_ROWS "! [sr], {#2, #3};" SEEN_ROWS, 0},
    {90, "stmatrix.sync.aligned.m8n8.x1{,.trans}.shared.b16", "dd", "ddw",
     FILL_ROWS "! [sr], {#2};" SEEN_ROWS, 0},
    {75, "movmatrix.sync.aligned.m8n8.trans.b16", "w", "w", NULL, 0},
    {80, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "ffff", "uuuuuutttt", MMA_4_2_4,
     PRODUCT},
    {80, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "EE", "uuuuuuuu", MMA_4_2_2, 4e-3},
    {75, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "ffff", "uuutttt", MMA_2_1_4, PRODUCT},
    {75, "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", "EE", "uuuuu", MMA_2_1_2, 4e-3},
    {80, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "ffff", "vvvvvvtttt", MMA_4_2_4,
     PRODUCT},
    {80, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", "ffff", "vvvtttt", MMA_2_1_4,
     PRODUCT},
    {80, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "ffff", "tttttttttt", MMA_4_2_4,
     PRODUCT_TF32},
    {80, "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "ffff", "ttttttt", MMA_2_1_4,
     PRODUCT_TF32},
    {90, "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", "gggg", "yyyyyyy", MMA_2_1_4, 1e-15},
    {90, "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", "gggg", "yyyyyyyyyy", MMA_4_2_4,
     1e-15},
    {80, "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "gg", "yyyy", MMA_1_1_2, 1e-15},
    {89, "mma.sync.aligned.m16n8k32.row.col.f32.{e4m3,e5m2}.{e4m3,e5m2}.f32", "ffff", "xxxxxxtttt",
     MMA_4_2_4, PRODUCT},
    {80, "mma.sync.aligned.m16n8k32.row.col{,.satfinite}.s32.{s8,u8}.{s8,u8}.s32", "wwww",
     "wwwwwwwwww", MMA_4_2_4, 0},
    {80, "mma.sync.aligned.m16n8k16.row.col{,.satfinite}.s32.{s8,u8}.{s8,u8}.s32", "wwww",
     "wwwwwww", MMA_2_1_4, 0},
    {75, "mma.sync.aligned.m8n8k16.row.col.s32.{s8,u8}.{s8,u8}.s32", "ww", "wwww", MMA_1_1_2, 0},
    {75, "mma.sync.aligned.m8n8k16.row.col.satfinite.s32.{s8,u8}.{s8,u8}.s32", "ww", "wwww",
     MMA_1_1_2, 0},
    {75, "mma.sync.aligned.m8n8k32.row.col{,.satfinite}.s32.{s4,u4}.{s4,u4}.s32", "ww", "wwww",
     MMA_1_1_2, 0},
    {75, "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", "ww", "wwww", MMA_1_1_2, 0},
    {80, "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.{xor,and}.popc", "wwww", "wwwwwww",
     MMA_2_1_4, 0},
    {80, "mma.sync.aligned.m16n8k64.row.col.s32.{s4,u4}.{s4,u4}.s32", "wwww", "wwwwwwwwww",
     MMA_4_2_4, 0},
    {80, "mma.sync.aligned.m16n8k32.row.col.s32.{s4,u4}.{s4,u4}.s32", "wwww", "wwwwwww", MMA_2_1_4,
     0},
    {80, "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.{xor,and}.popc", "wwww", "wwwwwwwwww",
     MMA_4_2_4, 0},
    {0},
};

bool
form_name(const form_row *row, uint32_t k, char *out, uint32_t size)
{
    uint32_t n = 0;
    for (const char *c = row->name; *c; c++) {
        if (*c != '{') {
            if (n + 1 < size)
                out[n++] = *c;
            continue;
        }
        uint32_t alternatives = 1, wanted;
        const char *end = c + 1;
        for (; *end != '}'; end++)
            alternatives += *end == ',';
        wanted = k % alternatives;
        k /= alternatives;
        for (c++; wanted; c++)
            wanted -= *c == ',';
        for (; *c != ',' && *c != '}'; c++)
            if (n + 1 < size)
                out[n++] = *c;
        c = end;
    }
    out[n] = '\0';
    return k == 0;
}

/* The letter of the type that is the last but n of a name. */
static char
letter(const char *name, uint32_t n)
{
    static const struct {
        const char *type;
        char letter;
    } types[] = {{"u8", 'h'},    {"s8", 'h'},    {"b16", 'h'}, {"u16", 'h'}, {"s16", 'h'},
                 {"b32", 'w'},   {"u32", 'w'},   {"s32", 'w'}, {"b64", 'd'}, {"u64", 'd'},
                 {"s64", 'd'},   {"f16", 'e'},   {"f32", 'f'}, {"f64", 'g'}, {"bf16", 'b'},
                 {"f16x2", 'E'}, {"bf16x2", 'B'}};
    const char *end = name + strlen(name), *at = end;
    for (;; end = at) {
        for (at = end; at > name && at[-1] != '.';)
            at--;
        if (n-- == 0 || at == name)
            break;
        at--;
    }
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        if (strlen(types[t].type) == (size_t)(end - at) &&
            strncmp(types[t].type, at, (size_t)(end - at)) == 0)
            return types[t].letter;
    return 0;
}

bool
form_letters(const form_row *row, const char *name, char *results, char *operands, uint32_t size)
{
    bool converts = strncmp(name, "cvt.", 4) == 0, slct = strncmp(name, "slct", 4) == 0;
    char of_result = letter(name, converts || slct), of_operand = letter(name, slct);
    snprintf(results, size, "%s", row->results);
    snprintf(operands, size, "%s", row->operands);
    for (char *c = results; *c; c++)
        if (*c == '?' && !(*c = of_result))
            return false;
    for (char *c = operands; *c; c++)
        if (*c == '?' && !(*c = of_operand))
            return false;
    return true;
}

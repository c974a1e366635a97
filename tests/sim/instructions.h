/* The instructions that kernels may use, each as a snippet: what is run on hardware for
   hardware.txt, and on the simulator to compare. */
#pragma once

#include "driver.h"

/* An instruction of so many sources, by its name and the pattern of its registers. */
#define ONE(name, pattern)                                                                         \
    { name, pattern, name " $d, $a;" }
#define TWO(name, pattern)                                                                         \
    { name, pattern, name " $d, $a, $b;" }
#define THREE(name, pattern)                                                                       \
    { name, pattern, name " $d, $a, $b, $c;" }

/* What exists for several types, or roundings, alike. */
#define INTEGERS_TWO(name)                                                                         \
    TWO(name ".u16", "hhh"), TWO(name ".s16", "hhh"), TWO(name ".u32", "iii"),                     \
        TWO(name ".s32", "iii"), TWO(name ".u64", "lll"), TWO(name ".s64", "lll")
#define INTEGERS_THREE(name)                                                                       \
    THREE(name ".u16", "hhhh"), THREE(name ".s16", "hhhh"), THREE(name ".u32", "iiii"),            \
        THREE(name ".s32", "iiii"), THREE(name ".u64", "llll"), THREE(name ".s64", "llll")
#define BITS_TWO(name) TWO(name ".b16", "hhh"), TWO(name ".b32", "iii"), TWO(name ".b64", "lll")
#define DOTS(types)                                                                                \
    THREE("dp4a." types, "iiii"), THREE("dp2a.lo." types, "iiii"), THREE("dp2a.hi." types, "iiii")
#define F32_TWO(name)                                                                              \
    TWO(name ".f32", "fff"), TWO(name ".rz.f32", "fff"), TWO(name ".rm.f32", "fff"),               \
        TWO(name ".rp.f32", "fff"), TWO(name ".ftz.f32", "fff"), TWO(name ".sat.f32", "fff"),      \
        TWO(name ".rn.f32", "fff"), TWO(name ".rz.ftz.f32", "fff"),                                \
        TWO(name ".ftz.sat.f32", "fff")
#define F32_QUOTIENTS(rounding)                                                                    \
    TWO("div." rounding ".f32", "fff"), ONE("rcp." rounding ".f32", "ff"),                         \
        ONE("sqrt." rounding ".f32", "ff")
#define F32_EXTREMES(name)                                                                         \
    TWO(name ".f32", "fff"), TWO(name ".ftz.f32", "fff"), TWO(name ".NaN.f32", "fff"),             \
        TWO(name ".ftz.NaN.f32", "fff")
#define F64_TWO(name)                                                                              \
    TWO(name ".f64", "eee"), TWO(name ".rn.f64", "eee"), TWO(name ".rz.f64", "eee"),               \
        TWO(name ".rm.f64", "eee"), TWO(name ".rp.f64", "eee")
#define F64_QUOTIENTS(rounding)                                                                    \
    THREE("fma." rounding ".f64", "eeee"), TWO("div." rounding ".f64", "eee"),                     \
        ONE("rcp." rounding ".f64", "ee"), ONE("sqrt." rounding ".f64", "ee")
#define F16_TWO(name)                                                                              \
    TWO(name ".f16", "ggg"), TWO(name ".ftz.f16", "ggg"), TWO(name ".sat.f16", "ggg"),             \
        TWO(name ".f16x2", "yyy"), TWO(name ".bf16", "kkk"), TWO(name ".bf16x2", "zzz")
#define F16_OTHERS(type, p)                                                                        \
    THREE("fma.rn." type, p p p p), TWO("min." type, p p p), TWO("min.NaN." type, p p p),          \
        TWO("max." type, p p p), TWO("max.NaN." type, p p p), ONE("abs." type, p p),               \
        ONE("neg." type, p p)
#define TESTED(property) ONE("testp." property ".f32", "Pf"), ONE("testp." property ".f64", "Pe")
#define COMPARED(type, pattern)                                                                    \
    TWO("setp.eq." type, pattern), TWO("setp.ne." type, pattern), TWO("setp.lt." type, pattern),   \
        TWO("setp.le." type, pattern), TWO("setp.gt." type, pattern),                              \
        TWO("setp.ge." type, pattern)
#define COMPARED_FLOATS(type, pattern)                                                             \
    COMPARED(type, pattern), TWO("setp.equ." type, pattern), TWO("setp.neu." type, pattern),       \
        TWO("setp.ltu." type, pattern), TWO("setp.leu." type, pattern),                            \
        TWO("setp.gtu." type, pattern), TWO("setp.geu." type, pattern),                            \
        TWO("setp.num." type, pattern), TWO("setp.nan." type, pattern)
#define FROM_NARROW(to, d)                                                                         \
    ONE("cvt." to ".u8", d "h"), ONE("cvt." to ".s8", d "h"), ONE("cvt." to ".u16", d "h"),        \
        ONE("cvt." to ".s16", d "h")
#define SATURATED(to, from, pattern)                                                               \
    ONE("cvt." to "." from, pattern), ONE("cvt.sat." to "." from, pattern)
#define ROUNDED_TO_INTEGERS(types, pattern)                                                        \
    ONE("cvt.rni." types, pattern), ONE("cvt.rzi." types, pattern),                                \
        ONE("cvt.rmi." types, pattern), ONE("cvt.rpi." types, pattern)
#define FROM_FLOATS(to, d)                                                                         \
    ROUNDED_TO_INTEGERS(to ".f16", d "g"), ROUNDED_TO_INTEGERS(to ".f32", d "f"),                  \
        ROUNDED_TO_INTEGERS(to ".f64", d "e")
#define ROUNDED(types, pattern)                                                                    \
    ONE("cvt.rn." types, pattern), ONE("cvt.rz." types, pattern), ONE("cvt.rm." types, pattern),   \
        ONE("cvt.rp." types, pattern)
#define TO_FLOATS(from, a)                                                                         \
    ROUNDED("f16." from, "g" a), ROUNDED("f32." from, "f" a), ROUNDED("f64." from, "e" a)
#define FLOATS_NARROWED(rounding)                                                                  \
    ONE("cvt." rounding ".f32.f64", "fe"), ONE("cvt." rounding ".f16.f32", "gf"),                  \
        ONE("cvt." rounding ".f16.f64", "ge")
#define FLOATS_ROUNDED(rounding)                                                                   \
    ONE("cvt." rounding ".f32.f32", "ff"), ONE("cvt." rounding ".f64.f64", "ee"),                  \
        ONE("cvt." rounding ".ftz.f32.f32", "ff"), ONE("cvt." rounding ".f16.f16", "gg")
/* What a lane gets, and whether another lane gave it. */
#define SHUFFLED(way, by, lanes)                                                                   \
    {"shfl.sync." way ".b32 " by " " lanes, "ii",                                                  \
     "shfl.sync." way ".b32 $d, $a, " by ", " lanes ", 0xffffffff;"},                              \
    {                                                                                              \
        "shfl.sync." way ".b32 " by " " lanes " valid", "Pi",                                      \
            "{ .reg .b32 x; shfl.sync." way ".b32 x|$d, $a, " by ", " lanes ", 0xffffffff; }"      \
    }

static const struct snippet instructions[] = {
    /* integers */
    INTEGERS_TWO("add"),
    INTEGERS_TWO("sub"),
    INTEGERS_TWO("mul.lo"),
    INTEGERS_TWO("mul.hi"),
    INTEGERS_TWO("div"),
    INTEGERS_TWO("rem"),
    INTEGERS_TWO("min"),
    INTEGERS_TWO("max"),
    TWO("add.sat.s32", "iii"),
    TWO("sub.sat.s32", "iii"),
    TWO("mul.wide.u16", "ihh"),
    TWO("mul.wide.s16", "ihh"),
    TWO("mul.wide.u32", "lii"),
    TWO("mul.wide.s32", "lii"),
    INTEGERS_THREE("mad.lo"),
    THREE("mad.hi.u32", "iiii"),
    THREE("mad.hi.s32", "iiii"),
    THREE("mad.hi.u64", "llll"),
    THREE("mad.hi.s64", "llll"),
    THREE("mad.wide.u16", "ihhi"),
    THREE("mad.wide.s16", "ihhi"),
    THREE("mad.wide.u32", "liil"),
    THREE("mad.wide.s32", "liil"),
    THREE("sad.u32", "iiii"),
    THREE("sad.s32", "iiii"),
    THREE("sad.u64", "llll"),
    THREE("sad.s64", "llll"),
    ONE("neg.s16", "hh"),
    ONE("neg.s32", "ii"),
    ONE("neg.s64", "ll"),
    ONE("abs.s16", "hh"),
    ONE("abs.s32", "ii"),
    ONE("abs.s64", "ll"),
    DOTS("u32.u32"),
    DOTS("u32.s32"),
    DOTS("s32.u32"),
    DOTS("s32.s32"),
    /* bits */
    BITS_TWO("and"),
    BITS_TWO("or"),
    BITS_TWO("xor"),
    ONE("not.b16", "hh"),
    ONE("not.b32", "ii"),
    ONE("not.b64", "ll"),
    ONE("cnot.b16", "hh"),
    ONE("cnot.b32", "ii"),
    ONE("cnot.b64", "ll"),
    TWO("shl.b16", "hhs"),
    TWO("shl.b32", "iis"),
    TWO("shl.b64", "lls"),
    TWO("shr.u16", "hhs"),
    TWO("shr.u32", "iis"),
    TWO("shr.u64", "lls"),
    TWO("shr.s16", "hhs"),
    TWO("shr.s32", "iis"),
    TWO("shr.s64", "lls"),
    THREE("shf.l.wrap.b32", "iiis"),
    THREE("shf.l.clamp.b32", "iiis"),
    THREE("shf.r.wrap.b32", "iiis"),
    THREE("shf.r.clamp.b32", "iiis"),
    ONE("popc.b32", "ii"),
    ONE("popc.b64", "il"),
    ONE("clz.b32", "ii"),
    ONE("clz.b64", "il"),
    ONE("brev.b32", "ii"),
    ONE("brev.b64", "ll"),
    ONE("bfind.u32", "ii"),
    ONE("bfind.s32", "ii"),
    ONE("bfind.u64", "il"),
    ONE("bfind.s64", "il"),
    ONE("bfind.shiftamt.u32", "ii"),
    ONE("bfind.shiftamt.s32", "ii"),
    ONE("bfind.shiftamt.u64", "il"),
    ONE("bfind.shiftamt.s64", "il"),
    THREE("bfe.u32", "iiss"),
    THREE("bfe.s32", "iiss"),
    THREE("bfe.u64", "llss"),
    THREE("bfe.s64", "llss"),
    {"bfi.b32", "iiis", "bfi.b32 $d, $a, $b, $c, 7;"},
    {"bfi.b32 long", "iiis", "bfi.b32 $d, $a, $b, 5, $c;"},
    {"bfi.b64", "llls", "bfi.b64 $d, $a, $b, $c, 13;"},
    TWO("bmsk.clamp.b32", "iss"),
    TWO("szext.clamp.u32", "iis"),
    TWO("szext.clamp.s32", "iis"),
    TWO("bmsk.wrap.b32", "iss"),
    TWO("szext.wrap.u32", "iis"),
    TWO("szext.wrap.s32", "iis"),
    THREE("prmt.b32", "iiii"),
    THREE("prmt.b32.f4e", "iiii"),
    THREE("prmt.b32.b4e", "iiii"),
    THREE("prmt.b32.rc8", "iiii"),
    THREE("prmt.b32.ecl", "iiii"),
    THREE("prmt.b32.ecr", "iiii"),
    THREE("prmt.b32.rc16", "iiii"),
    {"lop3.b32 0x96", "iiii", "lop3.b32 $d, $a, $b, $c, 0x96;"},
    {"lop3.b32 0xe8", "iiii", "lop3.b32 $d, $a, $b, $c, 0xe8;"},
    {"lop3.b32 0xca", "iiii", "lop3.b32 $d, $a, $b, $c, 0xca;"},
    {"lop3.b32 0x1b", "iiii", "lop3.b32 $d, $a, $b, $c, 0x1b;"},
    {"lop3.b32 0xf8", "iiii", "lop3.b32 $d, $a, $b, $c, 0xf8;"},
    {"selp.b16", "hhh", "{ .reg .pred q; setp.lt.u16 q, $a, $b; selp.b16 $d, $a, $b, q; }"},
    {"selp.b32", "iii", "{ .reg .pred q; setp.lt.u32 q, $a, $b; selp.b32 $d, $a, $b, q; }"},
    {"selp.b64", "lll", "{ .reg .pred q; setp.lt.u64 q, $a, $b; selp.b64 $d, $a, $b, q; }"},
    {"selp.f32", "fff", "{ .reg .pred q; setp.lt.f32 q, $a, $b; selp.f32 $d, $a, $b, q; }"},
    {"selp.f64", "eee", "{ .reg .pred q; setp.lt.f64 q, $a, $b; selp.f64 $d, $a, $b, q; }"},
    THREE("slct.b32.s32", "iiii"),
    THREE("slct.b32.f32", "iiif"),
    THREE("slct.f32.s32", "fffi"),
    {"mov.b32 pack", "ihh", "mov.b32 $d, {$a, $b};"},
    {"mov.b64 pack", "lii", "mov.b64 $d, {$a, $b};"},
    {"mov.b64 unpack", "il", "{ .reg .b32 x, y; mov.b64 {x, y}, $a; sub.u32 $d, y, x; }"},
    {"mov.b64 unpack 4", "hl",
     "{ .reg .b16 x, y, z, w; mov.b64 {x, y, z, w}, $a; sub.u16 $d, y, w; add.u16 $d, $d, z; "
     "sub.u16 $d, $d, x; }"},
    {"mov.b128", "lll",
     "{ .reg .b128 q; .reg .b64 x, y; mov.b128 q, {$a, $b}; mov.b128 {x, y}, q; sub.s64 $d, x, y; "
     "}"},
    /* f32 */
    F32_TWO("add"),
    F32_TWO("sub"),
    F32_TWO("mul"),
    THREE("fma.rn.f32", "ffff"),
    THREE("fma.rz.f32", "ffff"),
    THREE("fma.rm.f32", "ffff"),
    THREE("fma.rp.f32", "ffff"),
    THREE("fma.rn.ftz.f32", "ffff"),
    THREE("fma.rn.sat.f32", "ffff"),
    F32_QUOTIENTS("rn"),
    F32_QUOTIENTS("rz"),
    F32_QUOTIENTS("rm"),
    F32_QUOTIENTS("rp"),
    F32_QUOTIENTS("rn.ftz"),
    F32_EXTREMES("min"),
    F32_EXTREMES("max"),
    ONE("abs.f32", "ff"),
    ONE("abs.ftz.f32", "ff"),
    ONE("neg.f32", "ff"),
    ONE("neg.ftz.f32", "ff"),
    TWO("copysign.f32", "fff"),
    TESTED("finite"),
    TESTED("infinite"),
    TESTED("number"),
    TESTED("notanumber"),
    TESTED("normal"),
    TESTED("subnormal"),
    /* f64 */
    F64_TWO("add"),
    F64_TWO("sub"),
    F64_TWO("mul"),
    F64_QUOTIENTS("rn"),
    F64_QUOTIENTS("rz"),
    F64_QUOTIENTS("rm"),
    F64_QUOTIENTS("rp"),
    TWO("min.f64", "eee"),
    TWO("max.f64", "eee"),
    ONE("abs.f64", "ee"),
    ONE("neg.f64", "ee"),
    TWO("copysign.f64", "eee"),
    /* f16 and bf16 */
    F16_TWO("add"),
    F16_TWO("sub"),
    F16_TWO("mul"),
    F16_OTHERS("f16", "g"),
    F16_OTHERS("f16x2", "y"),
    F16_OTHERS("bf16", "k"),
    F16_OTHERS("bf16x2", "z"),
    /* comparisons */
    COMPARED("u16", "Phh"),
    COMPARED("s16", "Phh"),
    COMPARED("u32", "Pii"),
    COMPARED("s32", "Pii"),
    COMPARED("u64", "Pll"),
    COMPARED("s64", "Pll"),
    TWO("setp.eq.b16", "Phh"),
    TWO("setp.eq.b32", "Pii"),
    TWO("setp.eq.b64", "Pll"),
    TWO("setp.ne.b16", "Phh"),
    TWO("setp.ne.b32", "Pii"),
    TWO("setp.ne.b64", "Pll"),
    TWO("setp.lo.u32", "Pii"),
    TWO("setp.ls.u32", "Pii"),
    TWO("setp.hi.u32", "Pii"),
    TWO("setp.hs.u32", "Pii"),
    COMPARED_FLOATS("f32", "Pff"),
    COMPARED_FLOATS("f64", "Pee"),
    COMPARED_FLOATS("f16", "Pgg"),
    TWO("setp.eq.bf16", "Pkk"),
    TWO("setp.lt.bf16", "Pkk"),
    TWO("setp.gt.bf16", "Pkk"),
    TWO("setp.ne.bf16", "Pkk"),
    TWO("setp.lt.ftz.f32", "Pff"),
    TWO("setp.eq.ftz.f32", "Pff"),
    {"setp.lt.and.s32", "Piii",
     "{ .reg .pred q; setp.ne.s32 q, $c, 0; setp.lt.and.s32 $d, $a, $b, q; }"},
    {"setp.lt.and.s32 pair", "Piii",
     "{ .reg .pred q, r; setp.lt.s32 q, $c, 0; setp.lt.and.s32 r|$d, $a, $b, !q; }"},
    {"setp.lt.or.s32", "Piii",
     "{ .reg .pred q; setp.ne.s32 q, $c, 0; setp.lt.or.s32 $d, $a, $b, q; }"},
    {"setp.lt.or.s32 pair", "Piii",
     "{ .reg .pred q, r; setp.lt.s32 q, $c, 0; setp.lt.or.s32 r|$d, $a, $b, !q; }"},
    {"setp.lt.xor.s32", "Piii",
     "{ .reg .pred q; setp.ne.s32 q, $c, 0; setp.lt.xor.s32 $d, $a, $b, q; }"},
    {"setp.lt.xor.s32 pair", "Piii",
     "{ .reg .pred q, r; setp.lt.s32 q, $c, 0; setp.lt.xor.s32 r|$d, $a, $b, !q; }"},
    TWO("set.lt.u32.f32", "iff"),
    TWO("set.ge.f32.s32", "fii"),
    TWO("set.eq.s32.u32", "iii"),
    {"and.pred", "Pii",
     "{ .reg .pred q, r; setp.lt.s32 q, $a, 0; setp.lt.s32 r, $b, 0; and.pred $d, q, r; }"},
    {"or.pred", "Pii",
     "{ .reg .pred q, r; setp.lt.s32 q, $a, 0; setp.lt.s32 r, $b, 0; or.pred $d, q, r; }"},
    {"xor.pred", "Pii",
     "{ .reg .pred q, r; setp.lt.s32 q, $a, 0; setp.lt.s32 r, $b, 0; xor.pred $d, q, r; }"},
    {"not.pred", "Pi", "{ .reg .pred q; setp.lt.s32 q, $a, 0; not.pred $d, q; }"},
    /* conversions */
    FROM_NARROW("u8", "h"),
    SATURATED("u8", "u32", "hi"),
    SATURATED("u8", "s32", "hi"),
    SATURATED("u8", "u64", "hl"),
    SATURATED("u8", "s64", "hl"),
    FROM_NARROW("s8", "h"),
    SATURATED("s8", "u32", "hi"),
    SATURATED("s8", "s32", "hi"),
    SATURATED("s8", "u64", "hl"),
    SATURATED("s8", "s64", "hl"),
    FROM_NARROW("u16", "h"),
    SATURATED("u16", "u32", "hi"),
    SATURATED("u16", "s32", "hi"),
    SATURATED("u16", "u64", "hl"),
    SATURATED("u16", "s64", "hl"),
    FROM_NARROW("s16", "h"),
    SATURATED("s16", "u32", "hi"),
    SATURATED("s16", "s32", "hi"),
    SATURATED("s16", "u64", "hl"),
    SATURATED("s16", "s64", "hl"),
    FROM_NARROW("u32", "i"),
    ONE("cvt.u32.u32", "ii"),
    SATURATED("u32", "s32", "ii"),
    SATURATED("u32", "u64", "il"),
    SATURATED("u32", "s64", "il"),
    FROM_NARROW("s32", "i"),
    SATURATED("s32", "u32", "ii"),
    ONE("cvt.s32.s32", "ii"),
    SATURATED("s32", "u64", "il"),
    SATURATED("s32", "s64", "il"),
    FROM_NARROW("u64", "l"),
    ONE("cvt.u64.u32", "li"),
    ONE("cvt.u64.s32", "li"),
    ONE("cvt.u64.u64", "ll"),
    ONE("cvt.u64.s64", "ll"),
    FROM_NARROW("s64", "l"),
    ONE("cvt.s64.u32", "li"),
    ONE("cvt.s64.s32", "li"),
    ONE("cvt.s64.u64", "ll"),
    ONE("cvt.s64.s64", "ll"),
    {"cvt.s8.s32 wide", "ii", "cvt.s8.s32 $d, $a;"},
    {"cvt.u8.u32 wide", "li", "cvt.u8.u32 $d, $a;"},
    {"cvt.s32.s8 of 32", "ii", "cvt.s32.s8 $d, $a;"},
    FROM_FLOATS("u8", "h"),
    FROM_FLOATS("s8", "h"),
    FROM_FLOATS("u16", "h"),
    FROM_FLOATS("s16", "h"),
    FROM_FLOATS("u32", "i"),
    FROM_FLOATS("s32", "i"),
    FROM_FLOATS("u64", "l"),
    FROM_FLOATS("s64", "l"),
    TO_FLOATS("u8", "h"),
    TO_FLOATS("s8", "h"),
    TO_FLOATS("u16", "h"),
    TO_FLOATS("s16", "h"),
    TO_FLOATS("u32", "i"),
    TO_FLOATS("s32", "i"),
    TO_FLOATS("u64", "l"),
    TO_FLOATS("s64", "l"),
    FLOATS_NARROWED("rn"),
    FLOATS_NARROWED("rz"),
    FLOATS_NARROWED("rm"),
    FLOATS_NARROWED("rp"),
    ONE("cvt.rn.bf16.f32", "kf"),
    ONE("cvt.rz.bf16.f32", "kf"),
    ONE("cvt.rn.ftz.f32.f64", "fe"),
    ONE("cvt.ftz.f64.f32", "ef"),
    ONE("cvt.f32.f16", "fg"),
    ONE("cvt.f64.f16", "eg"),
    ONE("cvt.f64.f32", "ef"),
    ONE("cvt.f32.bf16", "fk"),
    FLOATS_ROUNDED("rni"),
    FLOATS_ROUNDED("rzi"),
    FLOATS_ROUNDED("rmi"),
    FLOATS_ROUNDED("rpi"),
    ONE("cvt.sat.f32.f32", "ff"),
    ONE("cvt.rn.sat.f16.f32", "gf"),
    ONE("cvt.rn.sat.f32.f64", "fe"),
    TWO("cvt.rn.f16x2.f32", "iff"),
    TWO("cvt.rz.f16x2.f32", "iff"),
    TWO("cvt.rn.bf16x2.f32", "iff"),
    ONE("cvt.rn.f16x2.e4m3x2", "ih"),
    /* lanes together, by whole warps */
    SHUFFLED("up", "1", "0"),
    SHUFFLED("up", "5", "0"),
    SHUFFLED("up", "3", "6144"),
    SHUFFLED("down", "1", "31"),
    SHUFFLED("down", "16", "31"),
    SHUFFLED("down", "2", "7199"),
    SHUFFLED("bfly", "1", "31"),
    SHUFFLED("bfly", "16", "31"),
    SHUFFLED("bfly", "7", "6175"),
    SHUFFLED("idx", "0", "31"),
    SHUFFLED("idx", "9", "31"),
    SHUFFLED("idx", "3", "6175"),
    {"shfl.sync.idx.b32 by register", "iis", "shfl.sync.idx.b32 $d, $a, $b, 31, 0xffffffff;"},
    {"shfl.sync.down.b32 by register", "iis", "shfl.sync.down.b32 $d, $a, $b, 31, 0xffffffff;"},
    {"shfl.sync.up.b32 by register", "iis", "shfl.sync.up.b32 $d, $a, $b, 0, 0xffffffff;"},
    {"vote.sync.all.pred", "Pi",
     "{ .reg .pred q; setp.gt.s32 q, $a, 1000; vote.sync.all.pred $d, q, 0xffffffff; }"},
    {"vote.sync.any.pred", "Pi",
     "{ .reg .pred q; setp.gt.s32 q, $a, 1000; vote.sync.any.pred $d, q, 0xffffffff; }"},
    {"vote.sync.uni.pred", "Pi",
     "{ .reg .pred q; setp.gt.s32 q, $a, 1000; vote.sync.uni.pred $d, q, 0xffffffff; }"},
    {"vote.sync.ballot.b32", "ii",
     "{ .reg .pred q; setp.gt.s32 q, $a, 0; vote.sync.ballot.b32 $d, q, 0xffffffff; }"},
    {"vote.sync.ballot.b32 negated", "ii",
     "{ .reg .pred q; setp.gt.s32 q, $a, 0; vote.sync.ballot.b32 $d, !q, 0xffffffff; }"},
    {"match.any.sync.b32", "is", "match.any.sync.b32 $d, $a, 0xffffffff;"},
    {"match.any.sync.b64", "il", "match.any.sync.b64 $d, $a, 0xffffffff;"},
    {"match.all.sync.b32", "is",
     "{ .reg .pred q; .reg .b32 x; and.b32 x, $a, 0; match.all.sync.b32 $d|q, x, 0xffffffff; @!q "
     "mov.b32 $d, 77; }"},
    {"match.all.sync.b32 apart", "is",
     "{ .reg .pred q; match.all.sync.b32 $d|q, $a, 0xffffffff; @!q mov.b32 $d, 77; }"},
    {"redux.sync.add.u32", "ii", "redux.sync.add.u32 $d, $a, 0xffffffff;"},
    {"redux.sync.min.u32", "ii", "redux.sync.min.u32 $d, $a, 0xffffffff;"},
    {"redux.sync.max.u32", "ii", "redux.sync.max.u32 $d, $a, 0xffffffff;"},
    {"redux.sync.add.s32", "ii", "redux.sync.add.s32 $d, $a, 0xffffffff;"},
    {"redux.sync.min.s32", "ii", "redux.sync.min.s32 $d, $a, 0xffffffff;"},
    {"redux.sync.max.s32", "ii", "redux.sync.max.s32 $d, $a, 0xffffffff;"},
    {"redux.sync.and.b32", "ii", "redux.sync.and.b32 $d, $a, 0xffffffff;"},
    {"redux.sync.or.b32", "ii", "redux.sync.or.b32 $d, $a, 0xffffffff;"},
    {"redux.sync.xor.b32", "ii", "redux.sync.xor.b32 $d, $a, 0xffffffff;"},
    {"activemask.b32", "ii", "{ .reg .pred q; setp.ge.s32 q, $a, 0; activemask.b32 $d; }"},
    {"bar.red.popc.u32", "ii",
     "{ .reg .pred q; setp.gt.s32 q, $a, 0; bar.red.popc.u32 $d, 0, q; }"},
    {"bar.red.and.pred", "Pi",
     "{ .reg .pred q; setp.gt.s32 q, $a, -2000000000; bar.red.and.pred $d, 0, q; }"},
    {"bar.red.or.pred", "Pi",
     "{ .reg .pred q; setp.gt.s32 q, $a, -2000000000; bar.red.or.pred $d, 0, q; }"},
};

enum { INSTRUCTION_COUNT = sizeof instructions / sizeof *instructions };

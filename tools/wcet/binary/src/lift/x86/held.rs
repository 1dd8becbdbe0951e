//! Vector instructions whose semantics were held against a processor, by a test that executes each. SLEIGH has semantics of more, of which
//! some are wrong: those are any value.

use iced_x86::Mnemonic;

use crate::lift::register::Registers;

pub(crate) const HELD: &[Mnemonic] = {
    use Mnemonic::*;
    &[
        Addpd, Addps, Addsd, Addss, Andnpd, Andnps, Andpd, Andps, Cmppd, Cmpps, Cmpsd, Cmpss, Comisd, Comiss, Cvtdq2pd,
        Cvtdq2ps, Cvtpd2ps, Cvtps2pd, Cvtsd2ss, Cvtsi2sd, Cvtsi2ss, Cvtss2sd, Cvttps2dq, Cvttsd2si, Cvttss2si, Divpd,
        Divps, Divsd, Divss, Maxpd, Maxps, Maxsd, Maxss, Minpd, Minps, Minsd, Minss, Movapd, Movaps, Movd, Movdqa,
        Movdqu, Movhlps, Movhpd, Movhps, Movlhps, Movlpd, Movlps, Movmskpd, Movmskps, Movq, Movsd, Movss, Movupd,
        Movups, Mulpd, Mulps, Mulsd, Mulss, Orpd, Orps, Packssdw, Packsswb, Packuswb, Paddb, Paddd, Paddq, Paddsb,
        Paddsw, Paddusb, Paddusw, Paddw, Pand, Pandn, Pavgb, Pavgw, Pcmpeqb, Pcmpeqd, Pcmpeqw, Pcmpgtb, Pcmpgtd,
        Pcmpgtw, Pextrw, Pinsrw, Pmaddwd, Pmaxsw, Pmaxub, Pminsw, Pminub, Pmovmskb, Pmulhuw, Pmulhw, Pmullw, Pmuludq,
        Por, Psadbw, Pshufd, Pshufhw, Pshuflw, Pslld, Pslldq, Psllq, Psllw, Psrad, Psraw, Psrld, Psrldq, Psrlq, Psrlw,
        Psubb, Psubd, Psubq, Psubsb, Psubsw, Psubusb, Psubusw, Psubw, Punpckhbw, Punpckhdq, Punpckhqdq, Punpckhwd,
        Punpcklbw, Punpckldq, Punpcklqdq, Punpcklwd, Pxor, Shufpd, Shufps, Sqrtpd, Sqrtps, Sqrtsd, Sqrtss, Subpd,
        Subps, Subsd, Subss, Ucomisd, Ucomiss, Unpckhpd, Unpckhps, Unpcklpd, Unpcklps, Xorpd, Xorps,
    ]
};

/// Whether it computes on tracked vector registers, and is none of these.
pub(crate) fn is_open(decoded: &iced_x86::Instruction, registers: Registers) -> bool {
    let uses = (0..decoded.op_count()).any(|operand| decoded.op_register(operand).is_vector_register());
    registers.vectors().next().is_some() && uses && !HELD.contains(&decoded.mnemonic())
}

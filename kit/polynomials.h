/* SPDX-License-Identifier: Apache-2.0 */
/* Coefficients of the functions of mathematics on float32 that kit makes itself, as text of the C family (emit/emit_math.c) and as
 * expressions (lower/lower_math.c). Each list is FIRST(p, x, a, b) NEXT(p, x, c) ...: p = x * a + b; p = p * x + c; ... Not installed.
 */
#ifndef TENON_KIT_POLYNOMIALS_H
#define TENON_KIT_POLYNOMIALS_H

/* 2 e^r, |r| <= ln(2) / 2 */
#define TNK_EXP_P(FIRST, NEXT, p, x)          \
    FIRST(p, x, 0.0165806208f, 0.0837927237f) \
    NEXT(p, x, 0.333352745f)                  \
    NEXT(p, x, 0.999983251f)                  \
    NEXT(p, x, 1.9999994f)                    \
    NEXT(p, x, 2.0f)
/* (log(1 + f) - f + f^2 / 2) / f^3, sqrt(1/2) <= 1 + f < sqrt(2) */
#define TNK_LOG_P(FIRST, NEXT, p, x)          \
    FIRST(p, x, -0.0763449742f, 0.127615784f) \
    NEXT(p, x, -0.131601834f)                 \
    NEXT(p, x, 0.142017573f)                  \
    NEXT(p, x, -0.166233569f)                 \
    NEXT(p, x, 0.200012267f)                  \
    NEXT(p, x, -0.250008196f)                 \
    NEXT(p, x, 0.333333313f)
/* sin(r) = r + r z P(z), cos(r) = 1 - z / 2 + z^2 P(z), z = r^2, |r| <= pi/4 */
#define TNK_SIN_P(FIRST, NEXT, p, x)             \
    FIRST(p, x, -1.95146323e-4f, 8.33215602e-3f) \
    NEXT(p, x, -0.166666552f)
#define TNK_COS_P(FIRST, NEXT, p, x)             \
    FIRST(p, x, 2.44324134e-5f, -1.38873097e-3f) \
    NEXT(p, x, 0.0416666456f)
/* pi / 2 in parts, of which all but the last have so few bits that products with n < 2^14 are exact */
#define TNK_HALF_PI_1 0x1.92p+0f
#define TNK_HALF_PI_2 0x1.fb4p-12f
#define TNK_HALF_PI_3 0x1.444p-24f
#define TNK_HALF_PI_4 0x1.68c234p-39f
/* tanh(x) = x P(x^2) / Q(x^2), |x| <= 9.46 */
#define TNK_TANH_P(FIRST, NEXT, p, x)           \
    FIRST(p, x, 1.33190755e-8f, 2.05834829e-5f) \
    NEXT(p, x, 3.49403406e-3f)                  \
    NEXT(p, x, 0.133797184f)                    \
    NEXT(p, x, 1.0f)
#define TNK_TANH_Q(FIRST, NEXT, p, x)           \
    FIRST(p, x, 7.76202052e-7f, 3.28309310e-4f) \
    NEXT(p, x, 2.58710738e-2f)                  \
    NEXT(p, x, 0.467130333f)                    \
    NEXT(p, x, 1.0f)
/* erf(x) = x P(x^2) / Q(x^2), |x| <= 4.05 */
#define TNK_ERF_P(FIRST, NEXT, p, x)            \
    FIRST(p, x, 2.05007946e-6f, 2.84883514e-4f) \
    NEXT(p, x, 3.76565568e-3f)                  \
    NEXT(p, x, 5.27488422e-2f)                  \
    NEXT(p, x, 0.190407380f)                    \
    NEXT(p, x, 1.12837911f)
#define TNK_ERF_Q(FIRST, NEXT, p, x)            \
    FIRST(p, x, 3.80916739e-5f, 1.16254471e-3f) \
    NEXT(p, x, 1.49692940e-2f)                  \
    NEXT(p, x, 0.114109486f)                    \
    NEXT(p, x, 0.502076864f)                    \
    NEXT(p, x, 1.0f)

#endif

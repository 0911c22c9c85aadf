/* SPDX-License-Identifier: Apache-2.0 */
/* Frequencies of rotary position embedding by the kinds that models use: a table for the kernel, computed in double.
 *
 *     f[i] = scale / theta ^ (2 i / rotary_dim), then by rope_type:
 *     llama3, llama4   frequencies below low_freq_factor turns over the original length are divided by factor, above
 *                      high_freq_factor kept, between them mixed
 *     yarn             the same between the dimensions that make beta_slow and beta_fast turns (Peng and others, YaRN; rounded
 *                      to whole dimensions, as transformers does, unless truncate is false)
 *     longrope         divided by the factors given, one list for positions below the original length and one above
 *     linear           divided by factor
 *     gptj, llama4     pairs are neighbours
 *
 * Layers with a window may differ from the others: then the scaling has an object for each, "full_attention" and "sliding_attention", as
 * transformers writes them, with a rope_theta of its own each.
 */
#include "rope.h"

#include <math.h>

static bool
bad(tn_ctx *ctx, const llm_rope *r, const char *what)
{
    tn_error(ctx, r->at, TNB_INVALID, "rope_scaling %s: %s", tn_text(ctx, r->scaling), what);
    return false;
}

static double
clamp(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static double
number(const llm_rope *r, const char *key, double otherwise)
{
    const tn_node *v = r->scaling ? tn_dict_get(r->scaling, key) : NULL;
    if (!v)
        return otherwise;
    return tn_as_int_imm(v) ? (double)tn_as_int_imm(v)->value
                            : tn_dict_float(r->scaling, key, otherwise);
}

static bool
llama3(tn_ctx *ctx, const llm_rope *r, double *f)
{
    double factor = number(r, "factor", 0), low = number(r, "low_freq_factor", 0),
           high = number(r, "high_freq_factor", 0),
           length = number(r, "original_max_position_embeddings", 0);
    if (!(factor > 0) || !(low > 0) || !(high >= low) || !(length > 0))
        return bad(ctx, r,
                   "factor, low_freq_factor <= high_freq_factor and "
                   "original_max_position_embeddings must be positive");
    for (int64_t i = 0; i < r->rotary_dim / 2; i++) {
        double turns = length * f[i] / (2 * M_PI);
        double keep = high > low ? clamp((turns - low) / (high - low)) : turns >= low;
        f[i] = f[i] * keep + f[i] / factor * (1 - keep);
    }
    return true;
}

/* The dimension whose frequency makes so many turns over the original length. */
static double
dimension_of(const llm_rope *r, double turns, double length)
{
    return (double)r->rotary_dim * log(length / (turns * 2 * M_PI)) / (2 * log(r->theta));
}

static bool
yarn(tn_ctx *ctx, const llm_rope *r, double *f)
{
    double factor = number(r, "factor", 0), fast = number(r, "beta_fast", 32),
           slow = number(r, "beta_slow", 1),
           length = number(r, "original_max_position_embeddings", 0);
    if (!(factor > 0) || !(fast > 0) || !(slow > 0) || !(length > 0) || !(r->theta > 1))
        return bad(ctx, r,
                   "factor, beta_fast, beta_slow and original_max_position_embeddings must "
                   "be positive, theta above 1");
    double low = dimension_of(r, fast, length), high = dimension_of(r, slow, length);
    if (number(r, "truncate", 1) != 0) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, (double)r->rotary_dim - 1);
    if (high <= low)
        high = low + 0.001;
    for (int64_t i = 0; i < r->rotary_dim / 2; i++) {
        double keep = 1 - clamp(((double)i - low) / (high - low));
        f[i] = f[i] * keep + f[i] / factor * (1 - keep);
    }
    return true;
}

static bool
longrope(tn_ctx *ctx, const llm_rope *r, double *f, double *f_long, llm_rope_table *out)
{
    double length = number(r, "original_max_position_embeddings", 0),
           most = number(r, "max_position_embeddings", length);
    if (!(length > 1) || !(most > 0) || length > INT32_MAX || !r->factors)
        return bad(ctx, r,
                   "original_max_position_embeddings, max_position_embeddings and the "
                   "factors (rope_ext_factors) are needed");
    int64_t half = r->rotary_dim / 2;
    for (int64_t i = 0; i < half; i++) {
        if (!(r->factors[i] > 0) || !(r->factors[half + i] > 0))
            return bad(ctx, r, "factors must be positive");
        f_long[i] = f[i] / (double)r->factors[i];
        f[i] /= (double)r->factors[half + i];
    }
    out->long_from = (int64_t)length + 1;
    if (most > length)
        out->amplitude = sqrt(1 + log(most / length) / log(length));
    return true;
}

/* Two rows of one kind of layers: of short texts, of long ones. */
static bool
fill(tn_ctx *ctx, const llm_rope *r, float *rows, llm_rope_table *out)
{
    int64_t half = r->rotary_dim / 2;
    double *f = TNB_NEW_N(tn_scratch(ctx), double, 2 * half + 1), *f_long = f + half;
    const char *kind = r->scaling ? tn_dict_str(r->scaling, "rope_type", "default") : "default";
    *out = (llm_rope_table){.long_from = INT32_MAX, .amplitude = 1};
    out->interleaved = !strcmp(kind, "gptj") || !strcmp(kind, "llama4");
    for (int64_t i = 0; i < half; i++)
        f[i] = f_long[i] = r->scale / pow(r->theta, 2.0 * (double)i / (double)r->rotary_dim);
    bool ok = true, one = true;
    if (!strcmp(kind, "llama3") || !strcmp(kind, "llama4"))
        ok = llama3(ctx, r, f);
    else if (!strcmp(kind, "yarn"))
        ok = yarn(ctx, r, f);
    else if (!strcmp(kind, "longrope")) {
        ok = longrope(ctx, r, f, f_long, out);
        one = false;
    } else if (!strcmp(kind, "linear")) {
        double factor = number(r, "factor", 1);
        if (!(factor > 0))
            return bad(ctx, r, "factor must be positive");
        for (int64_t i = 0; i < half; i++)
            f[i] /= factor;
    } else if (strcmp(kind, "default") && strcmp(kind, "gptj")) {
        bad(ctx, r, "rope_type is not known");
        tnb_diag_hint(tn_diags(ctx),
                      "known are default, gptj, linear, llama3, llama4, longrope and yarn");
        return false;
    }
    out->amplitude = number(r, "attention_factor", out->amplitude);
    for (int64_t i = 0; i < half && ok; i++) {
        rows[i] = (float)f[i];
        rows[half + i] = (float)(one ? f[i] : f_long[i]);
    }
    return ok;
}

bool
llm_rope_make(tn_ctx *ctx, const llm_rope *r, llm_rope_table *out)
{
    static const char *const kinds[2] = {"full_attention", "sliding_attention"};
    const bool differ = r->scaling && tn_as_dict(tn_dict_get(r->scaling, kinds[0])) &&
                        tn_as_dict(tn_dict_get(r->scaling, kinds[1]));
    int64_t half = r->rotary_dim / 2, shape[2] = {differ ? 4 : 2, half};
    void *bytes;
    const tn_data *data = tn_data_new(ctx, TNB_F32, 2, shape, &bytes);
    if (!data)
        return false;
    for (int i = 0; i < (differ ? 2 : 1); i++) {
        llm_rope one = *r;
        llm_rope_table table;
        if (differ)
            one.scaling = tn_dict_get(r->scaling, kinds[i]);
        if (differ && (one.theta = number(&one, "rope_theta", r->theta)) <= 0)
            return bad(ctx, r, "rope_theta must be positive");
        if (!fill(ctx, &one, (float *)bytes + 2 * i * half, &table))
            return false;
        if (i && (table.interleaved != out->interleaved || table.long_from != out->long_from ||
                  table.amplitude != out->amplitude))
            return bad(ctx, r,
                       "layers with and without a window may differ in their frequencies only");
        *out = table;
    }
    out->frequencies = tn_constant_of(ctx, data);
    return true;
}

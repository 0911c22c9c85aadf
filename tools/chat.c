/* SPDX-License-Identifier: Apache-2.0 */
/* tenon chat: a conversation with a language model, by its chat template. */
#include "config.h"
#include "language.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tenon/base/file.h"
#include "tenon/base/log.h"
#include "tenon/core/text.h"
#include "tenon/lm/chat.h"

static const tnt_option options[] = {
    {"system", 0, TNT_VALUE, "TEXT", "system message, before the first user message"},
    {"chat-template", 0, TNT_VALUE, "FILE", "Jinja template (default: that of the tokenizer)"},
    {"max-tokens", 0, TNT_VALUE, "N",
     "at most N tokens in an answer (default: 0, until the context is full)"},
    TNT_SAMPLING_OPTIONS,
    {"stop", 0, TNT_LIST, "TEXT", "end an answer before this text; may be repeated", NULL, true},
    TNT_LANGUAGE_OPTIONS,
    {0}};

enum { MOST_TEMPLATE = 1 << 20 };

typedef struct conversation {
    const tnt_args *a;
    tnt_language l;
    tnl_template *template;
    tnl_generate_options opt;
    tnb_buf messages; /* JSON objects with commas between */
    tnb_buf answer;
    tnt_ids ids;           /* that the model has seen or written */
    tnb_progress *waiting; /* for the first token of an answer */
    bool failed;
} conversation;

static bool
put_text(void *user, const char *s, size_t n)
{
    conversation *c = user;
    tnb_buf_put(&c->answer, s, n);
    if (fwrite(s, 1, n, stdout) != n || fflush(stdout) != 0) {
        c->failed = !tnt_was_interrupted(); /* a signal ends a write early */
        if (!c->failed)
            clearerr(stdout);
    }
    return !c->failed && !tnt_was_interrupted();
}

static bool
put_token(void *user, int32_t id)
{
    conversation *c = user;
    tnb_progress_end(c->waiting);
    c->waiting = NULL;
    return tnt_push_id(&c->ids, id) && !tnt_was_interrupted();
}

static void
add_message(conversation *c, const char *role, const char *text)
{
    tnb_buf_printf(&c->messages, "%s{\"role\": \"%s\", \"content\": ", c->messages.n ? ", " : "",
                   role);
    tn_json_text(&c->messages, text);
    tnb_buf_putc(&c->messages, '}');
}

static void
add_special(const conversation *c, tnb_buf *b, const char *name, tnl_meaning m)
{
    const tnl_tokenizer *t = tnl_model_tokenizer(c->l.model);
    const char *s = tnl_token_text(t, tnl_meaning_token(t, m));
    if (!s)
        return;
    tnb_buf_printf(b, ", \"%s\": ", name);
    tn_json_text(b, s);
}

/* The conversation as the model is to see it. */
static tnb_status
prompt_ids(const conversation *c, int32_t **ids, size_t *n, tnb_err *err)
{
    tnb_buf variables = {0}, text = {0};
    tnb_buf_printf(&variables, "{\"messages\": [%s], \"add_generation_prompt\": true",
                   c->messages.s);
    add_special(c, &variables, "bos_token", TNL_BEGIN_OF_TEXT);
    add_special(c, &variables, "eos_token", TNL_END_OF_TEXT);
    tnb_buf_putc(&variables, '}');
    tnb_status st =
        variables.failed || c->messages.failed
            ? tnb_fail(err, TNB_NO_MEMORY, "no memory for a conversation")
            : tnl_template_render(c->template, variables.s, variables.n, -1, &text, err);
    /* the template writes the beginning of text itself */
    if (st == TNB_OK)
        st = tnl_encode(tnl_model_tokenizer(c->l.model), text.s ? text.s : "", text.n, 0, ids, n,
                        err);
    if (st == TNB_OK && !*n) {
        free(*ids);
        st = tnb_fail(err, TNB_INVALID, "the chat template gives no text for this conversation");
    }
    tnb_buf_free(&variables);
    tnb_buf_free(&text);
    return st;
}

/* Answers the last message. What the cache has of the conversation is kept. */
static tnb_status
answer(conversation *c, tnb_err *err)
{
    int32_t *ids;
    size_t n, same = 0, cached = (size_t)tnl_model_length(c->l.model, 0);
    tnl_generated r = {.size = sizeof r};
    TNB_TRY(prompt_ids(c, &ids, &n, err));
    while (same < n - 1 && same < cached && same < c->ids.n && ids[same] == c->ids.at[same])
        same++;
    tnb_status st = tnl_model_cut(c->l.model, 0, (int64_t)same, err);
    if (st == TNB_UNSUPPORTED) { /* the cache cannot go back so far: it reads the text again */
        same = 0;
        st = tnl_model_cut(c->l.model, 0, 0, err);
    }
    c->ids.n = 0;
    for (size_t i = 0; i < n && st == TNB_OK; i++)
        if (put_token(c, ids[i]) == false && !tnt_was_interrupted())
            st = tnb_fail(err, TNB_NO_MEMORY, "no memory for %zu tokens", n);
    c->answer.n = 0;
    c->waiting = tnt_wait_for(c->a, "reading the message", &c->l.program);
    if (st == TNB_OK)
        st = tnl_generate(c->l.model, 0, ids + same, n - same, &c->opt, &r, err);
    tnb_progress_end(c->waiting);
    c->waiting = NULL;
    free(ids);
    if (c->answer.n && c->answer.s[c->answer.n - 1] != '\n')
        putchar('\n');
    fflush(stdout);
    bool interrupted = tnt_was_interrupted();
    if (interrupted && !c->answer.n && isatty(0))
        fputs("\n", stderr); /* behind the terminal's ^C */
    if (st == TNB_OK)
        tnt_print_speed(c->a, &r);
    if (st != TNB_OK && !interrupted)
        return st;
    tnb_buf_putc(&c->answer, 0);
    if (c->answer.failed)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for an answer");
    add_message(c, "assistant", c->answer.s);
    return TNB_OK;
}

/* False: a signal came first. It is taken while the program waits and not before, so that none is missed between. */
static bool
wait_for_line(void)
{
    sigset_t ends, was;
    struct pollfd p = {.fd = 0, .events = POLLIN};
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ends, &was);
    bool ready = !tnt_was_interrupted();
    if (ready && ppoll(&p, 1, NULL, &was) < 0)
        ready = errno != EINTR || !tnt_was_interrupted();
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    return ready;
}

/* The next line, from malloc or `*line` again; 0 or less at the end of the input. At a person's prompt Ctrl-C drops what was typed and
 * says how to end; a second one ends the program, as everywhere else. */
static ssize_t
next_line(conversation *c, bool person, char **line, size_t *room)
{
    for (bool told = false;; told = true) {
        if (!person)
            return getline(line, room, stdin);
        tnt_catch_interrupt(&c->l);
        fputs("> ", stderr);
        const ssize_t n = wait_for_line() ? getline(line, room, stdin) : 0;
        const int number = tnt_was_interrupted();
        tnt_catch_interrupt(NULL);
        if (n > 0 || !number)
            return n;
        clearerr(stdin);
        fputs("\n", stderr);
        if (told || number != SIGINT)
            raise(number); /* ends the program */
        fputs("(Ctrl-C again, Ctrl-D or /quit: end)\n", stderr);
    }
}

/* Whether a line can be a message. */
static bool
is_message(const char *line, size_t n, unsigned long number)
{
    char what[48];
    (void)snprintf(what, sizeof what, "line %lu of the input", number);
    if (!tnt_is_text(what, line, n))
        return false;
    if (strlen(line) == n)
        return true;
    fprintf(stderr, "tenon: %s: byte %zu is 0, which ends a text\n", what, strlen(line));
    return false;
}

/* Messages, a line each, to the end of the input. */
static int
talk(conversation *c)
{
    const char *system = tnt_value(c->a, "system", NULL);
    bool person = isatty(0);
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    int status = TNT_OK;
    if (system && !tnt_is_text("--system", system, strlen(system)))
        return TNT_FAILED;
    if (system)
        add_message(c, "system", system);
    for (unsigned long count = 1; !c->failed; count++) {
        if ((n = next_line(c, person, &line, &room)) <= 0)
            break;
        n -= line[n - 1] == '\n';
        n -= n && line[n - 1] == '\r';
        line[n] = 0;
        if (!is_message(line, (size_t)n, count)) {
            if (person)
                continue;
            status = TNT_FAILED;
            break;
        }
        if (!line[strspn(line, " \t\r")])
            continue;
        if (strcmp(line, "/quit") == 0)
            break;
        if (strcmp(line, "/help") == 0) {
            fputs("/clear: begin a new conversation; /quit: end; Ctrl-C: end an answer\n", stderr);
            continue;
        }
        if (strcmp(line, "/clear") == 0) {
            c->messages.n = 0;
            if (system)
                add_message(c, "system", system);
            continue;
        }
        size_t before = c->messages.n;
        tnb_err err = {0};
        add_message(c, "user", line);
        tnt_catch_interrupt(&c->l);
        tnb_status st = answer(c, &err);
        const int number = tnt_was_interrupted();
        tnt_catch_interrupt(NULL);
        if (number && number != SIGINT) {
            fflush(stdout);
            raise(number); /* ends the program */
        }
        if (st == TNB_OK)
            continue;
        tnt_complain(&err);
        c->messages.n = before; /* the question is forgotten with its answer */
        if (!person) {
            status = TNT_FAILED;
            break;
        }
    }
    if (person)
        fputs("\n", stderr);
    free(line);
    return c->failed ? TNT_FAILED : status;
}

static bool
open_template(conversation *c)
{
    tnb_err err = {0};
    const char *file = tnt_value(c->a, "chat-template", NULL), *text = NULL;
    char *own = NULL;
    size_t n = 0;
    tnb_status st = file ? tnb_read_file(file, MOST_TEMPLATE, &own, &n, &err) : TNB_OK;
    text = own;
    if (!file && (text = tnl_chat_template(tnl_model_tokenizer(c->l.model))))
        n = strlen(text);
    if (st == TNB_OK && !text) {
        st = tnb_fail(&err, TNB_UNSUPPORTED, "the model has no chat template");
        tnb_hint(&err,
                 "name one with --chat-template, or let the model write on with 'tenon generate'");
    }
    if (st == TNB_OK)
        st = tnl_template_new(text, n, file ? file : "chat template", &c->template, &err);
    free(own);
    if (st != TNB_OK)
        tnt_complain(&err);
    return st == TNB_OK;
}

static int
run(tnt_session *s, const tnt_args *a)
{
    conversation c = {
        .a = a,
        .opt = {.size = sizeof c.opt, .keep_sequence = true, .text = put_text, .token = put_token}};
    int64_t most;
    if (!tnt_sampling(a, &c.opt.sampling) || !tnt_int(a, "max-tokens", 0, 0, INT32_MAX, &most))
        return TNT_USAGE;
    const char **stops = tnt_stops(a, &c.opt.n_stops);
    if (!stops)
        return tnt_failure();
    c.opt.stops = stops;
    c.opt.max_tokens = (uint64_t)most;
    c.opt.user = &c;
    int status = TNT_FAILED;
    if (tnt_language_open(s, a, a->operands[0], 0, &c.l)) {
        status = !tnt_model_sampling(a, c.l.model, &c.opt.sampling) ? TNT_USAGE
                 : open_template(&c)                                ? talk(&c)
                                                                    : TNT_FAILED;
        tnl_template_free(c.template);
        tnt_language_close(&c.l);
    } else {
        status = tnt_failure();
    }
    free(stops);
    tnt_free_ids(&c.ids);
    tnb_buf_free(&c.messages);
    tnb_buf_free(&c.answer);
    return status;
}

const tnt_command tnt_command_chat = {
    .name = "chat",
    .operands = "MODEL|FILE.tno",
    .summary = "talk with a language model",
    .details =
        "MODEL is a GGUF file, a folder of transformers with config.json and safetensors, or "
        "a file of llama2.c; FILE.tno is the artifact that tenon compile makes of one.\n\n"
        "Each line of standard input is a message; answers go to standard output while they are "
        "generated. The model's chat template formats the conversation as transformers does; the "
        "cache keeps what the model has processed. /clear begins a new conversation; /quit or the "
        "end of the input (Ctrl-D) ends the program. Ctrl-C ends an answer or drops the line being "
        "typed; twice at the prompt, it ends the program. A conversation longer than the context "
        "is an error; nothing is cut silently.",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .examples =
        (const char *const[]){"tenon chat model.gguf --temperature 0.7",
                              "talks with a model, compiled in memory",
                              "tenon chat model.tno --system 'Answer briefly.' < questions.txt",
                              "answers a file's lines, one after another", NULL},
    .run = run,
};

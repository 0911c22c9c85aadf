/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the stand-in, its log and its faults.
 *
 * TENON_CLML_STANDIN_LOG=FILE       a line for each call, and one for each object left at the end
 * TENON_CLML_STANDIN_FAIL=NAME[:K]  the K-th call (from 1) of NAME fails
 * TENON_CLML_STANDIN_REFUSE=A,B     operations (kernels of kernels.h) that the device does not have
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sc_object *objects;

static const char *
setting(const char *name)
{
    const char *v = getenv(name);
    return v && *v ? v : NULL;
}

static void
write_log(const char *name, const char *what, const char *text)
{
    const char *path = setting("TENON_CLML_STANDIN_LOG");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (!f)
        return;
    fprintf(f, "%s%s%s%s\n", name, what, *text ? " " : "", text);
    fclose(f);
}

void *
sc_new(sc_kind kind, size_t size)
{
    sc_object *o = calloc(1, size);
    if (!o)
        return NULL;
    o->kind = kind;
    o->refs = 1;
    pthread_mutex_lock(&lock);
    o->next = objects;
    objects = o;
    pthread_mutex_unlock(&lock);
    return o;
}

bool
sc_alive(const void *handle, sc_kind kind)
{
    pthread_mutex_lock(&lock);
    const sc_object *o = objects;
    while (o && o != handle)
        o = o->next;
    bool is = o && o->kind == kind;
    pthread_mutex_unlock(&lock);
    return is;
}

void
sc_release(void *handle)
{
    pthread_mutex_lock(&lock);
    sc_object **p = &objects, *o = handle;
    if (--o->refs > 0) {
        pthread_mutex_unlock(&lock);
        return;
    }
    while (*p && *p != o)
        p = &(*p)->next;
    if (*p)
        *p = o->next;
    pthread_mutex_unlock(&lock);
    if (o->kind == SC_SET)
        free(((struct clml_set *)o)->entries);
    if (o->kind == SC_RECORDING)
        free(((struct clml_recording *)o)->calls);
    free(o);
}

sc_queue *
sc_recordable(cl_command_queue queue)
{
    pthread_mutex_lock(&lock);
    sc_object *o = objects;
    while (o && !(o->kind == SC_QUEUE && ((sc_queue *)o)->queue == queue))
        o = o->next;
    pthread_mutex_unlock(&lock);
    return (sc_queue *)o;
}

static bool
chosen_to_fail(const char *name)
{
    static int calls;
    const char *fail = setting("TENON_CLML_STANDIN_FAIL");
    size_t n = strlen(name);
    if (!fail || strncmp(fail, name, n) || (fail[n] && fail[n] != ':'))
        return false;
    int k = fail[n] == ':' ? atoi(fail + n + 1) : 1;
    pthread_mutex_lock(&lock);
    bool now = ++calls == k;
    pthread_mutex_unlock(&lock);
    return now;
}

cl_int
sc_enter(const char *name, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    bool fail = chosen_to_fail(name);
    write_log(name, fail ? " FAILED" : "", text);
    return fail ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
}

cl_int
sc_refuse(cl_int code, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    write_log("refused:", "", text);
    return code;
}

bool
sc_refused(const char *op)
{
    const char *list = setting("TENON_CLML_STANDIN_REFUSE");
    size_t n = strlen(op);
    for (const char *p = list; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, op, n) && (!p[n] || p[n] == ','))
            return true;
    return false;
}

static const char *const kinds[] = {
    "", "tensor", "operation", "descriptor set", "tuning cache", "recording", "recordable queue"};

/* What a program forgot to release. */
__attribute__((destructor)) static void
tell_leaks(void)
{
    for (const sc_object *o = objects; o; o = o->next)
        write_log("leaked:", " ", kinds[o->kind]);
}

/* An interpreter of scripts for rules: a stack machine with a dispatch table, objects with counted references. */

#include "heap.h"

#define STACK           48
#define CALLS           12
#define GLOBALS         12
#define DURATION        125000

enum tag { NIL, INTEGER, TEXT, LIST };

struct object {
    unsigned references;
    enum tag tag;
    unsigned count, room;
    struct value *items;
    char text[];
};

struct value {
    enum tag tag;
    union {
        int32_t integer;
        struct object *object;
    } as;
};

struct function {
    const char *name;
    uint8_t arguments, locals;
    const uint8_t *code;
};

struct call {
    const struct function *function;
    const uint8_t *at;
    struct value *base;
};

struct machine {
    struct value stack[STACK], *top;
    struct call calls[CALLS], *call;
    struct value globals[GLOBALS];
    const struct function *functions;
    struct value (*const *natives)(struct machine *machine, const struct value *arguments);
    const char *const *texts;
    unsigned long steps;
    const char *error;
};

enum operation {
    PUSH, PUSH_WIDE, PUSH_TEXT, PUSH_NIL, LOAD, STORE, LOAD_GLOBAL, STORE_GLOBAL, ADD, SUBTRACT, MULTIPLY, DIVIDE,
    LESS, EQUAL, NOT, JUMP, JUMP_UNLESS, CALL, NATIVE, RETURN, MAKE_LIST, APPEND, INDEX, SET_INDEX, LENGTH, DROP, STOP
};

static uint64_t area[600];
static struct heap heap;
static uint32_t printed = 5381;

static struct object *object_new(enum tag tag, unsigned extra)
{
    struct object *object = heap_allocate(&heap, sizeof *object + extra);

    if (object == NULL)
        failed(2);
    object->references = 1;
    object->tag = tag;
    object->count = object->room = 0;
    object->items = NULL;
    return object;
}

static void release(struct value value);

static void object_free(struct object *object)
{
    for (unsigned i = 0; i < object->count && object->tag == LIST; ++i)
        release(object->items[i]);
    heap_free(&heap, object->items);
    heap_free(&heap, object);
}

static void release(struct value value)
{
    if (value.tag >= TEXT && --value.as.object->references == 0)
        object_free(value.as.object);
}

static struct value keep(struct value value)
{
    if (value.tag >= TEXT)
        ++value.as.object->references;
    return value;
}

static struct value integer(int32_t number)
{
    return (struct value){ .tag = INTEGER, .as.integer = number };
}

static struct value text_of(const char *text, size_t length)
{
    struct object *object = object_new(TEXT, length + 1);

    memcpy(object->text, text, length);
    object->text[length] = 0;
    object->count = length;
    return (struct value){ .tag = TEXT, .as.object = object };
}

static void push(struct machine *self, struct value value)
{
    if (self->top == self->stack + STACK)
        failed(3);
    *self->top++ = value;
}

static struct value pop(struct machine *self)
{
    return *--self->top;
}

static void list_append(struct object *list, struct value value)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 4;
        list->items = heap_resize(&heap, list->items, list->room * sizeof *list->items);
        if (list->items == NULL)
            failed(4);
    }
    list->items[list->count++] = value;
}

static struct value add(struct value left, struct value right)
{
    if (left.tag == TEXT && right.tag == TEXT) {
        struct object *object = object_new(TEXT, left.as.object->count + right.as.object->count + 1);
        memcpy(object->text, left.as.object->text, left.as.object->count);
        memcpy(object->text + left.as.object->count, right.as.object->text, right.as.object->count + 1);
        object->count = left.as.object->count + right.as.object->count;
        return (struct value){ .tag = TEXT, .as.object = object };
    }
    return integer(left.as.integer + right.as.integer);
}

static bool equal(struct value left, struct value right)
{
    if (left.tag != right.tag)
        return false;
    return left.tag == TEXT ? strcmp(left.as.object->text, right.as.object->text) == 0
                            : left.as.integer == right.as.integer;
}

static void enter(struct machine *self, const struct function *function)
{
    if (++self->call == self->calls + CALLS)
        failed(5);
    self->call->function = function;
    self->call->at = function->code;
    self->call->base = self->top - function->arguments;
    for (unsigned i = function->arguments; i < function->locals; ++i)
        push(self, (struct value){ .tag = NIL });
}

/* Drops locals and arguments, and leaves the result in their place. */
static bool leave(struct machine *self)
{
    struct value result = pop(self);

    while (self->top > self->call->base)
        release(pop(self));
    push(self, result);
    return --self->call > self->calls;
}

static __attribute__((noipa)) void interpret(struct machine *self)
{
    static const void *const labels[] = {
        &&push, &&push_wide, &&push_text, &&push_nil, &&load, &&store, &&load_global, &&store_global, &&add, &&subtract,
        &&multiply, &&divide, &&less, &&equal, &&not, &&jump, &&jump_unless, &&call, &&native, &&leave, &&make_list,
        &&append, &&index, &&set_index, &&length, &&drop, &&stop,
    };
    const uint8_t *at = self->call->at;
    struct value left, right, third;

#define NEXT            do { ++self->steps; goto *labels[*at++]; } while (0)
    NEXT;
push:
    push(self, integer((int8_t)*at++));
    NEXT;
push_wide:
    push(self, integer(at[0] | at[1] << 8));
    at += 2;
    NEXT;
push_text:
    push(self, text_of(self->texts[*at], strlen(self->texts[*at])));
    ++at;
    NEXT;
push_nil:
    push(self, (struct value){ .tag = NIL });
    NEXT;
load:
    push(self, keep(self->call->base[*at++]));
    NEXT;
store:
    release(self->call->base[*at]);
    self->call->base[*at++] = pop(self);
    NEXT;
load_global:
    push(self, keep(self->globals[*at++]));
    NEXT;
store_global:
    release(self->globals[*at]);
    self->globals[*at++] = pop(self);
    NEXT;
add:
    right = pop(self);
    left = pop(self);
    push(self, add(left, right));
    release(left);
    release(right);
    NEXT;
subtract:
    right = pop(self);
    self->top[-1].as.integer -= right.as.integer;
    NEXT;
multiply:
    right = pop(self);
    self->top[-1].as.integer *= right.as.integer;
    NEXT;
divide:
    right = pop(self);
    if (right.as.integer == 0) {
        self->error = "division";
        return;
    }
    self->top[-1].as.integer /= right.as.integer;
    NEXT;
less:
    right = pop(self);
    self->top[-1].as.integer = self->top[-1].as.integer < right.as.integer;
    NEXT;
equal:
    right = pop(self);
    left = pop(self);
    push(self, integer(equal(left, right)));
    release(left);
    release(right);
    NEXT;
not:
    self->top[-1].as.integer = !self->top[-1].as.integer;
    NEXT;
jump:
    at += (int8_t)*at;
    NEXT;
jump_unless:
    left = pop(self);
    at += left.as.integer ? 1 : (int8_t)*at;
    NEXT;
call:
    self->call->at = at + 1;
    enter(self, &self->functions[*at]);
    at = self->call->at;
    NEXT;
native:
    left = self->natives[at[0]](self, self->top - at[1]);
    for (unsigned count = at[1]; count != 0; --count)
        release(pop(self));
    push(self, left);
    at += 2;
    NEXT;
leave:
    if (!leave(self))
        return;
    at = self->call->at;
    NEXT;
make_list:
    push(self, (struct value){ .tag = LIST, .as.object = object_new(LIST, 0) });
    NEXT;
append:
    right = pop(self);
    list_append(self->top[-1].as.object, right);
    NEXT;
index:
    right = pop(self);
    left = pop(self);
    push(self, keep(left.as.object->items[(unsigned)right.as.integer % left.as.object->count]));
    release(left);
    NEXT;
set_index:
    third = pop(self);
    right = pop(self);
    left = pop(self);
    release(left.as.object->items[(unsigned)right.as.integer % left.as.object->count]);
    left.as.object->items[(unsigned)right.as.integer % left.as.object->count] = third;
    release(left);
    NEXT;
length:
    left = pop(self);
    push(self, integer((int32_t)left.as.object->count));
    release(left);
    NEXT;
drop:
    release(pop(self));
    NEXT;
stop:
    self->call->at = at;
    return;
}

/* What scripts get from outside. */

static struct value sample(struct machine *self, const struct value *arguments)
{
    (void)self;
    return integer((int32_t)(SAMPLE((unsigned)arguments[0].as.integer & 3) & 0xFFF));
}

static struct value print(struct machine *self, const struct value *arguments)
{
    (void)self;
    if (arguments[0].tag == TEXT)
        for (const char *text = arguments[0].as.object->text; *text != 0; ++text)
            printed = printed * 33 ^ (uint8_t)*text;
    else
        printed = printed * 33 ^ (uint32_t)arguments[0].as.integer;
    return (struct value){ .tag = NIL };
}

static struct value to_text(struct machine *self, const struct value *arguments)
{
    char digits[12], *at = digits + sizeof digits;
    int32_t number = arguments[0].as.integer;
    uint32_t rest = number < 0 ? 0u - (uint32_t)number : (uint32_t)number;

    (void)self;
    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (number < 0)
        *--at = '-';
    return text_of(at, (size_t)(digits + sizeof digits - at));
}

/* fib(n): if n < 2 return n; return fib(n - 1) + fib(n - 2) */
static const uint8_t fib_code[] = {
    LOAD, 0, PUSH, 2, LESS, JUMP_UNLESS, 4, LOAD, 0, RETURN, LOAD, 0, PUSH, 1, SUBTRACT, CALL, 0,
    LOAD, 0, PUSH, 2, SUBTRACT, CALL, 0, ADD, RETURN,
};

/* sieve(n): list of flags; list[i] = 0 for each multiple; returns how many are left */
static const uint8_t sieve_code[] = {
    MAKE_LIST, STORE, 1, PUSH, 0, STORE, 2, LOAD, 2, LOAD, 0, LESS, JUMP_UNLESS, 16, LOAD, 1, PUSH,
    1, APPEND, DROP, LOAD, 2, PUSH, 1, ADD, STORE, 2, JUMP, (uint8_t)-21, PUSH, 2, STORE, 2, LOAD,
    2, LOAD, 0, LESS, JUMP_UNLESS, 40, LOAD, 2, LOAD, 2, ADD, STORE, 3, LOAD, 3, LOAD, 0, LESS,
    JUMP_UNLESS, 17, LOAD, 1, LOAD, 3, PUSH, 0, SET_INDEX, LOAD, 3, LOAD, 2, ADD, STORE, 3, JUMP,
    (uint8_t)-22, LOAD, 2, PUSH, 1, ADD, STORE, 2, JUMP, (uint8_t)-45, PUSH, 0, STORE, 4, PUSH, 0,
    STORE, 2, LOAD, 2, LOAD, 1, LENGTH, LESS, JUMP_UNLESS, 20, LOAD, 4, LOAD, 1, LOAD, 2, INDEX,
    ADD, STORE, 4, LOAD, 2, PUSH, 1, ADD, STORE, 2, JUMP, (uint8_t)-26, LOAD, 4, RETURN,
};

/* watch(channel): adds a sample to a global list, and returns a text about it */
static const uint8_t watch_code[] = {
    LOAD, 0, NATIVE, 0, 1, STORE, 1, LOAD_GLOBAL, 0, LOAD, 1, APPEND, DROP, LOAD_GLOBAL, 1, LOAD, 1,
    ADD, PUSH, 2, DIVIDE, STORE_GLOBAL, 1, LOAD_GLOBAL, 1, LOAD, 1, LESS, JUMP_UNLESS, 5, PUSH_TEXT,
    0, JUMP, 3, PUSH_TEXT, 1, LOAD, 1, NATIVE, 2, 1, ADD, RETURN,
};

/* main: the other ones, in turn */
static const uint8_t main_code[] = {
    MAKE_LIST, STORE_GLOBAL, 0, PUSH, 0, STORE_GLOBAL, 1, PUSH, 0, STORE, 0, LOAD, 0, PUSH, 9, LESS,
    JUMP_UNLESS, 18, LOAD, 0, CALL, 2, NATIVE, 1, 1, DROP, LOAD, 0, PUSH, 1, ADD, STORE, 0, JUMP,
    (uint8_t)-23, PUSH, 6, CALL, 0, NATIVE, 1, 1, DROP, PUSH, 30, CALL, 1, NATIVE, 1, 1, DROP,
    PUSH_NIL, STORE_GLOBAL, 0, PUSH_WIDE, 0xE8, 3, RETURN,
};

static const struct function functions[] = {
    { "fib", 1, 1, fib_code }, { "sieve", 1, 5, sieve_code }, { "watch", 1, 2, watch_code }, { "main", 0, 1, main_code },
};
static struct value (*const natives[])(struct machine *, const struct value *) = { sample, print, to_text };
static const char *const texts[] = { "over ", "under " };

unsigned program(void)
{
    static struct machine machine;
    unsigned rounds = 0;
    size_t whole;

    lib_time_begin();
    heap_begin(&heap, area, sizeof area);
    whole = heap.left;
    for (; lib_time() < DURATION; ++rounds) {
        machine.top = machine.stack;
        machine.call = machine.calls;
        machine.functions = functions;
        machine.natives = natives;
        machine.texts = texts;
        enter(&machine, &functions[COUNT(functions) - 1]);
        interpret(&machine);
        if (machine.error != NULL || machine.top != machine.stack + 1 || pop(&machine).as.integer != 1000)
            return 6;
        if (heap.left != whole)
            return 7;
    }
    return rounds != 0 && printed != 5381 ? 0 : 8;
}

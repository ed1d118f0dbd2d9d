/* A secure channel: frames with a CRC by table, AES in counter mode by tables, and keys by a hash with a context. */

#include "lib.h"

#define BLOCK           16
#define ROUNDS          10
#define DURATION        120000

struct aes {
    uint32_t keys[4 * (ROUNDS + 1)];
};

struct hash {
    const struct hash_kind *kind;
    uint32_t state[8];
    uint8_t waiting[64];
    unsigned count;
    uint64_t total;
};

struct hash_kind {
    const char *name;
    unsigned size;
    void (*begin)(struct hash *hash);
    void (*block)(struct hash *hash, const uint8_t *block);
};

struct cipher {
    struct aes aes;
    uint8_t counter[BLOCK], stream[BLOCK];
    unsigned used;
};

struct session {
    struct cipher send, receive;
    uint32_t sequence, expected;
    unsigned accepted, refused;
    struct session *next;
};

struct frame {
    uint8_t session, length;
    uint16_t reserved;
    uint32_t sequence;
    uint8_t body[48];
    uint32_t check;
};

static uint8_t box[256];
static uint32_t mixed[256], crc_table[256];
static uint32_t constants[64];
static struct session sessions[2], *first_session;

static uint32_t rotate(uint32_t value, unsigned count)
{
    return value >> count | value << (32 - count);
}

static uint8_t doubled(uint8_t value)
{
    return (uint8_t)(value << 1 ^ (value & 0x80 ? 0x1B : 0));
}

/* The tables are made at the beginning, as where flash is small. */
static void make_tables(void)
{
    uint8_t p = 1, q = 1;

    for (unsigned i = 0; i < COUNT(crc_table); ++i) {
        uint32_t crc = i;
        for (unsigned bit = 0; bit < 8; ++bit)
            crc = crc & 1 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
        crc_table[i] = crc;
    }
    do {
        p = (uint8_t)(p ^ doubled(p));
        q = (uint8_t)(q ^ q << 1);
        q = (uint8_t)(q ^ q << 2);
        q = (uint8_t)(q ^ q << 4);
        q ^= q & 0x80 ? 9 : 0;
        unsigned x = q | (unsigned)q << 8;
        box[p] = (uint8_t)(q ^ x >> 7 ^ x >> 6 ^ x >> 5 ^ x >> 4 ^ 0x63);
    } while (p != 1);
    box[0] = 0x63;
    for (unsigned i = 0; i < COUNT(mixed); ++i) {
        uint32_t one = box[i], two = doubled(box[i]);
        mixed[i] = two | one << 8 | one << 16 | (two ^ one) << 24;
    }
}

static __attribute__((noipa)) uint32_t crc32(uint32_t crc, const void *data, size_t size)
{
    const uint8_t *bytes = data;

    for (crc = ~crc; size--; ++bytes)
        crc = crc_table[(crc ^ *bytes) & 0xFF] ^ crc >> 8;
    return ~crc;
}

static uint32_t load(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void store(uint8_t *bytes, uint32_t value)
{
    for (unsigned i = 0; i < 4; ++i, value >>= 8)
        bytes[i] = (uint8_t)value;
}

/* AES-128 (FIPS 197), words in the order of bytes. */

static uint32_t substitute(uint32_t word)
{
    return box[word & 255] | (uint32_t)box[word >> 8 & 255] << 8 | (uint32_t)box[word >> 16 & 255] << 16
        | (uint32_t)box[word >> 24] << 24;
}

static void aes_key(struct aes *self, const uint8_t *key)
{
    uint8_t constant = 1;

    for (unsigned i = 0; i < 4; ++i)
        self->keys[i] = load(key + 4 * i);
    for (unsigned i = 4; i < COUNT(self->keys); ++i) {
        uint32_t word = self->keys[i - 1];
        if (i % 4 == 0) {
            word = substitute(rotate(word, 8)) ^ constant;
            constant = doubled(constant);
        }
        self->keys[i] = self->keys[i - 4] ^ word;
    }
}

static uint32_t column(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return mixed[a & 255] ^ rotate(mixed[b >> 8 & 255], 24) ^ rotate(mixed[c >> 16 & 255], 16)
        ^ rotate(mixed[d >> 24], 8);
}

static __attribute__((noinline)) void aes_encrypt(const struct aes *self, const uint8_t *in, uint8_t *out)
{
    const uint32_t *key = self->keys;
    uint32_t state[4], next[4];

    for (unsigned i = 0; i < 4; ++i)
        state[i] = load(in + 4 * i) ^ *key++;
    for (unsigned round = 1; round < ROUNDS; ++round) {
        for (unsigned i = 0; i < 4; ++i)
            next[i] = column(state[i], state[(i + 1) % 4], state[(i + 2) % 4], state[(i + 3) % 4]) ^ *key++;
        memcpy(state, next, sizeof state);
    }
    for (unsigned i = 0; i < 4; ++i) {
        uint32_t word = (state[i] & 0xFF) | (state[(i + 1) % 4] & 0xFF00) | (state[(i + 2) % 4] & 0xFF0000)
            | (state[(i + 3) % 4] & 0xFF000000);
        store(out + 4 * i, substitute(word) ^ *key++);
    }
}

static void cipher_begin(struct cipher *self, const uint8_t *key, uint32_t nonce)
{
    aes_key(&self->aes, key);
    memset(self->counter, 0, BLOCK);
    store(self->counter, nonce);
    self->used = BLOCK;
}

static void cipher_apply(struct cipher *self, uint8_t *data, unsigned size)
{
    for (; size--; ++data) {
        if (self->used == BLOCK) {
            aes_encrypt(&self->aes, self->counter, self->stream);
            for (unsigned i = BLOCK; i-- != 0 && ++self->counter[i] == 0; )
                ;
            self->used = 0;
        }
        *data ^= self->stream[self->used++];
    }
}

/* SHA-256 (FIPS 180-4). */

static void sha_begin(struct hash *self)
{
    static const uint32_t initial[8] = {
        0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
    };

    memcpy(self->state, initial, sizeof initial);
    self->count = 0;
    self->total = 0;
}

static void sha_block(struct hash *self, const uint8_t *block)
{
    uint32_t words[64], s[8];

    for (unsigned i = 0; i < 64; ++i) {
        if (i < 16) {
            words[i] = __builtin_bswap32(load(block + 4 * i));
            continue;
        }
        uint32_t one = words[i - 15], two = words[i - 2];
        words[i] = words[i - 16] + words[i - 7] + (rotate(one, 7) ^ rotate(one, 18) ^ one >> 3)
            + (rotate(two, 17) ^ rotate(two, 19) ^ two >> 10);
    }
    memcpy(s, self->state, sizeof s);
    for (unsigned i = 0; i < 64; ++i) {
        uint32_t big = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
        uint32_t first = s[7] + big + ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] + words[i];
        uint32_t second = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22))
            + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        for (unsigned at = 7; at != 0; --at)
            s[at] = s[at - 1];
        s[4] += first;
        s[0] = first + second;
    }
    for (unsigned i = 0; i < 8; ++i)
        self->state[i] += s[i];
}

static const struct hash_kind sha256 = { "sha256", 32, sha_begin, sha_block };

/* Stands for the real constants: any words serve a hash that nobody attacks. */
static void make_constants(void)
{
    for (uint32_t i = 0, word = 0x428A2F98; i < COUNT(constants); ++i, word = word * 1664525 + 1013904223)
        constants[i] = word;
}

static void hash_add(struct hash *self, const void *data, size_t size)
{
    const uint8_t *bytes = data;

    self->total += size;
    while (size != 0) {
        unsigned part = sizeof self->waiting - self->count;
        part = part < size ? part : (unsigned)size;
        memcpy(self->waiting + self->count, bytes, part);
        self->count += part;
        bytes += part;
        size -= part;
        if (self->count == sizeof self->waiting) {
            self->kind->block(self, self->waiting);
            self->count = 0;
        }
    }
}

static void hash_end(struct hash *self, uint8_t *out)
{
    static const uint8_t mark = 0x80, zero = 0;
    uint64_t bits = self->total * 8;
    uint8_t length[8];

    hash_add(self, &mark, 1);
    while (self->count != 56)
        hash_add(self, &zero, 1);
    for (unsigned i = 0; i < 8; ++i)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    hash_add(self, length, 8);
    for (unsigned i = 0; i < self->kind->size / 4; ++i)
        store(out + 4 * i, __builtin_bswap32(self->state[i]));
}

static void derive(const char *label, uint32_t number, uint8_t *key)
{
    struct hash hash = { .kind = &sha256 };
    uint8_t digest[32];

    hash.kind->begin(&hash);
    hash_add(&hash, label, strlen(label));
    hash_add(&hash, &number, sizeof number);
    hash_end(&hash, digest);
    memcpy(key, digest, BLOCK);
}

/* The channel. */

static void session_begin(struct session *self, uint32_t number)
{
    uint8_t key[BLOCK];

    derive("to the plant", number, key);
    cipher_begin(&self->send, key, number);
    cipher_begin(&self->receive, key, number);
    self->sequence = self->expected = 0;
}

static void seal(struct session *self, struct frame *frame, const uint8_t *data, unsigned size)
{
    memset(frame, 0, sizeof *frame);
    frame->session = (uint8_t)(self - sessions);
    frame->length = (uint8_t)size;
    frame->sequence = self->sequence++;
    memcpy(frame->body, data, size);
    cipher_apply(&self->send, frame->body, size);
    frame->check = crc32(0, frame, offsetof(struct frame, check));
}

static struct session *session_of(uint8_t number)
{
    for (struct session *session = first_session; session != NULL; session = session->next)
        if (session - sessions == number)
            return session;
    return NULL;
}

static bool open(struct frame *frame)
{
    struct session *session = session_of(frame->session);

    if (session == NULL || frame->length > sizeof frame->body)
        return false;
    if (crc32(0, frame, offsetof(struct frame, check)) != frame->check || frame->sequence != session->expected) {
        ++session->refused;
        return false;
    }
    ++session->expected;
    cipher_apply(&session->receive, frame->body, frame->length);
    ++session->accepted;
    return true;
}

unsigned program(void)
{
    static struct frame frame;
    uint8_t data[48];
    unsigned round = 0;

    make_tables();
    make_constants();
    for (unsigned i = 0; i < COUNT(sessions); ++i) {
        session_begin(&sessions[i], i + 1);
        sessions[i].next = first_session;
        first_session = &sessions[i];
    }
    lib_time_begin();
    for (; lib_time() < DURATION; ++round) {
        struct session *session = &sessions[round & 1];
        unsigned size = 12 + (SAMPLE(0) & 31), flip = round % 3 == 1;
        for (unsigned i = 0; i < size; ++i)
            data[i] = (uint8_t)(i & 3 ? data[i - 1] + round : SAMPLE(i >> 2 & 3) & 0xFF);
        seal(session, &frame, data, size);
        frame.body[3] ^= (uint8_t)flip;
        if (open(&frame) == (bool)flip)
            return 2;
        if (flip == 0 && memcmp(frame.body, data, size) != 0)
            return 3;
        if (flip != 0)
            session_begin(session, round);
    }
    return sessions[0].accepted != 0 && sessions[0].refused + sessions[1].refused != 0 ? 0 : 4;
}

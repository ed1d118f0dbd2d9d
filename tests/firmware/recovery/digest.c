/* SHA-256, HMAC, AES-128 with CMAC and counter mode, CRC-32: of messages in flash and RAM, and of bytes received. */

#include "inputs.h"

#define BLOCK           64
#define DIGEST          32
#ifdef __OPTIMIZE__
#define PAGE            48
#define PAGES           3
#else
#define PAGE            16
#define PAGES           1
#endif

struct sha256 {
    uint32_t state[8];
    uint64_t length;
    uint8_t block[BLOCK];
};

struct aes {
    uint8_t keys[11][16];
};

struct known {
    const char *message;
    uint32_t digest[8];
};

static const uint32_t sha_constants[64] = {
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2,
};

static const uint8_t substitution[256] = {
    0x63, 0x7C, 0x77, 0x7B, 0xF2, 0x6B, 0x6F, 0xC5, 0x30, 0x01, 0x67, 0x2B, 0xFE, 0xD7, 0xAB, 0x76,
    0xCA, 0x82, 0xC9, 0x7D, 0xFA, 0x59, 0x47, 0xF0, 0xAD, 0xD4, 0xA2, 0xAF, 0x9C, 0xA4, 0x72, 0xC0,
    0xB7, 0xFD, 0x93, 0x26, 0x36, 0x3F, 0xF7, 0xCC, 0x34, 0xA5, 0xE5, 0xF1, 0x71, 0xD8, 0x31, 0x15,
    0x04, 0xC7, 0x23, 0xC3, 0x18, 0x96, 0x05, 0x9A, 0x07, 0x12, 0x80, 0xE2, 0xEB, 0x27, 0xB2, 0x75,
    0x09, 0x83, 0x2C, 0x1A, 0x1B, 0x6E, 0x5A, 0xA0, 0x52, 0x3B, 0xD6, 0xB3, 0x29, 0xE3, 0x2F, 0x84,
    0x53, 0xD1, 0x00, 0xED, 0x20, 0xFC, 0xB1, 0x5B, 0x6A, 0xCB, 0xBE, 0x39, 0x4A, 0x4C, 0x58, 0xCF,
    0xD0, 0xEF, 0xAA, 0xFB, 0x43, 0x4D, 0x33, 0x85, 0x45, 0xF9, 0x02, 0x7F, 0x50, 0x3C, 0x9F, 0xA8,
    0x51, 0xA3, 0x40, 0x8F, 0x92, 0x9D, 0x38, 0xF5, 0xBC, 0xB6, 0xDA, 0x21, 0x10, 0xFF, 0xF3, 0xD2,
    0xCD, 0x0C, 0x13, 0xEC, 0x5F, 0x97, 0x44, 0x17, 0xC4, 0xA7, 0x7E, 0x3D, 0x64, 0x5D, 0x19, 0x73,
    0x60, 0x81, 0x4F, 0xDC, 0x22, 0x2A, 0x90, 0x88, 0x46, 0xEE, 0xB8, 0x14, 0xDE, 0x5E, 0x0B, 0xDB,
    0xE0, 0x32, 0x3A, 0x0A, 0x49, 0x06, 0x24, 0x5C, 0xC2, 0xD3, 0xAC, 0x62, 0x91, 0x95, 0xE4, 0x79,
    0xE7, 0xC8, 0x37, 0x6D, 0x8D, 0xD5, 0x4E, 0xA9, 0x6C, 0x56, 0xF4, 0xEA, 0x65, 0x7A, 0xAE, 0x08,
    0xBA, 0x78, 0x25, 0x2E, 0x1C, 0xA6, 0xB4, 0xC6, 0xE8, 0xDD, 0x74, 0x1F, 0x4B, 0xBD, 0x8B, 0x8A,
    0x70, 0x3E, 0xB5, 0x66, 0x48, 0x03, 0xF6, 0x0E, 0x61, 0x35, 0x57, 0xB9, 0x86, 0xC1, 0x1D, 0x9E,
    0xE1, 0xF8, 0x98, 0x11, 0x69, 0xD9, 0x8E, 0x94, 0x9B, 0x1E, 0x87, 0xE9, 0xCE, 0x55, 0x28, 0xDF,
    0x8C, 0xA1, 0x89, 0x0D, 0xBF, 0xE6, 0x42, 0x68, 0x41, 0x99, 0x2D, 0x0F, 0xB0, 0x54, 0xBB, 0x16,
};

static const uint32_t crc_constants[16] = {
    0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
    0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C, 0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
};

/* FIPS 180-4's examples. */
static const struct known digests[] = {
    { "abc", { 0xBA7816BF, 0x8F01CFEA, 0x414140DE, 0x5DAE2223, 0xB00361A3, 0x96177A9C, 0xB410FF61, 0xF20015AD } },
    { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      { 0x248D6A61, 0xD20638B8, 0xE5C02693, 0x0C3E6039, 0xA33CE459, 0x64FF2167, 0xF6ECEDD4, 0x19DB06C1 } },
};

/* RFC 4231's second case, RFC 4493's key and its case of 16 bytes. */
static const uint32_t hmac_expected[8] = {
    0x5BDCC146, 0xBF60754E, 0x6A042426, 0x089575C7, 0x5A003F08, 0x9D273983, 0x9DEC58B9, 0x64EC3843,
};
static const uint8_t mac_key[16] = {
    0x2B, 0x7E, 0x15, 0x16, 0x28, 0xAE, 0xD2, 0xA6, 0xAB, 0xF7, 0x15, 0x88, 0x09, 0xCF, 0x4F, 0x3C,
};
static const uint8_t mac_message[16] = {
    0x6B, 0xC1, 0xBE, 0xE2, 0x2E, 0x40, 0x9F, 0x96, 0xE9, 0x3D, 0x7E, 0x11, 0x73, 0x93, 0x17, 0x2A,
};
static const uint8_t mac_expected[16] = {
    0x07, 0x0A, 0x16, 0xB4, 0x6B, 0x4D, 0x41, 0x44, 0xF7, 0x9B, 0xDD, 0x9D, 0xD0, 0x4A, 0x28, 0x7C,
};

static struct aes cipher;
static uint8_t image[PAGES][PAGE];
static uint8_t counter[16];

static unsigned length_of(const char *text)
{
    unsigned length = 0;

    while (text[length] != 0)
        ++length;
    return length;
}

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

static void put_big_endian(uint8_t *bytes, uint32_t value)
{
    bytes[0] = value >> 24;
    bytes[1] = value >> 16;
    bytes[2] = value >> 8;
    bytes[3] = value;
}

static uint32_t rotated(uint32_t value, unsigned count)
{
    return value >> count | value << (32 - count);
}

static __attribute__((noinline)) void compress(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];

    for (unsigned i = 0; i < 16; ++i)
        w[i] = big_endian(block + 4 * i);
    for (unsigned i = 16; i < 64; ++i) {
        uint32_t s0 = rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    for (unsigned i = 0; i < 64; ++i) {
        uint32_t s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
        uint32_t first = h + s1 + ((e & f) ^ (~e & g)) + sha_constants[i] + w[i];
        uint32_t s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
        uint32_t second = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + second;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

static void sha_begin(struct sha256 *sha)
{
    static const uint32_t initial[8] = {
        0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
    };

    for (unsigned i = 0; i < 8; ++i)
        sha->state[i] = initial[i];
    sha->length = 0;
}

static __attribute__((noinline)) void sha_add(struct sha256 *sha, const void *data, unsigned length)
{
    const uint8_t *bytes = data;
    unsigned filled = sha->length % BLOCK;

    sha->length += length;
    while (length-- > 0) {
        sha->block[filled++] = *bytes++;
        if (filled == BLOCK) {
            compress(sha->state, sha->block);
            filled = 0;
        }
    }
}

static __attribute__((noinline)) void sha_end(struct sha256 *sha, uint8_t *digest)
{
    static const uint8_t padding[BLOCK] = { 0x80 };
    uint64_t bits = sha->length * 8;
    uint8_t end[8];

    sha_add(sha, padding, 1 + (BLOCK + 55 - sha->length % BLOCK) % BLOCK);
    put_big_endian(end, bits >> 32);
    put_big_endian(end + 4, bits);
    sha_add(sha, end, sizeof end);
    for (unsigned i = 0; i < 8; ++i)
        put_big_endian(digest + 4 * i, sha->state[i]);
}

static void hmac(const uint8_t *key, unsigned key_length, const void *data, unsigned length, uint8_t *digest)
{
    struct sha256 sha;
    uint8_t pad[BLOCK];

    for (unsigned i = 0; i < BLOCK; ++i)
        pad[i] = (i < key_length ? key[i] : 0) ^ 0x36;
    sha_begin(&sha);
    sha_add(&sha, pad, BLOCK);
    sha_add(&sha, data, length);
    sha_end(&sha, digest);
    for (unsigned i = 0; i < BLOCK; ++i)
        pad[i] ^= 0x36 ^ 0x5C;
    sha_begin(&sha);
    sha_add(&sha, pad, BLOCK);
    sha_add(&sha, digest, DIGEST);
    sha_end(&sha, digest);
}

static uint8_t doubled(uint8_t value)
{
    return value << 1 ^ (value & 0x80 ? 0x1B : 0);
}

static __attribute__((noinline)) void expand_key(struct aes *aes, const uint8_t *key)
{
    uint8_t *keys = aes->keys[0], constant = 1;

    for (unsigned i = 0; i < 16; ++i)
        keys[i] = key[i];
    for (unsigned i = 16; i < sizeof aes->keys; i += 4) {
        uint8_t word[4];
        for (unsigned j = 0; j < 4; ++j)
            word[j] = keys[i - 4 + j];
        if (i % 16 == 0) {
            uint8_t first = word[0];
            word[0] = substitution[word[1]] ^ constant;
            word[1] = substitution[word[2]];
            word[2] = substitution[word[3]];
            word[3] = substitution[first];
            constant = doubled(constant);
        }
        for (unsigned j = 0; j < 4; ++j)
            keys[i + j] = keys[i - 16 + j] ^ word[j];
    }
}

static void add_key(uint8_t *state, const uint8_t *key)
{
    for (unsigned i = 0; i < 16; ++i)
        state[i] ^= key[i];
}

static void substitute_and_shift(uint8_t *state)
{
    uint8_t out[16];

    for (unsigned i = 0; i < 16; ++i)
        out[i] = substitution[state[(i * 5) % 16]];
    for (unsigned i = 0; i < 16; ++i)
        state[i] = out[i];
}

static void mix_columns(uint8_t *state)
{
    for (uint8_t *c = state; c < state + 16; c += 4) {
        uint8_t all = c[0] ^ c[1] ^ c[2] ^ c[3], first = c[0];
        c[0] ^= all ^ doubled(c[0] ^ c[1]);
        c[1] ^= all ^ doubled(c[1] ^ c[2]);
        c[2] ^= all ^ doubled(c[2] ^ c[3]);
        c[3] ^= all ^ doubled(c[3] ^ first);
    }
}

static __attribute__((noinline)) void encrypt(const struct aes *aes, uint8_t *state)
{
    add_key(state, aes->keys[0]);
    for (unsigned round = 1; round < 10; ++round) {
        substitute_and_shift(state);
        mix_columns(state);
        add_key(state, aes->keys[round]);
    }
    substitute_and_shift(state);
    add_key(state, aes->keys[10]);
}

/* Of whole blocks. */
static __attribute__((noinline)) void cmac(const struct aes *aes, const uint8_t *data, unsigned length, uint8_t *mac)
{
    uint8_t last[16];

    for (unsigned i = 0; i < 16; ++i)
        last[i] = mac[i] = 0;
    encrypt(aes, last);
    unsigned carry = last[0] & 0x80 ? 0x87 : 0;
    for (unsigned i = 0; i < 16; ++i)
        last[i] = last[i] << 1 | (i < 15 ? last[i + 1] >> 7 : 0);
    last[15] ^= carry;
    for (; length > 16; length -= 16, data += 16) {
        add_key(mac, data);
        encrypt(aes, mac);
    }
    add_key(mac, data);
    add_key(mac, last);
    encrypt(aes, mac);
}

/* Counter mode: once more gives back what was. */
static __attribute__((noinline)) void cover(const struct aes *aes, uint8_t *data, unsigned length)
{
    uint8_t stream[16];

    for (unsigned i = 0; i < length; ++i) {
        if (i % 16 == 0) {
            for (unsigned j = 0; j < 16; ++j)
                stream[j] = counter[j];
            encrypt(aes, stream);
            for (int j = 15; j >= 0 && ++counter[j] == 0; --j)
                ;
        }
        data[i] ^= stream[i % 16];
    }
}

static __attribute__((noinline)) uint32_t crc32(uint32_t crc, const void *data, unsigned length)
{
    const uint8_t *bytes = data;

    crc = ~crc;
    while (length-- > 0) {
        crc ^= *bytes++;
        crc = crc >> 4 ^ crc_constants[crc & 15];
        crc = crc >> 4 ^ crc_constants[crc & 15];
    }
    return ~crc;
}

static bool is_digest(const uint8_t *digest, const uint32_t *expected)
{
    uint32_t difference = 0;

    for (unsigned i = 0; i < 8; ++i)
        difference |= big_endian(digest + 4 * i) ^ expected[i];
    return difference == 0;
}

static unsigned self_test(void)
{
    static const char question[] = "what do ya want for nothing?";
    struct sha256 sha;
    uint8_t digest[DIGEST], mac[16], difference = 0;

    for (unsigned i = 0; i < COUNT(digests); ++i) {
        sha_begin(&sha);
        sha_add(&sha, digests[i].message, length_of(digests[i].message));
        sha_end(&sha, digest);
        if (!is_digest(digest, digests[i].digest))
            return 1;
    }
    hmac((const uint8_t *)"Jefe", 4, question, sizeof question - 1, digest);
    if (!is_digest(digest, hmac_expected))
        return 2;
    cmac(&cipher, mac_message, sizeof mac_message, mac);
    for (unsigned i = 0; i < sizeof mac; ++i)
        difference |= mac[i] ^ mac_expected[i];
    if (difference)
        return 3;
    return crc32(0, "123456789", 9) == 0xCBF43926 ? 0 : 4;
}

static __attribute__((noinline)) void receive(uint8_t *page)
{
    for (unsigned i = 0; i < PAGE; ) {
        if (INPUT_STATUS & 1)
            page[i++] = INPUT_BYTE;
    }
}

unsigned run(void)
{
    static uint8_t before[DIGEST], after[DIGEST], mac[16];
    struct sha256 sha;
    uint32_t crc = 0, again = 0;

    expand_key(&cipher, mac_key);
    unsigned failed = self_test();
    if (failed)
        return failed;
    sha_begin(&sha);
    for (unsigned i = 0; i < PAGES; ++i) {
        receive(image[i]);
        crc = crc32(crc, image[i], PAGE);
        sha_add(&sha, image[i], PAGE);
        cover(&cipher, image[i], PAGE);
        cmac(&cipher, image[i], PAGE, mac);
        OUTPUT(0) = big_endian(mac);
    }
    sha_end(&sha, before);
    for (unsigned i = 0; i < COUNT(counter); ++i)
        counter[i] = 0;
    sha_begin(&sha);
    for (unsigned i = 0; i < PAGES; ++i) {
        cover(&cipher, image[i], PAGE);
        again = crc32(again, image[i], PAGE);
        sha_add(&sha, image[i], PAGE);
    }
    sha_end(&sha, after);
    for (unsigned i = 0; i < DIGEST; ++i)
        if (before[i] != after[i])
            return 5;
    return crc == again ? 0 : 6;
}

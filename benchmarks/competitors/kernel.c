/* What a kernel in C would take: hashes that no package of Python has, for one key, and for columns with
   Arrow's and NumPy's offsets and data, eight keys at once where the machine has AVX2. hashing.md has the decision. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <stdint.h>
#include <string.h>

#define SEED 0x9747B28Cu
#define M 0x5BD1E995u
#define BASIS 0x811C9DC5u
#define PRIME 0x01000193u
#define STEP 0x9E3779B97F4A7C15u
#define FACTOR 0xDF442D22CE4859B9u

static uint64_t little_endian(const uint8_t *at, size_t count) {
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++) {
        word |= (uint64_t)at[i] << 8 * i;
    }
    return word;
}

static uint32_t murmur2(const uint8_t *key, size_t length) {
    uint32_t h = SEED ^ (uint32_t)length;
    for (; length >= 4; key += 4, length -= 4) {
        uint32_t k = (uint32_t)little_endian(key, 4) * M;
        h = h * M ^ (k ^ k >> 24) * M;
    }
    if (length) {
        h = (h ^ (uint32_t)little_endian(key, length)) * M;
    }
    h = (h ^ h >> 13) * M;
    return h ^ h >> 15;
}

static uint32_t fnv1a(const uint8_t *key, size_t length) {
    uint32_t h = BASIS;
    for (size_t i = 0; i < length; i++) {
        h = (h ^ key[i]) * PRIME;
    }
    return h;
}

/* JavaScript's `value * M | 0`: the product, rounded to a double. */
static uint32_t rounded(uint32_t value) { return (uint32_t)(int64_t)((double)(int32_t)value * (double)M); }

static uint32_t kafkajs(const uint8_t *key, size_t length) {
    uint32_t h = SEED ^ (uint32_t)length;
    for (size_t i = 0; i < length; i += 4) {
        size_t left = length - i < 4 ? length - i : 4;
        uint32_t k = rounded((uint32_t)little_endian(key + i, left));
        h = rounded(h) ^ rounded(k ^ k >> 24);
    }
    if (length & 3) {
        h = rounded(h ^ (uint32_t)little_endian(key + (length & ~(size_t)3), length & 3));
    }
    h = rounded(h ^ h >> 13);
    return h ^ h >> 15;
}

static uint64_t folded(uint64_t value) {
    uint64_t low = value & 0xFFFFFFFF, high = value >> 32;
    uint64_t factor_low = FACTOR & 0xFFFFFFFF, factor_high = FACTOR >> 32;
    uint64_t middle = high * factor_low + (low * factor_low >> 32);
    uint64_t other = low * factor_high + (middle & 0xFFFFFFFF);
    return (high * factor_high + (middle >> 32) + (other >> 32)) ^ value * FACTOR;
}

static uint32_t boost(const uint8_t *key, size_t length) {
    uint64_t first = folded(STEP), position = first, state = first ^ length;
    for (size_t i = 0; i <= length; i += 8) {
        position += STEP;
        state ^= folded(little_endian(key + i, length - i < 8 ? length - i : 8) + position);
    }
    return (uint32_t)folded(state + position);
}

typedef uint32_t (*one_key)(const uint8_t *, size_t);

#if defined(__x86_64__) && defined(__GNUC__)
#define WIDE __attribute__((target("avx2")))
#include <immintrin.h>
#define CHAINS 4 /* of eight keys: a product takes ten cycles, while others can begin */
#define ROWS (8 * CHAINS)

typedef uint32_t lanes __attribute__((vector_size(32)));
typedef int32_t signed_lanes __attribute__((vector_size(32)));

typedef struct {
    const uint8_t *base;
    lanes at[CHAINS], length[CHAINS];
    uint32_t shortest, longest;
} keys;

typedef void (*many_keys)(const keys *, uint32_t *);

/* Four bytes of each key at this place; zeros of keys that end before. */
WIDE static lanes words(const keys *of, int chain, uint32_t place, lanes which) {
    __m256i none = _mm256_setzero_si256();
    return (lanes)_mm256_mask_i32gather_epi32(none, (const int *)(of->base + place), (__m256i)of->at[chain],
                                              (__m256i)which, 1);
}

WIDE static lanes beyond(lanes length, uint32_t place) {
    return (lanes)((signed_lanes)length > (signed_lanes){0} + (int32_t)place);
}

WIDE static lanes choose(lanes which, lanes yes, lanes no) {
    return (lanes)_mm256_blendv_epi8((__m256i)no, (__m256i)yes, (__m256i)which);
}

WIDE static lanes mixed(lanes h, lanes k) {
    k *= M;
    return h * M ^ (k ^ k >> 24) * M;
}

WIDE static void murmur2_many(const keys *of, uint32_t *out) {
    lanes h[CHAINS], all = (lanes){0} - 1;
    for (int c = 0; c < CHAINS; c++) {
        h[c] = SEED ^ of->length[c];
    }
    uint32_t place = 0;
    for (; place + 4 <= of->shortest; place += 4) {
        for (int c = 0; c < CHAINS; c++) {
            h[c] = mixed(h[c], words(of, c, place, all));
        }
    }
    for (; place < of->longest; place += 4) {
        for (int c = 0; c < CHAINS; c++) {
            lanes some = beyond(of->length[c], place), full = beyond(of->length[c], place + 3);
            lanes word = words(of, c, place, some);
            lanes shift = (of->length[c] & 3) << 3;
            lanes mask = (lanes)_mm256_sllv_epi32(_mm256_set1_epi32(1), (__m256i)shift) - 1;
            lanes last = choose(some, (h[c] ^ (word & mask)) * M, h[c]);
            h[c] = choose(full, mixed(h[c], word), last);
        }
    }
    for (int c = 0; c < CHAINS; c++) {
        h[c] = (h[c] ^ h[c] >> 13) * M;
        h[c] ^= h[c] >> 15;
    }
    memcpy(out, h, sizeof h);
}

WIDE static void fnv1a_many(const keys *of, uint32_t *out) {
    lanes h[CHAINS];
    for (int c = 0; c < CHAINS; c++) {
        h[c] = (lanes){0} + BASIS;
    }
    for (uint32_t place = 0; place < of->longest; place += 4) {
        for (int c = 0; c < CHAINS; c++) {
            lanes word = words(of, c, place, beyond(of->length[c], place));
            for (uint32_t byte = 0; byte < 4; byte++, word >>= 8) {
                lanes there = beyond(of->length[c], place + byte);
                h[c] = choose(there, (h[c] ^ (word & 0xFF)) * PRIME, h[c]);
            }
        }
    }
    memcpy(out, h, sizeof h);
}

/* Eight offsets as 32 bits from the first one on. */
WIDE static lanes narrowed(const int64_t *at, int64_t first) {
    __m256i from = _mm256_set1_epi64x(first), evens = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    __m256i low = _mm256_sub_epi64(_mm256_loadu_si256((const __m256i *)at), from);
    __m256i high = _mm256_sub_epi64(_mm256_loadu_si256((const __m256i *)(at + 4)), from);
    low = _mm256_permutevar8x32_epi32(low, evens);
    high = _mm256_permutevar8x32_epi32(high, evens);
    return (lanes)_mm256_blend_epi32(low, high, 0xF0);
}

/* How many keys are hashed; not the last ones, beyond which no bytes may be read. */
WIDE static size_t hash_many(many_keys rule, const int64_t *offsets, size_t rows, const uint8_t *data,
                             size_t size, uint32_t *out) {
    size_t row = 0;
    for (; row + ROWS <= rows; row += ROWS) {
        const int64_t *at = offsets + row;
        if ((size_t)at[ROWS] + 4 > size || at[ROWS] - at[0] > INT32_MAX) {
            break;
        }
        keys of = {.base = data + at[0], .shortest = UINT32_MAX};
        lanes shortest = (lanes){0} - 1, longest = {0};
        for (int c = 0; c < CHAINS; c++) {
            of.at[c] = narrowed(at + 8 * c, at[0]);
            of.length[c] = narrowed(at + 8 * c + 1, at[0]) - of.at[c];
            shortest = (lanes)_mm256_min_epu32((__m256i)shortest, (__m256i)of.length[c]);
            longest = (lanes)_mm256_max_epu32((__m256i)longest, (__m256i)of.length[c]);
        }
        for (int i = 0; i < 8; i++) {
            of.shortest = shortest[i] < of.shortest ? shortest[i] : of.shortest;
            of.longest = longest[i] > of.longest ? longest[i] : of.longest;
        }
        rule(&of, out + row);
    }
    return row;
}
#define RULE(one, many) {#one, one, many}
#else
#define RULE(one, many) {#one, one}
#endif

static const struct {
    const char *name;
    one_key one;
#ifdef WIDE
    many_keys many;
#endif
} RULES[] = {RULE(murmur2, murmur2_many),
             {.name = "murmur2 in turn", .one = murmur2},
             RULE(fnv1a, fnv1a_many),
             RULE(kafkajs, NULL),
             RULE(boost, NULL)};

enum { MASK, UNSIGNED, ABSOLUTE };

static uint32_t partition(uint32_t hash, uint32_t count, int sign) {
    if (sign == MASK) {
        hash &= 0x7FFFFFFF;
    } else if (sign == ABSOLUTE && hash >> 31) {
        hash = -hash;
    }
    return hash % count;
}

/* Hash and place keys; the first row whose offsets cannot be, or -1. */
static Py_ssize_t hash_column(int rule, const void *offsets, int wide, size_t rows, const uint8_t *data,
                              size_t size, uint32_t *out, uint32_t count, int sign) {
    int64_t at[1025];
    for (size_t first = 0; first < rows; first += 1024) {
        size_t some = rows - first < 1024 ? rows - first : 1024, row = 0;
        int64_t falls = 0;
        for (size_t i = 0; i <= some; i++) {
            at[i] = wide ? ((const int64_t *)offsets)[first + i] : ((const int32_t *)offsets)[first + i];
        }
        for (size_t i = 0; i < some; i++) {
            falls |= at[i + 1] - at[i];
        }
        if (falls < 0 || at[0] < 0 || (uint64_t)at[some] > size) {
            while (row + 1 < some && at[row] >= 0 && at[row] <= at[row + 1] && (uint64_t)at[row + 1] <= size) {
                row++;
            }
            return (Py_ssize_t)(first + row);
        }
#ifdef WIDE
        if (RULES[rule].many && __builtin_cpu_supports("avx2")) {
            row = hash_many(RULES[rule].many, at, some, data, size, out + first);
        }
#endif
        for (; row < some; row++) {
            out[first + row] = RULES[rule].one(data + at[row], (size_t)(at[row + 1] - at[row]));
        }
        for (row = first; count && row < first + some; row++) {
            out[row] = partition(out[row], count, sign);
        }
    }
    return -1;
}

static int rule_of(const char *name) {
    for (int rule = 0; rule < (int)(sizeof RULES / sizeof *RULES); rule++) {
        if (!strcmp(RULES[rule].name, name)) {
            return rule;
        }
    }
    PyErr_Format(PyExc_ValueError, "no hash %s", name);
    return -1;
}

static PyObject *column(PyObject *self, PyObject *args) {
    const char *name;
    unsigned int count;
    int sign, rule;
    Py_buffer offsets, data, out;
    if (!PyArg_ParseTuple(args, "sy*y*w*Ii", &name, &offsets, &data, &out, &count, &sign)) {
        return NULL;
    }
    Py_ssize_t rows = out.len / 4, bad = -1;
    if ((rule = rule_of(name)) >= 0) {
        if (out.len % 4 || offsets.itemsize * (rows + 1) != offsets.len ||
            (offsets.itemsize != 4 && offsets.itemsize != 8)) {
            PyErr_SetString(PyExc_ValueError, "n hashes need n + 1 offsets of 4 or 8 bytes");
            rule = -1;
        } else {
            Py_BEGIN_ALLOW_THREADS bad = hash_column(rule, offsets.buf, offsets.itemsize == 8, (size_t)rows,
                                                     data.buf, (size_t)data.len, out.buf, count, sign);
            Py_END_ALLOW_THREADS
        }
    }
    PyBuffer_Release(&offsets);
    PyBuffer_Release(&data);
    PyBuffer_Release(&out);
    if (bad >= 0) {
        return PyErr_Format(PyExc_ValueError, "offsets of row %zd are not within the data", bad);
    }
    return rule < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *hash_one(one_key rule, PyObject *key) {
    char *bytes;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(key, &bytes, &length) < 0) {
        return NULL;
    }
    return PyLong_FromLong((int32_t)rule((const uint8_t *)bytes, (size_t)length));
}

static PyObject *place_one(one_key rule, int sign, PyObject *const *args, Py_ssize_t given) {
    char *bytes;
    Py_ssize_t length;
    if (given != 2) {
        PyErr_SetString(PyExc_TypeError, "give a key and a partition count");
        return NULL;
    }
    if (PyBytes_AsStringAndSize(args[0], &bytes, &length) < 0) {
        return NULL;
    }
    long long count = PyLong_AsLongLong(args[1]);
    if (count < 1 || count > INT32_MAX) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "a topic has 1 to 2**31 - 1 partitions");
        }
        return NULL;
    }
    uint32_t hash = rule((const uint8_t *)bytes, (size_t)length);
    return PyLong_FromUnsignedLong(partition(hash, (uint32_t)count, sign));
}

#define SCALAR(rule)                                                                                         \
    static PyObject *rule##_one(PyObject *module, PyObject *key) { return hash_one(rule, key); }
#define PLACE(rule, sign)                                                                                    \
    static PyObject *rule##_place(PyObject *module, PyObject *const *args, Py_ssize_t given) {               \
        return place_one(rule, sign, args, given);                                                           \
    }
SCALAR(murmur2)
SCALAR(fnv1a)
SCALAR(kafkajs)
SCALAR(boost)
PLACE(murmur2, MASK)
PLACE(fnv1a, ABSOLUTE)

static PyMethodDef METHODS[] = {
    {"column", column, METH_VARARGS, NULL},
    {"murmur2", murmur2_one, METH_O, NULL},
    {"fnv1a", fnv1a_one, METH_O, NULL},
    {"kafkajs_murmur2", kafkajs_one, METH_O, NULL},
    {"boost_hash", boost_one, METH_O, NULL},
    {"place_murmur2", (PyCFunction)(void (*)(void))murmur2_place, METH_FASTCALL, NULL},
    {"place_fnv1a", (PyCFunction)(void (*)(void))fnv1a_place, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot SLOTS[] = {{0, NULL}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT,
    .m_name = "kernel",
    .m_methods = METHODS,
    .m_slots = SLOTS,
};

PyMODINIT_FUNC PyInit_kernel(void) { return PyModuleDef_Init(&MODULE); }

/* Decode one trace buffer with OpenCSD's library and tell how long that took, as one line of JSON.
 *
 *     opencsd PARAMETERS [count]
 *
 * PARAMETERS is a text file of one statement a line, written by scripts/bench from a snapshot:
 *
 *     buffer frames|raw FILE
 *     unit a|m VERSION IDR0 IDR1 IDR2 IDR8 IDR9 IDR10 IDR11 IDR12 IDR13 CONFIGR TRACEIDR    (all hexadecimal)
 *     etmv3 a|m IDR CR CCER TRACEIDR
 *     ptm a|m IDR CR CCER TRACEIDR
 *     image ADDRESS FILE
 *
 * Time is the processor's.  The element callback is empty, so that nothing but decoding is measured; with "count" it counts instead, which tells
 * that both decoders did the same work.  Memory is given as buffers, whole, which is the library's fastest way.
 */

#include <opencsd/c_api/opencsd_c_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static unsigned long long elements, ranges, instructions;

static void fail(const char *what, const char *detail)
{
    fprintf(stderr, "opencsd: %s: %s\n", what, detail);
    exit(1);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static uint8_t *read_file(const char *path, uint32_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data;
    long length;

    if (!file || fseek(file, 0, SEEK_END) || (length = ftell(file)) < 0)
        fail("cannot read", path);
    rewind(file);
    data = malloc((size_t)length + 1);
    if (!data || fread(data, 1, (size_t)length, file) != (size_t)length)
        fail("cannot read", path);
    fclose(file);
    *size = (uint32_t)length;
    return data;
}

static ocsd_datapath_resp_t ignore(const void *context, const ocsd_trc_index_t index, const uint8_t id,
                                   const ocsd_generic_trace_elem *element)
{
    (void)context, (void)index, (void)id, (void)element;
    return OCSD_RESP_CONT;
}

static ocsd_datapath_resp_t count(const void *context, const ocsd_trc_index_t index, const uint8_t id,
                                  const ocsd_generic_trace_elem *element)
{
    (void)context, (void)index, (void)id;
    elements++;
    if (element->elem_type == OCSD_GEN_TRC_ELEM_INSTR_RANGE) {
        ranges++;
        instructions += element->num_instr_range;
    }
    return OCSD_RESP_CONT;
}

static void add_unit(dcd_tree_handle_t tree, const char *profile, const unsigned *values)
{
    ocsd_etmv4_cfg config;
    unsigned char id;

    memset(&config, 0, sizeof config);
    config.arch_ver = values[0] == 7 ? ARCH_V7 : ARCH_V8;
    config.core_prof = *profile == 'm' ? profile_CortexM : profile_CortexA;
    config.reg_idr0 = values[1];
    config.reg_idr1 = values[2];
    config.reg_idr2 = values[3];
    config.reg_idr8 = values[4];
    config.reg_idr9 = values[5];
    config.reg_idr10 = values[6];
    config.reg_idr11 = values[7];
    config.reg_idr12 = values[8];
    config.reg_idr13 = values[9];
    config.reg_configr = values[10];
    config.reg_traceidr = values[11];
    if (ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_ETMV4I, OCSD_CREATE_FLG_FULL_DECODER, &config, &id) != OCSD_OK)
        fail("the library refuses", "the unit's configuration");
}

static void add_older_unit(dcd_tree_handle_t tree, const char *protocol, const char *profile, const unsigned *values)
{
    ocsd_etmv3_cfg etmv3;
    ocsd_ptm_cfg ptm;
    unsigned char id;
    ocsd_err_t result;

    if (!strcmp(protocol, "ptm")) {
        memset(&ptm, 0, sizeof ptm);
        ptm.arch_ver = ARCH_V7;
        ptm.core_prof = profile_CortexA;
        ptm.reg_idr = values[0];
        ptm.reg_ctrl = values[1];
        ptm.reg_ccer = values[2];
        ptm.reg_trc_id = values[3];
        result = ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_PTM, OCSD_CREATE_FLG_FULL_DECODER, &ptm, &id);
    } else {
        memset(&etmv3, 0, sizeof etmv3);
        etmv3.arch_ver = ARCH_V7;
        etmv3.core_prof = *profile == 'm' ? profile_CortexM : profile_CortexA;
        etmv3.reg_idr = values[0];
        etmv3.reg_ctrl = values[1];
        etmv3.reg_ccer = values[2];
        etmv3.reg_trc_id = values[3];
        result = ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_ETMV3, OCSD_CREATE_FLG_FULL_DECODER, &etmv3, &id);
    }
    if (result != OCSD_OK)
        fail("the library refuses", "the unit's configuration");
}

static dcd_tree_handle_t make_tree(int framed)
{
    dcd_tree_handle_t tree;

    if (framed)
        tree = ocsd_create_dcd_tree(OCSD_TRC_SRC_FRAME_FORMATTED, OCSD_DFRMTR_FRAME_MEM_ALIGN);
    else
        tree = ocsd_create_dcd_tree(OCSD_TRC_SRC_SINGLE, 0);
    if (tree == C_API_INVALID_TREE_HANDLE)
        fail("the library makes", "no decode tree");
    return tree;
}

static dcd_tree_handle_t prepare(const char *parameters, uint8_t **buffer, uint32_t *size)
{
    FILE *file = fopen(parameters, "r");
    dcd_tree_handle_t tree = C_API_INVALID_TREE_HANDLE;
    char line[5000], path[4096], word[16], profile[16];
    unsigned v[12];
    unsigned long long address;
    uint32_t length;
    uint8_t *image;

    if (!file)
        fail("cannot read", parameters);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "buffer %15s %4095[^\n]", word, path) == 2) {
            *buffer = read_file(path, size);
            tree = make_tree(*word == 'f');
        } else if (sscanf(line, "unit %15s %x %x %x %x %x %x %x %x %x %x %x %x", word, v, v + 1, v + 2, v + 3, v + 4,
                          v + 5, v + 6, v + 7, v + 8, v + 9, v + 10, v + 11) == 13) {
            add_unit(tree, word, v);
        } else if (sscanf(line, "%15s %15s %x %x %x %x", word, profile, v, v + 1, v + 2, v + 3) == 6 &&
                   (!strcmp(word, "etmv3") || !strcmp(word, "ptm"))) {
            add_older_unit(tree, word, profile, v);
        } else if (sscanf(line, "image %llx %4095[^\n]", &address, path) == 2) {
            image = read_file(path, &length);
            if (ocsd_dt_add_buffer_mem_acc(tree, address, OCSD_MEM_SPACE_ANY, image, length) != OCSD_OK)
                fail("the library refuses the image", path);
        } else {
            fail("a line that makes no sense", line);
        }
    }
    fclose(file);
    if (tree == C_API_INVALID_TREE_HANDLE)
        fail("no buffer in", parameters);
    return tree;
}

int main(int argc, char **argv)
{
    dcd_tree_handle_t tree;
    uint8_t *buffer = NULL;
    uint32_t size = 0, used, done = 0;
    struct rusage usage;
    double begun;
    int counting = argc > 2 && !strcmp(argv[2], "count");

    if (argc < 2)
        fail("usage", "opencsd PARAMETERS [count]");
    ocsd_def_errlog_init(OCSD_ERR_SEV_ERROR, 0);
    tree = prepare(argv[1], &buffer, &size);
    ocsd_dt_set_gen_elem_outfn(tree, counting ? count : ignore, NULL);
    begun = now();
    while (done < size) {
        if (OCSD_DATA_RESP_IS_FATAL(ocsd_dt_process_data(tree, OCSD_OP_DATA, done, size - done, buffer + done, &used)))
            fail("the library gives up", argv[1]);
        done += used;
    }
    ocsd_dt_process_data(tree, OCSD_OP_EOT, 0, 0, NULL, &used);
    begun = now() - begun;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"seconds\": %.6f, \"peak\": %ld, \"elements\": %llu, \"ranges\": %llu, \"instructions\": %llu}\n", begun,
           usage.ru_maxrss, elements, ranges, instructions);
    return 0;
}

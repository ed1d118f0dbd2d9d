/* Prints the fields of each ETMv4 instruction packet as OpenCSD's library reads them: trc_pkt_lister leaves most out.
 *
 * Usage: opencsd_packets FILE IDR0 IDR1 IDR2 IDR8 IDR12 IDR13 CONFIGR (hexadecimal); FILE is a raw stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <opencsd/c_api/opencsd_c_api.h>

static void print_packet(const void *context, const ocsd_datapath_op_t op, const ocsd_trc_index_t index,
                         const void *data, const uint32_t size, const uint8_t *bytes)
{
    const ocsd_etmv4_i_pkt *p = data;
    (void)context;
    (void)bytes;
    if (op != OCSD_OP_DATA)
        return;
    printf("%llu size=%u type=%x info=%x threshold=%u depth=%u key=%u", (unsigned long long)index, size, p->type,
           p->trace_info.val, p->cc_threshold, p->curr_spec_depth, p->p0_key);
    printf(" commit=%d", p->pkt_valid.bits.commit_elem_valid ? (int)p->commit_elements : -1);
    printf(" cancel=%u cycles=%d", p->cancel_elements, p->pkt_valid.bits.cc_valid ? (int)p->cycle_count : -1);
    printf(" atoms=%u bits=%x mark=%u event=%u", p->atom.num, p->atom.En_bits, p->dsm_val, p->event_val);
    printf(" ckey=%u cset=%u cnum=%u cfinal=%u cincr=%u", p->cond_instr.cond_c_key, p->cond_instr.cond_key_set,
           p->cond_instr.num_c_elem, p->cond_instr.f3_final_elem, p->cond_instr.f2_cond_incr);
    printf(" rkey0=%u rkey1=%u res0=%u res1=%u c0=%u c1=%u set0=%u set1=%u", p->cond_result.cond_r_key_0,
           p->cond_result.cond_r_key_1, p->cond_result.res_0, p->cond_result.res_1, p->cond_result.ci_0,
           p->cond_result.ci_1, p->cond_result.key_res_0_set, p->cond_result.key_res_1_set);
    printf(" rincr=%u token=%u tokens=%x", p->cond_result.f2_key_incr, p->cond_result.f2f4_token,
           p->cond_result.f3_tokens);
    printf(" qtype=%u qcounted=%u qcount=%u", p->Q_pkt.q_type, p->Q_pkt.count_present, p->Q_pkt.q_count);
    printf(" exception=%x elements=%u pending=%u\n", p->exception_info.exceptionType, p->exception_info.addr_interp,
           p->exception_info.m_fault_pending);
}

int main(int argc, char **argv)
{
    static uint8_t buffer[1 << 20];
    ocsd_etmv4_cfg config;
    dcd_tree_handle_t tree;
    unsigned char id;
    uint32_t used = 0;
    size_t size;
    FILE *file;

    if (argc != 9 || !(file = fopen(argv[1], "rb")))
        return 2;
    size = fread(buffer, 1, sizeof buffer, file);
    fclose(file);
    memset(&config, 0, sizeof config);
    config.reg_idr0 = strtoul(argv[2], NULL, 16);
    config.reg_idr1 = strtoul(argv[3], NULL, 16);
    config.reg_idr2 = strtoul(argv[4], NULL, 16);
    config.reg_idr8 = strtoul(argv[5], NULL, 16);
    config.reg_idr12 = strtoul(argv[6], NULL, 16);
    config.reg_idr13 = strtoul(argv[7], NULL, 16);
    config.reg_configr = strtoul(argv[8], NULL, 16);
    config.reg_traceidr = 0x10;
    config.arch_ver = ARCH_V8;
    config.core_prof = profile_CortexM;
    ocsd_def_errlog_init(OCSD_ERR_SEV_NONE, 0);
    tree = ocsd_create_dcd_tree(OCSD_TRC_SRC_SINGLE, 0);
    if (!tree || ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_ETMV4I, OCSD_CREATE_FLG_PACKET_PROC, &config, &id))
        return 1;
    if (ocsd_dt_attach_packet_callback(tree, id, OCSD_C_API_CB_PKT_MON, print_packet, NULL))
        return 1;
    ocsd_dt_process_data(tree, OCSD_OP_DATA, 0, (uint32_t)size, buffer, &used);
    ocsd_dt_process_data(tree, OCSD_OP_EOT, 0, 0, NULL, NULL);
    ocsd_destroy_dcd_tree(tree);
    return 0;
}

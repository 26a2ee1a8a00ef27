"""The C API as ctypes sees it: structs, constants and functions of include/zb.

Written by bindings.py from the headers: change those, and run it again.
"""
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int,
                    c_int32, c_int64, c_size_t, c_uint, c_uint32, c_uint64, c_void_p)
from typing import Any, Dict


class zb_status(c_void_p):
    """NULL, or a failure that is the caller's."""


ZB_DIMS_MAX = 8
ZB_ALIGNMENT = 64
ZB_F32 = 0
ZB_F64 = 1
ZB_BF16 = 2
ZB_F16 = 3
ZB_I64 = 4
ZB_I32 = 5
ZB_I1 = 6
ZB_DTYPE_COUNT = 7
ZB_OK_CODE = 0
ZB_INVALID = 1
ZB_USAGE = 2
ZB_INFEASIBLE = 3
ZB_IO = 4
ZB_MEMORY = 5
ZB_RUNTIME = 6
ZB_UNAVAILABLE = 7
ZB_TIMEOUT = 8
ZB_PEER = 9
ZB_INTERNAL = 10
ZB_INTERRUPTED = 11
ZB_CODE_COUNT = 12
ZB_CAUSE_NOISE = 0
ZB_CAUSE_INTERPRETER = 1
ZB_CAUSE_MESSAGES = 2
ZB_CAUSE_IMBALANCE = 3
ZB_CAUSE_ORDER = 4
ZB_CAUSE_MEMORY = 5
ZB_CAUSE_DEPENDENCY = 6
ZB_CAUSE_COUNT = 7
ZB_F = 0
ZB_B = 1
ZB_W = 2
ZB_KIND_COUNT = 3
ZB_OPTIMIZER_SUM = 0
ZB_OPTIMIZER_NORM = 1
ZB_OPTIMIZER_UPDATE = 2
ZB_OPTIMIZER_PHASES = 3
ZB_LINK_NAME_BYTES = 48
ZB_METRIC_BARRIER = 0
ZB_METRIC_STAGE = 1
ZB_METRIC_PERIOD = 2
ZB_METRIC_COUNT = 3
ZB_SCHEDULE_OPTIONS_MAX = 8
ZB_PATH_JOB = 0
ZB_PATH_MESSAGE = 1
ZB_PATH_REDUCTION = 2
ZB_PATH_OPTIMIZER = 3
ZB_FORM_TEXT = 0
ZB_FORM_COMPUTE_ONLY = 1
ZB_FORM_COMPUTE_COMMS = 2
ZB_FORM_COUNT = 3
ZB_COSTS_VERSION = 1
ZB_RANDOM_SEED = 1
ZB_SESSION_RANKS_TEXT = 144
ZB_BATCHES = 4


class zb_shape(Structure):
    _fields_ = [
        ("dtype", c_int),
        ("rank", c_int),
        ("dims", c_int64 * 8),
    ]


class zb_program(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("does", c_char_p),
        ("options", c_char_p),
    ]


class zb_explanation(Structure):
    _fields_ = [
        ("ranks", c_int),
        ("time_ps", c_int64),
        ("idle_ps", POINTER(c_int64)),
        ("part_ps", POINTER(c_int64 * 7)),
        ("has", c_bool * 7),
        ("saved_ps", c_int64 * 7),
    ]


class zb_stage_cost(Structure):
    _fields_ = [
        ("time_ps", c_int64 * 3),
        ("keep_bytes", c_int64 * 3),
        ("free_bytes", c_int64 * 3),
        ("optimizer_ps", c_int64 * 3),
        ("b_accumulates", c_bool),
        ("f_updates", c_bool),
    ]


class zb_edge(Structure):
    _fields_ = [
        ("source", c_int),
        ("destination", c_int),
        ("forward_bytes", c_int64),
        ("backward_bytes", c_int64),
    ]


class zb_link_class(Structure):
    _fields_ = [
        ("name", c_char * 48),
        ("latency_ps", c_int64),
        ("ps_per_byte", c_double),
    ]


class zb_channel(Structure):
    _fields_ = [
        ("source", c_int),
        ("destination", c_int),
        ("link_class", c_int),
    ]


class zb_reduction(Structure):
    _fields_ = [
        ("stage", c_int),
        ("after", c_int),
        ("bytes", c_int64),
        ("time_ps", c_int64),
        ("lead_ps", c_int64),
    ]


class zb_problem(Structure):
    _fields_ = [
        ("ranks", c_int),
        ("micro_batches", c_int),
        ("stages", c_int),
        ("stage_rank", POINTER(c_int)),
        ("costs", POINTER(zb_stage_cost)),
        ("edges", POINTER(zb_edge)),
        ("edge_count", c_int),
        ("link_latency_ps", c_int64),
        ("link_ps_per_byte", c_double),
        ("link_classes", POINTER(zb_link_class)),
        ("channels", POINTER(zb_channel)),
        ("link_class_count", c_int),
        ("channel_count", c_int),
        ("node_ranks", c_int),
        ("inside_class", c_int),
        ("between_class", c_int),
        ("base_bytes", POINTER(c_int64)),
        ("optimizer_ps", POINTER(c_int64)),
        ("reductions", POINTER(zb_reduction)),
        ("reduction_count", c_int),
        ("overlap_slowdown", c_double),
        ("memory_limit_bytes", c_int64),
        ("rank_limit_bytes", POINTER(c_int64)),
        ("metric", c_int),
        ("whole_backward", c_bool),
    ]


class zb_job(Structure):
    _fields_ = [
        ("stage", c_int32),
        ("micro_batch", c_int32),
        ("kind", c_int),
    ]


class zb_order(Structure):
    _fields_ = [
        ("ranks", c_int),
        ("jobs", POINTER(POINTER(zb_job))),
        ("counts", POINTER(c_int)),
        ("capacities", POINTER(c_int)),
        ("whole_backward", c_bool),
    ]


class zb_schedule_option(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("value", c_int64),
        ("least", c_int64),
        ("most", c_int64),
        ("help", c_char_p),
        ("published", c_int64),
    ]


class zb_schedule_def(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("summary", c_char_p),
        ("placement", c_char_p),
        ("chunks_min", c_int),
        ("chunks_max", c_int),
        ("any_placement", c_bool),
        ("splits_backward", c_bool),
        ("searches", c_bool),
        ("two_pipelines", c_bool),
        ("keeps_limit", c_bool),
        ("is_slow", c_bool),
        ("options", POINTER(zb_schedule_option)),
        ("emit", CFUNCTYPE(c_void_p, POINTER(zb_problem), POINTER(c_int64), POINTER(zb_order))),
        ("within", c_void_p),
        ("memory_bound", CFUNCTYPE(c_double, POINTER(zb_problem), c_int)),
    ]


class zb_schedule_choice(Structure):
    _fields_ = [
        ("schedule", POINTER(zb_schedule_def)),
        ("options", c_int64 * 8),
    ]


class zb_problem_data(Structure):
    _fields_ = [
        ("problem", zb_problem),
        ("stage_rank", POINTER(c_int)),
        ("costs", POINTER(zb_stage_cost)),
        ("edges", POINTER(zb_edge)),
        ("link_classes", POINTER(zb_link_class)),
        ("channels", POINTER(zb_channel)),
        ("reductions", POINTER(zb_reduction)),
        ("base_bytes", POINTER(c_int64)),
        ("optimizer_ps", POINTER(c_int64)),
        ("rank_limit_bytes", POINTER(c_int64)),
        ("memory", c_void_p),
    ]


class zb_uniform_costs(Structure):
    _fields_ = [
        ("f", c_double),
        ("b", c_double),
        ("w", c_double),
        ("comm", c_double),
        ("opt", c_double),
        ("mem", c_double),
        ("mem_w", c_double),
        ("base", c_double),
    ]


class zb_job_times(Structure):
    _fields_ = [
        ("start_ps", c_int64),
        ("end_ps", c_int64),
    ]


class zb_simulation(Structure):
    _fields_ = [
        ("ranks", c_int),
        ("jobs", POINTER(POINTER(zb_job_times))),
        ("reductions", POINTER(zb_job_times)),
        ("optimizer_start_ps", POINTER(c_int64)),
        ("peak_bytes", POINTER(c_int64)),
        ("step_ps", c_int64),
        ("stage_ps", c_int64),
        ("bubble_barrier", c_double),
        ("bubble_stage", c_double),
        ("memory", c_void_p),
    ]


class zb_period(Structure):
    _fields_ = [
        ("cycle_ps", c_int64),
        ("cycle_steps", c_int),
        ("period_ps", c_int64),
        ("bubble", c_double),
    ]


class zb_path_step(Structure):
    _fields_ = [
        ("kind", c_int),
        ("rank", c_int),
        ("to_rank", c_int),
        ("job", zb_job),
        ("start_ps", c_int64),
        ("end_ps", c_int64),
    ]


class zb_path(Structure):
    _fields_ = [
        ("steps", POINTER(zb_path_step)),
        ("count", c_int),
    ]


class zb_order_picture(Structure):
    _fields_ = [
        ("problem", POINTER(zb_problem)),
        ("order", POINTER(zb_order)),
        ("simulation", POINTER(zb_simulation)),
        ("title", c_char_p),
    ]


class zb_transfer(Structure):
    _fields_ = [
        ("source", c_int32),
        ("destination", c_int32),
        ("micro_batch", c_int32),
        ("kind", c_int),
        ("send_at", c_int32),
        ("receive_at", c_int32),
        ("ready_ps", c_int64),
    ]


class zb_lowering(Structure):
    _fields_ = [
        ("transfers", POINTER(zb_transfer)),
        ("count", c_size_t),
    ]


class zb_order_expected(Structure):
    _fields_ = [
        ("ranks", c_int),
        ("stages", c_int),
        ("micro_batches", c_int),
        ("stage_rank", POINTER(c_int)),
    ]


class zb_order_file(Structure):
    _fields_ = [
        ("order", zb_order),
        ("stages", c_int),
        ("micro_batches", c_int),
        ("stage_rank", POINTER(c_int)),
        ("form", c_int),
        ("file_micro_batch", POINTER(c_int32)),
        ("cells", c_void_p),
    ]


class zb_order_style(Structure):
    _fields_ = [
        ("form", c_int),
        ("whole_backward", c_bool),
        ("idle_cells", c_bool),
    ]


class zb_search_params(Structure):
    _fields_ = [
        ("budget", c_int64),
        ("seed", c_uint64),
    ]


class zb_search_report(Structure):
    _fields_ = [
        ("evaluations", c_int64),
        ("start", c_char * 32),
        ("start_ps", c_int64),
        ("best_ps", c_int64),
        ("bound_ps", c_int64),
        ("proven", c_bool),
        ("placement", c_char * 32),
        ("summary", c_char * 256),
    ]


class zb_placement_def(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("summary", c_char_p),
        ("chunks_min", c_int),
        ("chunks_max", c_int),
        ("rank", CFUNCTYPE(c_int, c_int, c_int)),
    ]


class zb_cost_machine(Structure):
    _fields_ = [
        ("device", c_char_p),
        ("instruction_set", c_char_p),
        ("cores", c_int64),
        ("threads", c_int64),
        ("virtual_clock", c_bool),
    ]


class zb_cost_program(Structure):
    _fields_ = [
        ("model", c_char_p),
        ("schedule", c_char_p),
        ("ranks", c_int64),
        ("micro_batches", c_int64),
        ("steps", c_int64),
    ]


class zb_cost_stage(Structure):
    _fields_ = [
        ("stage", c_int64),
        ("rank", c_int64),
        ("fb_bytes", c_int64),
        ("fw_bytes", c_int64),
        ("bw_bytes", c_int64),
    ]


class zb_cost_rank(Structure):
    _fields_ = [
        ("rank", c_int64),
        ("base_bytes", c_int64),
    ]


class zb_cost_edge(Structure):
    _fields_ = [
        ("source", c_int64),
        ("destination", c_int64),
        ("forward_bytes", c_int64),
        ("backward_bytes", c_int64),
    ]


class zb_cost_subprogram(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("rank", c_int64),
        ("stage", c_int64),
        ("kind", c_char_p),
        ("key", c_uint64),
        ("first_ps", c_int64),
        ("time_ps", c_int64),
        ("runs", c_int64),
    ]


class zb_cost_op(Structure):
    _fields_ = [
        ("op", c_char_p),
        ("time_ps", c_int64),
        ("runs", c_int64),
    ]


class zb_cost_message(Structure):
    _fields_ = [
        ("source", c_int64),
        ("destination", c_int64),
        ("bytes", c_int64),
        ("time_ps", c_int64),
        ("runs", c_int64),
    ]


class zb_cost_link(Structure):
    _fields_ = [
        ("latency_ps", c_int64),
        ("ps_per_byte", c_double),
        ("copies", c_bool),
        ("wake_ps", c_int64),
    ]


class zb_cost_overheads(Structure):
    _fields_ = [
        ("job_ps", c_int64),
        ("read_ps", c_int64),
        ("step_ps", c_int64),
    ]


class zb_cost_rates(Structure):
    _fields_ = [
        ("op_ps", c_int64),
        ("ps_per_byte", c_double),
    ]


class zb_cost_product(Structure):
    _fields_ = [
        ("flops", c_int64),
        ("time_ps", c_int64),
    ]


class zb_costs(Structure):
    _fields_ = [
        ("machine", zb_cost_machine),
        ("program", zb_cost_program),
        ("stages", POINTER(zb_cost_stage)),
        ("ranks", POINTER(zb_cost_rank)),
        ("edges", POINTER(zb_cost_edge)),
        ("subprograms", POINTER(zb_cost_subprogram)),
        ("ops", POINTER(zb_cost_op)),
        ("messages", POINTER(zb_cost_message)),
        ("link", zb_cost_link),
        ("overheads", zb_cost_overheads),
        ("has_rates", c_bool),
        ("rates", zb_cost_rates),
        ("products", POINTER(zb_cost_product)),
        ("stage_count", c_int64),
        ("rank_count", c_int64),
        ("edge_count", c_int64),
        ("subprogram_count", c_int64),
        ("op_count", c_int64),
        ("message_count", c_int64),
        ("product_count", c_int64),
        ("op_index", c_void_p),
    ]


class zb_bootstrap(Structure):
    _fields_ = [
        ("launcher", c_char_p),
        ("launch", c_char_p),
        ("process", c_int),
        ("processes", c_int),
        ("local_process", c_int),
        ("address", c_char * 256),
        ("port", c_int),
        ("ports", c_int),
        ("run", c_uint64),
        ("apart", c_bool),
        ("warning", c_char * 256),
    ]


class zb_setting(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("value", c_char_p),
    ]


class zb_session_params(Structure):
    _fields_ = [
        ("directory", c_char_p),
        ("data", c_char_p),
        ("shuffle", c_int64),
        ("evaluation", c_char_p),
        ("outputs", POINTER(c_char_p)),
        ("output_count", c_int),
        ("evaluation_batches", c_int64),
        ("evaluation_input", CFUNCTYPE(c_void_p, c_void_p, c_char_p, c_int64, c_int, c_void_p, c_uint64)),
        ("device", c_char_p),
        ("launch", c_char_p),
        ("bootstrap", POINTER(zb_bootstrap)),
        ("resume", c_char_p),
        ("weights", c_char_p),
        ("share_values", c_bool),
        ("weights_partial", c_bool),
        ("lr", c_char_p),
        ("weight_decay", c_char_p),
        ("lr_schedule", c_char_p),
        ("groups", POINTER(c_char_p)),
        ("group_count", c_int),
        ("clip_norm", c_double),
        ("non_finite", c_char_p),
        ("bad_batch", c_char_p),
        ("steps", c_int64),
        ("random_seed", c_int64),
        ("save", c_char_p),
        ("threads", c_int),
        ("seed", c_uint64),
        ("delays", c_uint64),
        ("delay_spread", c_double),
        ("barrier", c_bool),
        ("no_kernels", c_bool),
        ("reference", c_bool),
        ("tf32", c_bool),
        ("trace", c_bool),
        ("explain", c_bool),
        ("profile", c_bool),
        ("memory", c_bool),
        ("costs", c_bool),
        ("timeout_ms", c_int64),
        ("give_up", CFUNCTYPE(None, c_void_p)),
        ("input", CFUNCTYPE(c_void_p, c_void_p, c_char_p, c_int64, c_int, c_void_p, c_uint64)),
        ("input_context", c_void_p),
        ("settings", POINTER(zb_setting)),
        ("setting_count", c_int),
        ("opened", CFUNCTYPE(None, c_void_p, c_void_p)),
        ("say", CFUNCTYPE(None, c_void_p, c_char_p)),
        ("progress_context", c_void_p),
        ("check", CFUNCTYPE(c_void_p, c_void_p, c_int)),
        ("check_context", c_void_p),
    ]


class zb_step_result(Structure):
    _fields_ = [
        ("step", c_int64),
        ("loss", c_double),
        ("seconds", c_double),
        ("idle_share", c_double),
        ("tokens", c_double),
        ("micro_losses", POINTER(c_double)),
        ("micro_weights", POINTER(c_double)),
        ("micro_batches", c_int),
        ("idle_shares", POINTER(c_double)),
        ("waiting_shares", POINTER(c_double)),
        ("ranks", c_int),
        ("lr", c_double),
        ("lr_factor", c_double),
        ("scheduled", c_bool),
        ("has_norm", c_bool),
        ("norm", c_double),
        ("skipped", c_bool),
        ("refused", c_char_p),
        ("skipped_steps", c_int64),
        ("stopping", c_bool),
    ]


class zb_evaluation_result(Structure):
    _fields_ = [
        ("step", c_int64),
        ("loss", c_double),
        ("has_loss", c_bool),
        ("seconds", c_double),
        ("batches", c_int64),
        ("tokens", c_double),
        ("stopping", c_bool),
        ("loss_sum", c_double),
        ("loss_weight", c_double),
    ]


class zb_session_memory_use(Structure):
    _fields_ = [
        ("arena_bytes", c_uint64),
        ("high_water_bytes", c_uint64),
        ("most_live_bytes", c_uint64),
    ]


class zb_session_info(Structure):
    _fields_ = [
        ("model", c_char_p),
        ("schedule", c_char_p),
        ("optimizer", c_char_p),
        ("device", c_char_p),
        ("precision", c_char_p),
        ("instruction_set", c_char_p),
        ("rates", c_char_p),
        ("ranks", c_int),
        ("stages", c_int),
        ("micro_batches", c_int),
        ("threads", c_int),
        ("replicas", c_int),
        ("sharding", c_char_p),
        ("state_bytes", c_uint64),
        ("shards", c_int),
        ("process", c_int),
        ("processes", c_int),
        ("launch", c_char_p),
        ("warning", c_char_p),
        ("random_seed", c_int64),
    ]


class zb_profile_row(Structure):
    _fields_ = [
        ("category", c_char_p),
        ("help", c_char_p),
        ("seconds", c_double),
        ("share", c_double),
        ("calls", c_uint64),
        ("flops", c_double),
    ]


class zb_runtime_part(Structure):
    _fields_ = [
        ("kind", c_char_p),
        ("name", c_char_p),
        ("summary", c_char_p),
        ("path", c_char_p),
        ("found", c_char_p),
        ("missing", c_char_p),
        ("hint", c_char_p),
    ]


class zb_batch(Structure):
    _fields_ = [
        ("number", c_int64),
        ("data", POINTER(c_void_p)),
        ("rows", c_int64),
    ]


class zb_batch_share(Structure):
    _fields_ = [
        ("first", c_int64),
        ("rows", c_int64),
    ]


class zb_batches(Structure):
    _fields_ = [
        ("names", POINTER(c_char_p)),
        ("count", c_int),
        ("rows", c_int64),
        ("steps", zb_batch * 4),
        ("evaluation", zb_batch),
    ]


class zb_plan_value(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("shape", zb_shape),
    ]


class zb_plan_about(Structure):
    _fields_ = [
        ("model", c_char_p),
        ("schedule", c_char_p),
        ("placement", c_char_p),
        ("optimizer", c_char_p),
        ("precision", c_char_p),
        ("ranks", c_int),
        ("stages", c_int),
        ("micro_batches", c_int),
        ("replicas", c_int),
        ("shards", c_int),
        ("inputs", POINTER(zb_plan_value)),
        ("input_count", c_int),
        ("arguments", POINTER(c_char_p)),
        ("argument_count", c_int),
        ("outputs", POINTER(zb_plan_value)),
        ("output_count", c_int),
        ("evaluates", c_bool),
        ("inference", c_bool),
        ("random", c_bool),
    ]


class zb_compile_params(Structure):
    _fields_ = [
        ("model", c_char_p),
        ("output", c_char_p),
        ("weights", c_char_p),
        ("weights_partial", c_bool),
        ("ranks", c_int),
        ("chunks", c_int),
        ("micro_batches", c_int),
        ("schedule", c_char_p),
        ("placement", c_char_p),
        ("metric", c_char_p),
        ("split", c_char_p),
        ("recompute", c_char_p),
        ("optimizer", c_char_p),
        ("groups", POINTER(c_char_p)),
        ("group_count", c_int),
        ("clip_norm", c_char_p),
        ("clip_norm_type", c_char_p),
        ("post_validation", c_bool),
        ("data_parallel", c_int),
        ("sum_groups", c_int),
        ("sum_inner", c_bool),
        ("bucket_bytes", c_uint64),
        ("sharding", c_char_p),
        ("gather", c_char_p),
        ("sequence_parallel", c_bool),
        ("tensor_parallel", c_int),
        ("shard_pins", POINTER(c_char_p)),
        ("shard_pin_count", c_int),
        ("train", POINTER(c_char_p)),
        ("train_count", c_int),
        ("freeze", POINTER(c_char_p)),
        ("freeze_count", c_int),
        ("roles", c_char_p),
        ("startup", c_char_p),
        ("loss", c_char_p),
        ("loss_mean", c_char_p),
        ("dims", POINTER(c_char_p)),
        ("dim_count", c_int),
        ("constants", c_char_p),
        ("inference", c_bool),
        ("outputs", POINTER(c_char_p)),
        ("output_count", c_int),
        ("memory_limit", c_uint64),
        ("costs", c_char_p),
        ("cuts", c_char_p),
        ("layout", c_char_p),
        ("cut_trials", c_int),
        ("fold_limit", c_uint64),
        ("csv", c_char_p),
        ("timeline", c_char_p),
        ("precision", c_char_p),
        ("no_raise", c_bool),
        ("import_only", c_bool),
        ("dump_directory", c_char_p),
        ("pipeline", c_char_p),
        ("diagnostic", CFUNCTYPE(None, c_void_p, c_char_p)),
        ("diagnostic_context", c_void_p),
        ("progress", CFUNCTYPE(None, c_void_p, c_char_p)),
        ("progress_context", c_void_p),
    ]


class zb_stage_summary(Structure):
    _fields_ = [
        ("rank", c_int),
        ("chunk", c_int),
        ("ops", c_int),
        ("parameter_bytes", c_uint64),
        ("parameters", c_uint64),
        ("f_seconds", c_double),
        ("b_seconds", c_double),
        ("w_seconds", c_double),
        ("f_product_flops", c_double),
        ("b_product_flops", c_double),
        ("w_product_flops", c_double),
        ("fb_bytes", c_uint64),
        ("fw_bytes", c_uint64),
        ("bw_bytes", c_uint64),
        ("received_bytes", c_uint64),
        ("recomputed", c_int),
        ("gradients", c_int),
        ("gradients_in_b", c_int),
        ("first", c_char_p),
        ("last", c_char_p),
    ]


class zb_layer_summary(Structure):
    _fields_ = [
        ("path", c_char_p),
        ("first_stage", c_int),
        ("last_stage", c_int),
    ]


class zb_rank_summary(Structure):
    _fields_ = [
        ("peak_bytes", c_uint64),
        ("evaluation_bytes", c_uint64),
        ("state_bytes", c_uint64),
        ("whole_state_bytes", c_uint64),
        ("sum_bytes", c_uint64),
        ("kept_sum_bytes", c_uint64),
        ("landing_bytes", c_uint64),
        ("all_landing_bytes", c_uint64),
        ("part_bytes", c_uint64),
        ("whole_part_bytes", c_uint64),
        ("gathered_bytes", c_uint64),
        ("snapshot_bytes", c_uint64),
        ("idle_share", c_double),
        ("seconds", c_double),
    ]


class zb_whole_summary(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("why", c_char_p),
    ]


class zb_compile_summary(Structure):
    _fields_ = [
        ("ranks", c_int),
        ("stages", c_int),
        ("stage", POINTER(zb_stage_summary)),
        ("rank", POINTER(zb_rank_summary)),
        ("layer", POINTER(zb_layer_summary)),
        ("layers", c_int),
        ("step_seconds", c_double),
        ("bubble_barrier", c_double),
        ("bubble_stage", c_double),
        ("lower_bound_seconds", c_double),
        ("stage_seconds", c_double),
        ("exposed_seconds", c_double),
        ("exposed_by_schedule", c_double),
        ("exposed_at_end", c_double),
        ("rank_bound_seconds", c_double),
        ("period_seconds", c_double),
        ("bubble_period", c_double),
        ("period_cycle_ps", c_int64),
        ("period_steps", c_int),
        ("period_exact", c_bool),
        ("inference", c_bool),
        ("trained", POINTER(c_char_p)),
        ("frozen", POINTER(c_char_p)),
        ("buffers", POINTER(c_char_p)),
        ("trained_count", c_int),
        ("frozen_count", c_int),
        ("buffer_count", c_int),
        ("whole", POINTER(zb_whole_summary)),
        ("whole_count", c_int),
        ("loss_mean", c_char_p),
        ("untrained", POINTER(c_char_p)),
        ("untrained_count", c_int),
        ("unreached", POINTER(c_char_p)),
        ("unreached_count", c_int),
        ("uncompared", c_bool),
        ("later", c_int),
        ("drawn", c_int),
        ("split_seconds", c_double),
        ("split_bound_seconds", c_double),
        ("split_proven", c_bool),
        ("split_bytes", c_uint64),
        ("cuts_tried", c_int),
        ("first_cuts_seconds", c_double),
        ("placement", c_char_p),
        ("cuts", c_char_p),
        ("split", c_char_p),
        ("recompute", c_char_p),
        ("recompute_seconds", c_double),
        ("recompute_bytes", c_uint64),
        ("order", c_char_p),
        ("order_refused", c_char_p),
        ("compile_seconds", c_double),
        ("ops", c_int),
    ]


class zb_opt_params(Structure):
    _fields_ = [
        ("input", c_char_p),
        ("pipeline", c_char_p),
        ("split_input_file", c_bool),
        ("verify_diagnostics", c_bool),
        ("emit_bytecode", c_bool),
        ("allow_unregistered_dialect", c_bool),
        ("timing", c_bool),
        ("print_after_all", c_bool),
        ("no_verify", c_bool),
        ("write", CFUNCTYPE(None, c_void_p, c_char_p, c_size_t)),
        ("context", c_void_p),
    ]


class zb_pass_info(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("summary", c_char_p),
        ("options", c_char_p),
        ("requires_level", c_char_p),
        ("ensures_level", c_char_p),
    ]


# What the library says of their sizes must be the same: rows of structs.def.
STRUCTS = (zb_shape,
           zb_explanation,
           zb_stage_cost,
           zb_edge,
           zb_problem,
           zb_problem_data,
           zb_uniform_costs,
           zb_job,
           zb_order,
           zb_schedule_option,
           zb_schedule_def,
           zb_schedule_choice,
           zb_simulation,
           zb_period,
           zb_search_params,
           zb_search_report,
           zb_bootstrap,
           zb_session_params,
           zb_step_result,
           zb_evaluation_result,
           zb_session_info,
           zb_batch,
           zb_batches,
           zb_plan_value,
           zb_plan_about,
           zb_runtime_part,
           zb_compile_params,
           zb_stage_summary,
           zb_rank_summary,
           zb_layer_summary,
           zb_whole_summary,
           zb_compile_summary,)

# Name: result, arguments. A zb_status is a pointer.
FUNCTIONS: Dict[str, Any] = {
    "zb_alloc": (c_void_p, [c_size_t]),
    "zb_alloc_aligned": (c_void_p, [c_size_t, c_size_t]),
    "zb_alloc_pages": (c_void_p, [c_size_t]),
    "zb_allocation_count": (c_uint64, []),
    "zb_allocation_fail_at": (None, [c_uint64]),
    "zb_batch_share_of": (zb_batch_share, [c_int64, c_int64, c_int64]),
    "zb_batches_evaluation": (zb_status, [c_void_p, c_char_p, c_int64, c_int, c_void_p, c_uint64]),
    "zb_batches_input": (zb_status, [c_void_p, c_char_p, c_int64, c_int, c_void_p, c_uint64]),
    "zb_bootstrap_find": (zb_status, [CFUNCTYPE(c_char_p, c_void_p, c_char_p), c_void_p, POINTER(zb_bootstrap)]),
    "zb_bytes_exact_text": (c_char_p, [c_uint64, c_char_p]),
    "zb_bytes_parse": (c_bool, [c_char_p, POINTER(c_uint64)]),
    "zb_bytes_text": (c_char_p, [c_uint64, c_char_p]),
    "zb_calibrate": (zb_status, [c_char_p, c_int]),
    "zb_cause_help": (c_char_p, [c_int]),
    "zb_cause_name": (c_char_p, [c_int]),
    "zb_cause_remedy": (c_char_p, [c_int]),
    "zb_clip_norm_check": (zb_status, [c_char_p, c_char_p]),
    "zb_code_name": (c_char_p, [c_int]),
    "zb_compile": (zb_status, [POINTER(zb_compile_params), POINTER(POINTER(zb_compile_summary))]),
    "zb_compile_check": (zb_status, [POINTER(zb_compile_params)]),
    "zb_compile_summary_destroy": (None, [POINTER(zb_compile_summary)]),
    "zb_cost_is_optimizer": (c_bool, [POINTER(zb_cost_subprogram)]),
    "zb_costs_destroy": (None, [POINTER(zb_costs)]),
    "zb_costs_is": (c_bool, [c_char_p]),
    "zb_costs_op": (c_int64, [POINTER(zb_costs), c_char_p]),
    "zb_costs_parse": (zb_status, [c_char_p, c_size_t, c_char_p, POINTER(POINTER(zb_costs))]),
    "zb_costs_problem": (zb_status, [POINTER(zb_costs), c_int, POINTER(zb_problem_data)]),
    "zb_costs_product": (c_int64, [POINTER(zb_costs), c_double]),
    "zb_costs_read": (zb_status, [c_char_p, POINTER(POINTER(zb_costs))]),
    "zb_costs_subprogram": (POINTER(zb_cost_subprogram), [POINTER(zb_costs), c_char_p, c_int64, c_uint64]),
    "zb_costs_write": (zb_status, [POINTER(zb_costs), c_char_p]),
    "zb_critical_path": (zb_status, [POINTER(zb_problem), POINTER(zb_order), POINTER(zb_simulation),
                                     POINTER(zb_path)]),
    "zb_default_pipeline": (c_char_p, []),
    "zb_dtype_bytes": (c_size_t, [c_int]),
    "zb_dtype_name": (c_char_p, [c_int]),
    "zb_dtype_parse": (c_bool, [c_char_p, POINTER(c_int)]),
    "zb_dtype_safetensors": (c_char_p, [c_int]),
    "zb_explanation_deinit": (None, [POINTER(zb_explanation)]),
    "zb_explanation_json": (c_void_p, [POINTER(zb_explanation)]),
    "zb_explanation_most": (c_int, [POINTER(zb_explanation)]),
    "zb_explanation_text": (c_void_p, [POINTER(zb_explanation)]),
    "zb_free": (None, [c_void_p]),
    "zb_free_pages": (None, [c_void_p, c_size_t]),
    "zb_irdl_text": (c_char_p, []),
    "zb_job_parse": (c_bool, [c_char_p, POINTER(zb_job)]),
    "zb_job_text": (c_char_p, [zb_job, c_char_p]),
    "zb_lower_bound_period_ps": (c_int64, [POINTER(zb_problem)]),
    "zb_lower_bound_ps": (c_int64, [POINTER(zb_problem)]),
    "zb_lower_bound_stage_ps": (c_int64, [POINTER(zb_problem)]),
    "zb_lowering_deinit": (None, [POINTER(zb_lowering)]),
    "zb_metric_name": (c_char_p, [c_int]),
    "zb_metric_parse": (zb_status, [c_char_p, POINTER(c_int)]),
    "zb_name_meaning": (c_char_p, [c_char_p, c_char_p]),
    "zb_operators_page": (c_void_p, [c_bool]),
    "zb_opt": (zb_status, [POINTER(zb_opt_params)]),
    "zb_optimizer_complete": (zb_status, [c_char_p, POINTER(c_char_p)]),
    "zb_optimizer_name": (c_char_p, [c_int]),
    "zb_order_add": (zb_status, [POINTER(zb_order), c_int, c_int, c_int, c_int]),
    "zb_order_advance_w": (zb_status, [POINTER(zb_problem), POINTER(zb_order)]),
    "zb_order_chart": (c_void_p, [POINTER(zb_problem), POINTER(zb_order), POINTER(zb_simulation), c_int]),
    "zb_order_deinit": (None, [POINTER(zb_order)]),
    "zb_order_file_deinit": (None, [POINTER(zb_order_file)]),
    "zb_order_file_text": (c_void_p, [POINTER(zb_order_file)]),
    "zb_order_init": (zb_status, [POINTER(zb_order), c_int]),
    "zb_order_lower": (zb_status, [POINTER(zb_problem), POINTER(zb_order), POINTER(zb_lowering)]),
    "zb_order_peaks": (None, [POINTER(zb_problem), POINTER(zb_order), POINTER(c_int64)]),
    "zb_order_period": (zb_status, [POINTER(zb_problem), POINTER(zb_order), POINTER(zb_period)]),
    "zb_order_pictures": (zb_status, [POINTER(zb_order_picture), c_int, c_char_p]),
    "zb_order_read": (zb_status, [c_char_p, c_char_p, c_size_t, POINTER(zb_order_expected), POINTER(zb_order_file)]),
    "zb_order_read_file": (zb_status, [c_char_p, POINTER(zb_order_expected), POINTER(zb_order_file)]),
    "zb_order_timeline": (zb_status, [POINTER(zb_problem), POINTER(zb_order), POINTER(zb_simulation), c_char_p,
                                      c_char_p]),
    "zb_order_validate": (zb_status, [POINTER(zb_problem), POINTER(zb_order)]),
    "zb_order_write": (zb_status, [POINTER(zb_problem), POINTER(zb_order), POINTER(zb_order_style),
                                   POINTER(c_char_p)]),
    "zb_order_write_file": (zb_status, [POINTER(zb_problem), POINTER(zb_order), POINTER(zb_order_style), c_char_p]),
    "zb_output_check": (zb_status, [c_char_p, c_char_p, c_char_p]),
    "zb_pass_count": (c_int, []),
    "zb_pass_info_at": (zb_pass_info, [c_int]),
    "zb_path_deinit": (None, [POINTER(zb_path)]),
    "zb_path_text": (c_void_p, [POINTER(zb_problem), POINTER(zb_path), c_int]),
    "zb_placement": (zb_status, [c_char_p, c_int, c_int, POINTER(c_int)]),
    "zb_placement_at": (POINTER(zb_placement_def), [c_int]),
    "zb_placement_count": (c_int, []),
    "zb_placement_name": (c_char_p, [POINTER(zb_problem)]),
    "zb_plan_about_destroy": (None, [POINTER(zb_plan_about)]),
    "zb_plan_about_read": (zb_status, [c_char_p, POINTER(POINTER(zb_plan_about))]),
    "zb_plan_print_file": (zb_status, [c_char_p, CFUNCTYPE(None, c_void_p, c_char_p, c_size_t), c_void_p]),
    "zb_plan_print_jobs_file": (zb_status, [c_char_p, CFUNCTYPE(None, c_void_p, c_char_p, c_size_t), c_void_p]),
    "zb_plan_timeline_file": (zb_status, [c_char_p, c_char_p]),
    "zb_precision_check": (zb_status, [c_char_p]),
    "zb_precision_help": (c_char_p, [c_int]),
    "zb_precision_name": (c_char_p, [c_int]),
    "zb_problem_check": (zb_status, [POINTER(zb_problem)]),
    "zb_problem_data_channels": (zb_status, [POINTER(zb_problem_data), c_int]),
    "zb_problem_data_copy": (zb_status, [POINTER(zb_problem_data), POINTER(zb_problem)]),
    "zb_problem_data_deinit": (None, [POINTER(zb_problem_data)]),
    "zb_problem_data_edges": (zb_status, [POINTER(zb_problem_data), c_int]),
    "zb_problem_data_init": (zb_status, [POINTER(zb_problem_data), c_int, c_int, c_int]),
    "zb_problem_data_limits": (zb_status, [POINTER(zb_problem_data)]),
    "zb_problem_data_link_classes": (zb_status, [POINTER(zb_problem_data), c_int]),
    "zb_problem_data_reductions": (zb_status, [POINTER(zb_problem_data), c_int]),
    "zb_problem_json": (c_void_p, [POINTER(zb_problem)]),
    "zb_problem_limit": (zb_status, [POINTER(zb_problem_data), c_char_p, c_bool]),
    "zb_problem_parse": (zb_status, [c_char_p, c_size_t, c_char_p, POINTER(zb_problem_data)]),
    "zb_problem_read": (zb_status, [c_char_p, POINTER(zb_problem_data)]),
    "zb_problem_set_micro_batches": (zb_status, [POINTER(zb_problem_data), POINTER(zb_schedule_def), c_int]),
    "zb_problem_uniform": (zb_status, [POINTER(zb_uniform_costs), POINTER(zb_schedule_def), c_int, c_int,
                                       POINTER(c_char_p), POINTER(c_int), POINTER(zb_problem_data)]),
    "zb_problem_write": (zb_status, [POINTER(zb_problem), c_char_p]),
    "zb_rate_schedule_at": (c_bool, [c_int, POINTER(c_char_p), POINTER(c_char_p), POINTER(c_char_p)]),
    "zb_realloc": (c_void_p, [c_void_p, c_size_t]),
    "zb_runtime_device_at": (c_bool, [c_int, POINTER(c_char_p), POINTER(c_char_p)]),
    "zb_runtime_launch_at": (c_bool, [c_int, POINTER(c_char_p), POINTER(c_char_p)]),
    "zb_runtime_parts": (None, [CFUNCTYPE(None, c_void_p, POINTER(zb_runtime_part)), c_void_p]),
    "zb_schedule_aliases": (c_char_p, [c_int]),
    "zb_schedule_at": (POINTER(zb_schedule_def), [c_int]),
    "zb_schedule_count": (c_int, []),
    "zb_schedule_explain": (zb_status, [POINTER(zb_problem), POINTER(zb_order), POINTER(zb_explanation)]),
    "zb_schedule_find": (POINTER(zb_schedule_def), [c_char_p, POINTER(c_char_p)]),
    "zb_schedule_layout": (zb_status, [POINTER(zb_schedule_def), c_int, POINTER(c_char_p), POINTER(c_int)]),
    "zb_schedule_parse": (zb_status, [c_char_p, POINTER(zb_schedule_choice)]),
    "zb_schedule_run": (zb_status, [POINTER(zb_schedule_def), POINTER(zb_problem), POINTER(zb_order)]),
    "zb_schedule_run_choice": (zb_status, [POINTER(zb_schedule_choice), POINTER(zb_problem), POINTER(zb_order)]),
    "zb_search": (zb_status, [POINTER(zb_problem), POINTER(zb_search_params), POINTER(zb_order),
                              POINTER(zb_search_report)]),
    "zb_search_placement": (zb_status, [POINTER(zb_problem), POINTER(zb_search_params), POINTER(c_int),
                                        POINTER(zb_order), POINTER(zb_search_report)]),
    "zb_session_abort": (None, [c_void_p, c_char_p]),
    "zb_session_announce": (None, [c_void_p, c_int64]),
    "zb_session_arena_bytes": (c_uint64, [c_void_p, c_int]),
    "zb_session_create": (zb_status, [POINTER(zb_session_params), POINTER(c_void_p)]),
    "zb_session_describe": (zb_session_info, [c_void_p]),
    "zb_session_destroy": (None, [c_void_p]),
    "zb_session_epoch_steps": (c_int64, [c_void_p]),
    "zb_session_evaluate": (zb_status, [c_void_p, POINTER(zb_evaluation_result)]),
    "zb_session_evaluate_batch": (zb_status, [c_void_p, POINTER(zb_evaluation_result)]),
    "zb_session_evaluate_rows": (zb_status, [c_void_p, c_int64, POINTER(zb_evaluation_result)]),
    "zb_session_explain": (zb_status, [c_void_p, POINTER(zb_explanation), POINTER(zb_explanation)]),
    "zb_session_gradient_norms": (zb_status, [c_void_p, CFUNCTYPE(None, c_void_p, c_char_p, c_double), c_void_p]),
    "zb_session_interrupt": (None, [c_void_p]),
    "zb_session_memory": (zb_status, [c_void_p, c_int, POINTER(zb_session_memory_use)]),
    "zb_session_output": (zb_status, [c_void_p, c_char_p, POINTER(zb_shape), POINTER(c_void_p)]),
    "zb_session_positions": (c_size_t, [c_void_p, c_char_p, c_size_t]),
    "zb_session_profile": (zb_status, [c_void_p, CFUNCTYPE(None, c_void_p, POINTER(zb_profile_row)), c_void_p]),
    "zb_session_ranks_text": (c_char_p, [POINTER(zb_session_info), c_int, c_char_p]),
    "zb_session_save": (zb_status, [c_void_p, c_char_p]),
    "zb_session_save_check": (zb_status, [c_char_p]),
    "zb_session_step": (zb_status, [c_void_p, POINTER(zb_step_result)]),
    "zb_session_steps": (c_int64, [c_void_p]),
    "zb_session_stop": (None, [c_void_p]),
    "zb_session_tell_failure": (None, [POINTER(zb_session_params), c_void_p]),
    "zb_session_timeline": (zb_status, [c_void_p, c_char_p]),
    "zb_session_trace": (zb_status, [c_void_p, c_char_p]),
    "zb_session_values": (zb_status, [c_void_p, CFUNCTYPE(c_void_p, c_void_p, c_char_p, POINTER(zb_shape)),
                                      c_void_p]),
    "zb_session_write_costs": (zb_status, [c_void_p, c_char_p]),
    "zb_shape_bytes": (c_int64, [POINTER(zb_shape)]),
    "zb_shape_elements": (c_int64, [POINTER(zb_shape)]),
    "zb_shape_equal": (c_bool, [POINTER(zb_shape), POINTER(zb_shape)]),
    "zb_shape_text": (c_char_p, [POINTER(zb_shape), c_char_p]),
    "zb_shown": (c_void_p, [c_char_p]),
    "zb_simulate": (zb_status, [POINTER(zb_problem), POINTER(zb_order), POINTER(zb_simulation)]),
    "zb_simulation_deinit": (None, [POINTER(zb_simulation)]),
    "zb_status_code": (c_int, [c_void_p]),
    "zb_status_exit": (c_int, [c_void_p]),
    "zb_status_first": (zb_status, [POINTER(c_void_p), c_int]),
    "zb_status_free": (None, [c_void_p]),
    "zb_status_hint_text": (c_char_p, [c_void_p]),
    "zb_status_message": (c_char_p, [c_void_p]),
    "zb_status_set_told": (zb_status, [c_void_p]),
    "zb_status_text": (c_char_p, [c_void_p]),
    "zb_status_told": (c_bool, [c_void_p]),
    "zb_strdup": (c_void_p, [c_char_p]),
    "zb_struct_bytes": (c_size_t, [c_char_p]),
    "zb_time_text": (c_char_p, [c_double, c_char_p]),
    "zb_uniform_costs_parse": (zb_status, [c_char_p, POINTER(zb_uniform_costs)]),
    "zb_unknown_option": (zb_status, [POINTER(zb_program), c_int, c_int, c_char_p]),
    "zb_version": (c_char_p, []),
}

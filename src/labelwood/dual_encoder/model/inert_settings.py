"""Settings in the configurations of encoders that do not change an encoder's answers.

They are for other uses of a model in transformers, or from its older versions. They are ignored.
"""

_OF_ALL = """
_name_or_path architectures bos_token_id chunk_size_feed_forward cls_token_id directionality dtype eos_token_id
finetuning_task gradient_checkpointing id2label initializer_cutoff_factor initializer_range label2id legacy model_type
num_labels output_attentions output_hidden_states output_past prefix problem_type return_dict sep_token_id
task_specific_params tf_legacy_loss tie_encoder_decoder tie_weights_ tie_word_embeddings tokenizer_class torch_dtype
torchscript transformers_version use_bfloat16 use_cache
"""
_OF_HEADS = """
classifier_activation classifier_bias classifier_dropout classifier_dropout_prob classifier_pooling
cross_attention_hidden_size decoder_bias deterministic_flash_attn pooler_dropout pooler_fc_size pooler_hidden_act
pooler_hidden_size pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head pooler_type qa_dropout
repad_logits_with_grad seq_classif_dropout sparse_pred_ignore_index sparse_prediction summary_activation
summary_last_dropout summary_type summary_use_proj
"""
_OF_GENERATION = """
bad_words_ids begin_suppress_tokens decoder_start_token_id diversity_penalty do_sample early_stopping
encoder_no_repeat_ngram_size exponential_decay_length_penalty forced_bos_token_id forced_eos_token_id length_penalty
max_length min_length no_repeat_ngram_size num_beam_groups num_beams num_return_sequences output_scores
remove_invalid_values repetition_penalty return_dict_in_generate suppress_tokens temperature top_k top_p typical_p
"""
INERT = frozenset((_OF_ALL + _OF_HEADS + _OF_GENERATION).split())

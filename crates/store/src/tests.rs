//! The contract suite on SQLite, and tests of SQLite itself: the file and its faults.

mod contract;
mod disk;
mod file;
mod killed;
pub(crate) mod samples;

use tempfile::TempDir;

use crate::{SqliteStore, Store};

/// A store in a temporary folder.
pub(crate) struct TestStore {
    pub(crate) folder: TempDir,
}

impl TestStore {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("store.db")
    }

    pub(crate) async fn open(&self) -> SqliteStore {
        SqliteStore::open(&self.path()).await.unwrap()
    }
}

/// Runs each function of the contract suite as a test, on a new SQLite store.
macro_rules! on_sqlite {
    ($($table:ident { $($name:ident)* })*) => {
        $(mod $table {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let place = super::TestStore::new();
                    let store = place.open().await;
                    super::contract::$table::$name(&store).await;
                    super::Store::close(&store).await.unwrap();
                }
            )*
        })*
    };
}

on_sqlite! {
    chat {
        a_message_has_its_results_in_order_and_each_once
        the_oldest_results_of_an_owner_past_its_number_are_removed
    }
    conversations {
        a_conversation_is_found_as_it_was_put_and_its_id_is_given_once
        a_log_is_appended_and_read_in_order_and_deltas_of_ended_parts_are_removed
        an_entry_is_appended_once
        conversations_are_listed_by_their_latest_activity
        conversations_are_found_by_the_words_of_titles_and_messages
        a_change_leaves_the_other_fields_as_they_are
        a_removed_conversation_takes_everything_of_it_along
        members_and_links_of_a_conversation_are_found_and_end
    }
    grants {
        a_code_is_redeemed_once_and_a_refresh_token_replaced_once
        grants_end_with_their_tokens_their_time_and_past_an_owners_number
        a_token_is_renewed_unless_it_is_revoked
    }
    tool_calls {
        the_calls_of_a_session_come_newest_first_page_by_page
        the_calls_of_a_session_are_removed_with_it
        old_calls_of_an_owner_are_removed_by_number_and_by_age
    }
    session_rules {
        the_rules_of_a_session_are_of_their_owner_and_the_newest_about_the_same_holds
        the_rules_of_a_session_are_bounded_and_removed_with_it
    }
    tickets {
        a_ticket_is_bound_once_and_found_with_its_stream
        expired_tickets_and_those_past_an_owners_number_are_removed
    }
    sessions {
        a_session_is_found_as_it_was_put
        the_first_put_of_an_id_stays
        lists_show_the_newest_first_and_only_what_was_asked_for
        sessions_are_searched_by_text
        pages_of_sessions_of_one_millisecond_hold_each_once
        an_update_replaces_the_spec_and_the_name_it_is_found_by
        a_session_ends_once
        the_last_activity_is_the_newest_start_or_end
        a_name_is_unique_among_the_live_sessions_of_an_owner
        sessions_are_found_by_a_prefix_of_their_ids
        a_removed_session_takes_its_executions_and_keys_along_and_nothing_else
    }
    executions {
        an_execution_is_found_as_it_was_put_but_for_its_given_input
        the_first_put_of_an_id_stays_and_numbers_grow
        an_execution_needs_its_session
        every_filter_chooses_and_all_of_them_together
        states_follow_the_end
        pages_of_executions_of_one_millisecond_hold_each_once
        rows_that_come_while_pages_are_read_do_not_disturb_them
        a_feed_goes_on_after_the_number_it_has_seen
        a_number_is_never_given_twice
        the_first_verdict_wins_and_the_rest_moves_forwards
        an_end_of_something_unknown_is_told
        unfinished_are_those_without_an_end_or_not_closed
        a_removed_execution_takes_its_keys_along
        the_limit_of_a_page_is_bounded_at_both_ends
    }
    execution_search {
        text_is_found_in_commands_names_and_ids_whatever_its_case
        nothing_of_others_is_found
        kinds_are_told_apart
        those_that_exited_with_0_succeeded_and_all_others_that_ended_failed
        pages_of_a_search_hold_each_once_and_look_at_a_bounded_number_of_rows
        what_was_removed_is_no_longer_found
    }
    keys {
        the_second_claim_learns_what_the_first_wrote
        owners_do_not_share_keys
        of_fifty_parallel_claims_one_is_new
        old_keys_are_forgotten_and_can_be_claimed_again
        a_key_names_its_object_and_the_session_of_that
    }
    builds {
        the_first_result_of_a_build_stays
        builds_are_listed_by_session_and_go_with_it
    }
    tokens {
        a_token_is_found_by_its_hash_whatever_became_of_it
        two_tokens_of_one_hash_are_refused
        tokens_are_listed_in_the_order_they_came
        a_token_is_revoked_once
    }
    users {
        a_user_is_found_by_its_id_and_its_name
        a_name_is_given_once
        a_change_leaves_what_it_does_not_name
        a_removed_user_takes_its_sign_ins_memberships_and_tokens_along
        a_sign_in_is_found_by_its_secret_and_by_the_one_before
        of_many_that_rotate_one_secret_one_does
        old_sign_ins_are_forgotten
        a_token_tells_when_it_was_used
    }
    shares {
        a_member_is_found_and_its_role_changes
        sessions_are_found_by_their_members_and_among_some
        a_link_is_found_by_its_hash_whatever_became_of_it
        members_and_links_go_with_their_session
    }
    audit {
        audit_rows_come_newest_first_page_by_page
        audit_rows_outlive_what_they_name
        audit_rows_are_found_by_who_what_and_when
    }
    retention {
        a_removed_log_is_noted_once_and_shown_with_its_row
        rows_of_removed_logs_go_by_age_and_number_and_others_stay
        ended_sessions_without_executions_go_and_expired_tokens_do
        old_audit_rows_go_by_age_and_number_and_recent_ones_never_do
    }
    usage {
        processor_time_adds_up_by_owner_and_day
        sessions_that_have_not_ended_are_counted
    }
    service {
        a_store_answers_until_it_is_closed
        text_of_every_kind_survives
    }
}

//! One suite that every database passes: each name below is a test on each of them.

mod activities;
mod admin;
mod behind;
mod likes;
mod persist;
mod users;
mod world;

pub use world::{Kind, World, activity_of, connect, first, identity};

macro_rules! conformance {
    ($($topic:ident { $($name:ident,)+ })+) => {
        conformance! { postgres Postgres $($topic { $($name,)+ })+ }
        conformance! { sqlite Sqlite $($topic { $($name,)+ })+ }
    };
    ($database:ident $kind:ident $($topic:ident { $($name:ident,)+ })+) => {
        mod $database {
            use super::{Kind, World};
            $($(
                #[tokio::test]
                async fn $name() {
                    super::$topic::$name(&World::new(Kind::$kind).await).await;
                }
            )+)+
        }
    };
}

conformance! {
    users {
        a_subject_without_a_row_names_nobody,
        a_new_user_without_a_name_is_called_by_the_subject,
        claims_that_differ_are_taken_over_and_missing_ones_change_nothing,
        fifty_first_requests_at_once_make_one_user,
        subjects_of_255_bytes_are_kept_apart_to_the_last,
        users_are_found_by_key_and_unknown_keys_are_left_out,
    }
    activities {
        an_activity_is_kept_as_it_was_made,
        an_activity_survives_its_author,
        the_feed_is_paged_newest_first_from_both_ends,
        the_feed_is_paged_most_liked_first_and_newest_among_equals,
        what_users_like_is_paged_newest_like_first,
        only_its_author_deletes_an_activity_and_its_likes_go_along,
        an_activity_of_nobody_is_not_deleted,
        the_key_of_a_deleted_activity_is_never_used_again,
    }
    likes {
        a_look_tells_count_change_rank_and_the_earliest,
        a_look_tells_no_more_than_was_asked,
        each_of_several_viewers_gets_its_own_view,
        an_activity_without_likes_is_found_and_an_unknown_one_is_not,
        excepted_rows_are_as_if_they_did_not_exist,
        thousands_of_excepted_rows_are_left_out_in_one_query,
        checkpoints_are_told_along_with_the_rows,
        likes_of_one_microsecond_are_in_the_order_of_the_numbers_of_users,
        likers_are_paged_from_both_ends_between_cursors,
        a_cursor_works_when_its_liker_has_left_or_never_was,
    }
    persist {
        a_batch_likes_unlikes_and_moves_the_checkpoint,
        liking_again_keeps_one_row_with_the_last_date,
        unliking_what_is_not_liked_changes_only_the_date,
        a_replayed_batch_is_fenced,
        of_two_workers_at_the_same_checkpoint_exactly_one_commits,
        two_partitions_write_the_same_activities_without_a_deadlock,
        likes_of_what_is_gone_are_set_aside_and_the_rest_persists,
        what_goes_while_a_batch_is_written_is_set_aside_too,
        the_newest_change_never_falls,
        keys_above_2_to_the_53_and_times_to_the_microsecond_are_kept,
        checkpoints_are_compared_to_the_last_digit,
        a_batch_of_thousands_is_written_in_one_go,
        a_partition_without_a_checkpoint_is_named,
    }
    admin {
        a_database_without_the_schema_is_named_and_not_written_to,
        a_schema_of_another_program_is_named,
        a_different_number_of_partitions_is_named,
        of_two_numbers_of_partitions_at_once_one_wins,
        an_address_of_another_kind_is_refused_without_telling_it,
        a_drifted_count_is_told_as_it_is_and_healed,
        recounting_while_likes_are_persisted_finds_nothing,
        loaded_data_is_counted_and_dated,
        a_dropped_request_leaves_no_transaction_to_later_writes,
    }
}

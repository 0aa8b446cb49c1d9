//! One suite that every database passes: each name below is a test on each of them.

mod persist;
mod users;
mod world;

pub use world::{Kind, World, connect, first, identity};

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
    persist {
        a_batch_likes_unlikes_and_moves_the_checkpoint,
        liking_again_keeps_one_row_with_the_last_date,
        unliking_what_is_not_liked_changes_only_the_date,
        a_replayed_batch_is_fenced,
        of_two_workers_at_the_same_checkpoint_exactly_one_commits,
        two_partitions_write_the_same_activities_without_a_deadlock,
        likes_of_what_is_gone_are_set_aside_and_the_rest_persists,
        the_newest_change_never_falls,
        keys_above_2_to_the_53_and_times_to_the_microsecond_are_kept,
        checkpoints_are_compared_to_the_last_digit,
        a_batch_of_thousands_is_written_in_one_go,
        a_partition_without_a_checkpoint_is_named,
    }
}

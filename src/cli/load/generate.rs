//! Demo and benchmark data of a given size, skewed like real feeds: a few activities have most of the
//! likes, and a few users give most of them. The same seed gives the same data.

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, index};
use rand::{RngExt, SeedableRng};

use super::words::{PEOPLE, REMARKS, TITLES};
use crate::domain::{ActivityId, Identity, Liker, NewActivity, Timestamp, UserId};

/// Likes of the activity at place `n`, counted from 1, go with `1 / n^SKEW`. 0.8 is what
/// studies of social feeds find; 1 would be Zipf's law.
const SKEW: f64 = 0.8;
/// The most popular activity is liked by at most this share of all users.
const MOST: f64 = 0.9;
const MINUTE: i64 = 60_000_000;
/// Between two activities.
const INTERVAL: i64 = 7 * MINUTE;

/// How much data.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Users.
    pub users: usize,
    /// Activities.
    pub activities: usize,
    /// Likes, over all activities. As many as fit.
    pub likes: usize,
}

/// Makes data.
pub struct Generator {
    random: StdRng,
    size: Size,
    now: Timestamp,
}

impl Generator {
    pub fn new(size: Size, seed: u64, now: Timestamp) -> Self {
        Self {
            random: StdRng::seed_from_u64(seed),
            size,
            now,
        }
    }

    /// The users of these places. The first have names of note; `subject` tells which place a user has.
    pub fn users(places: std::ops::Range<usize>) -> Vec<Identity> {
        places.filter_map(identity).collect()
    }

    /// The activity at a place in the order of creation, by one of the given authors.
    pub fn activity(&mut self, place: usize, authors: &[UserId]) -> Option<NewActivity> {
        let author = *authors.choose(&mut self.random)?;
        let title = TITLES.choose(&mut self.random)?;
        let body = REMARKS.choose(&mut self.random)?;
        let jitter = self.random.random_range(0..INTERVAL);
        Some(NewActivity {
            author,
            title: (*title).to_owned(),
            body: (*body).to_owned(),
            created_at: Timestamp(self.created_at(place).0 + jitter),
        })
    }

    /// How many likes each activity gets, in no order of popularity.
    pub fn shares(&mut self) -> Vec<usize> {
        #[expect(clippy::cast_precision_loss, reason = "counts of demo data are small")]
        let weights = (1..=self.size.activities).map(|place| (place as f64).powf(-SKEW));
        let mut shares = apportioned(&weights.collect::<Vec<_>>(), self.size.likes, self.most());
        rand::seq::SliceRandom::shuffle(shares.as_mut_slice(), &mut self.random);
        shares
    }

    /// The likes of one activity: so many different users, at rising times since its creation.
    pub fn likes(
        &mut self,
        place: usize,
        activity: ActivityId,
        count: usize,
        users: &[UserId],
    ) -> Vec<(ActivityId, Liker)> {
        let likers = self.likers(count, users.len());
        let since = self.created_at(place).0 + INTERVAL;
        let span = (self.now.0 - since).max(i64::try_from(count).unwrap_or(i64::MAX) * 2 + 1);
        let mut times = BTreeSet::new();
        while times.len() < likers.len() {
            // Most likes come soon.
            let part: f64 = self.random.random::<f64>().powi(3);
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                reason = "any moment will do"
            )]
            times.insert(since + (part * span as f64) as i64);
        }
        let times = times.into_iter().map(Timestamp);
        let likers = likers.into_iter().map(|place| users[place]);
        times
            .zip(likers)
            .map(|(at, user)| (activity, Liker { at, user }))
            .collect()
    }

    /// Places of different users, those in front more often.
    fn likers(&mut self, count: usize, users: usize) -> Vec<usize> {
        // Near the end of the crowd, drawing until one is new would take for ever.
        if count > users / 3 {
            return index::sample(&mut self.random, users, count.min(users)).into_vec();
        }
        let mut seen = BTreeSet::new();
        let mut likers = Vec::with_capacity(count);
        while likers.len() < count {
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and the number of users"
            )]
            let place = (self.random.random::<f64>().powf(1.5) * users as f64) as usize;
            if place < users && seen.insert(place) {
                likers.push(place);
            }
        }
        likers
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts of demo data are small"
    )]
    fn most(&self) -> usize {
        ((self.size.users as f64 * MOST) as usize)
            .max(1)
            .min(self.size.users)
    }

    /// The last activity is a few minutes old.
    fn created_at(&self, place: usize) -> Timestamp {
        let later = i64::try_from(self.size.activities.saturating_sub(place)).unwrap_or(0);
        Timestamp(self.now.0 - (later + 1) * INTERVAL)
    }
}

/// Divides `total` by weight, none above `most`; what a full one cannot take goes to the others.
fn apportioned(weights: &[f64], total: usize, most: usize) -> Vec<usize> {
    let mut shares = vec![0; weights.len()];
    let mut left = total.min(most * weights.len());
    while left > 0 {
        let open: Vec<_> = (0..shares.len())
            .filter(|&place| shares[place] < most)
            .collect();
        let weight: f64 = open.iter().map(|&place| weights[place]).sum();
        let round = left;
        for place in open {
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a part of the total"
            )]
            let part = (round as f64 * weights[place] / weight).ceil() as usize;
            let part = part.min(most - shares[place]).min(left);
            shares[place] += part;
            left -= part;
        }
    }
    shares
}

/// None for no place in fact: subjects are short.
fn identity(place: usize) -> Option<Identity> {
    let (given, family) = (place % PEOPLE.len(), place / PEOPLE.len());
    let (given, own) = PEOPLE[given];
    // Every given name meets every family name once, beginning with its own; then numbers tell apart.
    let round = family / PEOPLE.len();
    let family = match family % PEOPLE.len() {
        0 => own,
        away => PEOPLE[(place + away) % PEOPLE.len()].1,
    };
    let name = match round {
        0 => format!("{given} {family}"),
        round => format!("{given} {family} {}", round + 1),
    };
    Some(Identity {
        subject: format!("demo-{}", place + 1).parse().ok()?,
        name: Some(name),
        picture: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size {
        users: 300,
        activities: 50,
        likes: 4000,
    };

    fn user(place: usize) -> UserId {
        UserId::new(i64::try_from(place).unwrap() + 1).unwrap()
    }

    #[test]
    fn likes_are_as_many_as_wanted_and_skewed() {
        let mut generator = Generator::new(SIZE, 1, Timestamp(1_800_000_000_000_000));
        let mut shares = generator.shares();
        assert_eq!(shares.iter().sum::<usize>(), SIZE.likes);
        shares.sort_unstable();
        assert!(shares[49] > 5 * shares[0], "{shares:?}");
        assert!(shares[49] <= 270);
    }

    #[test]
    fn names_differ_as_long_as_they_can() {
        let users = Generator::users(0..600);
        let names: BTreeSet<_> = users.iter().map(|user| user.name.clone()).collect();
        assert_eq!(names.len(), 600);
        assert_eq!(users[0].name.as_deref(), Some("Ada Lovelace"));
        assert_eq!(users[24].name.as_deref(), Some("Ada Hopper"));
        assert!(
            users[575]
                .name
                .as_deref()
                .is_some_and(|name| !name.ends_with('2'))
        );
    }

    #[test]
    fn more_likes_than_fit_are_as_many_as_fit() {
        assert_eq!(apportioned(&[1.0, 0.5], 1000, 10), [10, 10]);
        assert_eq!(apportioned(&[], 1000, 10), Vec::<usize>::new());
    }

    #[test]
    fn each_user_likes_an_activity_once_at_a_time_of_its_own() {
        let mut generator = Generator::new(SIZE, 1, Timestamp(1_800_000_000_000_000));
        let users: Vec<_> = (0..SIZE.users).map(user).collect();
        let activity = ActivityId::new(1).unwrap();
        for count in [0, 50, 270] {
            let likes = generator.likes(0, activity, count, &users);
            let users: BTreeSet<_> = likes.iter().map(|(_, liker)| liker.user).collect();
            assert_eq!(users.len(), count);
            assert!(likes.is_sorted_by(|a, b| a.1.at < b.1.at));
        }
    }
}

//! Words of the demo data.

/// Given and family names, one person each, in the order in which they become users.
pub const PEOPLE: [(&str, &str); 24] = [
    ("Ada", "Lovelace"),
    ("Grace", "Hopper"),
    ("Alan", "Turing"),
    ("Katherine", "Johnson"),
    ("Edsger", "Dijkstra"),
    ("Barbara", "Liskov"),
    ("Donald", "Knuth"),
    ("Radia", "Perlman"),
    ("Claude", "Shannon"),
    ("Margaret", "Hamilton"),
    ("Tony", "Hoare"),
    ("Frances", "Allen"),
    ("Leslie", "Lamport"),
    ("Sophie", "Wilson"),
    ("Dennis", "Ritchie"),
    ("Hedy", "Lamarr"),
    ("Niklaus", "Wirth"),
    ("Mary", "Jackson"),
    ("John", "McCarthy"),
    ("Karen", "Jones"),
    ("Ivan", "Sutherland"),
    ("Evelyn", "Berezin"),
    ("Robin", "Milner"),
    ("Adele", "Goldberg"),
];

/// What somebody did.
pub const VERBS: [&str; 12] = [
    "Hiked",
    "Cycled",
    "Baked",
    "Painted",
    "Repaired",
    "Planted",
    "Photographed",
    "Learned",
    "Visited",
    "Built",
    "Sang",
    "Swam",
];

/// What it was done to, or where.
pub const OBJECTS: [&str; 16] = [
    "the old harbour road",
    "a sourdough loaf",
    "the kitchen clock",
    "forty tulips",
    "the first snow",
    "a small radio",
    "the north ridge",
    "three new chords",
    "a bird table",
    "the city at dawn",
    "grandmother's bicycle",
    "a paper kite",
    "the night market",
    "a wooden boat",
    "the long way home",
    "the lighthouse steps",
];

/// How it went.
pub const REMARKS: [&str; 10] = [
    "It took twice as long as planned and was worth every minute.",
    "Next time with more people, please.",
    "The weather held until the very last moment.",
    "I had put this off for years, and now I wonder why.",
    "There was coffee afterwards, which helped.",
    "Nobody believed that it would work. It did.",
    "My hands hurt, my heart is light.",
    "Pictures follow as soon as I find the cable.",
    "A stranger lent me the right tool at the right time.",
    "If you are near, come and see it.",
];

//! Compares SQL's counts, SQL's rows and Redis' sets.

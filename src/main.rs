//! The program: parse, run, report.

fn main() {}

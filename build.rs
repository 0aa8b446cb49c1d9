//! Builds again when files that are embedded come or go: the compiler only notices that they change.

fn main() {
    for folder in ["web", "migrations"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}

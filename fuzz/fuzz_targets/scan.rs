//! The scanners of the HTTP binding against `serde_json`: the same comparison as the crate's own
//! property tests, led by coverage. `cargo +nightly fuzz run scan`.

#![no_main]
#![allow(dead_code, unused_imports, unreachable_pub)]

#[path = "../../src/binding/http/scan/generate.rs"]
mod generate;
#[path = "../../src/binding/http/scan/oracle.rs"]
mod oracle;
#[path = "../../src/binding/http/scan/mod.rs"]
mod scan;

use libfuzzer_sys::fuzz_target;

use self::{generate::Generator, scan::*};

// What is scanned, with which configuration, how it is cut, and then the text, or the choices that
// make one.
fuzz_target!(|data: &[u8]| {
    let [kind, config, first, second, third, text @ ..] = data else { return };
    let config = &match config % 6 {
        0 => Config::answers(),
        1 => Config::requests(),
        2 => Config::answers().structured_bytes(16 << 10),
        3 => Config::answers().members(std::sync::Arc::new(oracle::members())),
        4 => oracle::small_config(),
        _ => oracle::small_config_with_members(),
    };
    let sizes = [*first, *second, *third].map(usize::from);
    match kind % 5 {
        0 => oracle::check(text, &sizes, config),
        1 => oracle::check(&Generator::new(text).message(), &sizes, config),
        2 => oracle::check_events(text, &sizes, config),
        3 => oracle::check_events(&Generator::new(text).events(), &sizes, config),
        // A message of which one byte is another.
        _ => {
            let [at, byte, choices @ ..] = text else { return };
            let mut text = Generator::new(choices).message();
            let at = usize::from(*at) % text.len();
            if let Some(there) = text.get_mut(at) {
                *there = *byte;
            }
            oracle::check(&text, &sizes, config);
        }
    }
});

// Compares a partitioner with recorded answers on standard input; put yours in the place of `partition`.
//   cargo init runner && cd runner && cargo add serde_json krafka && cp ../runner.rs src/main.rs
//   xz -dc keys.jsonl.xz profiles/java.jsonl.xz | cargo run
use serde_json::Value;
use std::io::BufRead;

fn partition(key: &[u8], count: u64) -> u64 {
    u64::from(krafka::producer::murmur2(key) & 0x7fff_ffff) % count
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|place| u8::from_str_radix(&hex[place..place + 2], 16).unwrap()).collect()
}

fn main() {
    let mut lines = std::io::stdin().lock().lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let keys = lines.next().unwrap()["keys"].clone();
    let (mut total, mut wrong) = (0, 0);
    for line in lines {
        let count = line["count"].as_u64().unwrap();
        for (row, expected) in line["partitions"].as_array().unwrap().iter().enumerate() {
            // A key that the rule does not hash goes anywhere.
            let Some(expected) = expected.as_u64() else { continue };
            total += 1;
            let key = keys[row].as_str().unwrap();
            let found = partition(&bytes(key), count);
            if found != expected {
                wrong += 1;
                if wrong <= 3 {
                    println!("key {key}, {count} partitions: {found}, not {expected}");
                }
            }
        }
    }
    println!("{} of {total} are equal", total - wrong);
    std::process::exit(i32::from(wrong > 0));
}

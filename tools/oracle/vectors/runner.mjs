// Compares a partitioner with recorded answers on standard input; put yours in the place of `partition`.
//   xz -dc keys.jsonl.xz profiles/java.jsonl.xz | node runner.mjs [kafkajs|platformatic]
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(process.cwd() + "/");
const clients = {
  kafkajs: () => {
    const place = require("kafkajs").Partitioners.DefaultPartitioner();
    return (key, count) => {
      const partitionMetadata = Array.from({ length: count }, (_, partitionId) => ({ partitionId, leader: 1 }));
      return place({ topic: "topic", partitionMetadata, message: { key } });
    };
  },
  platformatic: () => {
    const { murmur2 } = require("@platformatic/kafka");
    return (key, count) => (murmur2(key) >>> 0) % count;
  },
};
const partition = clients[process.argv[2] ?? "kafkajs"]();

let keys, total = 0, wrong = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const read = JSON.parse(line);
  if (!keys) { keys = read.keys; continue; }
  read.partitions.forEach((expected, row) => {
    if (expected === null) return; // a key that the rule does not hash goes anywhere
    total += 1;
    const found = partition(Buffer.from(keys[row], "hex"), read.count);
    if (found !== expected && (wrong += 1) <= 3) console.log(`key ${keys[row]}, ${read.count} partitions: ${found}, not ${expected}`);
  });
}
console.log(`${total - wrong} of ${total} are equal`);
process.exitCode = wrong ? 1 : 0;

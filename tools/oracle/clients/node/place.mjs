// Where two Node clients put each key: keys on stdin (hex, or "null"), partition counts as arguments.
// @platformatic/kafka takes the remainder inside its producer, so it really produces, to the topics `keys-<count>`
// of KAFKA_BOOTSTRAP_SERVERS.
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { compatibilityPartitioner, Producer } from '@platformatic/kafka'
import kafkajs from 'kafkajs'
import legacyMurmur2 from 'kafkajs/src/producer/partitioners/legacy/murmur2.js'

const require = createRequire(import.meta.url)
const AT_ONCE = 200

const keys = readFileSync(0, 'utf8')
  .replace(/\n$/, '')
  .split('\n')
  .map(line => (line === 'null' ? null : Buffer.from(line, 'hex')))
const counts = process.argv.slice(2).map(Number)

function version (name) {
  return `${name} ${require(`./node_modules/${name}/package.json`).version}`
}

function print (answer) {
  process.stdout.write(JSON.stringify(answer) + '\n')
}

function askKafkajs (profile, call, createPartitioner) {
  const partition = createPartitioner()
  for (const count of counts) {
    const partitionMetadata = Array.from({ length: count }, (_, partitionId) => ({ partitionId, leader: 0 }))
    const partitions = keys.map(key => partition({ topic: 'topic', partitionMetadata, message: { key } }))
    print({ profile, client: version('kafkajs'), call, count, partitions })
  }
}

async function askPlatformatic (profile, call, partitioner) {
  const bootstrapBrokers = process.env.KAFKA_BOOTSTRAP_SERVERS.split(',')
  const producer = new Producer({ clientId: profile, bootstrapBrokers, partitioner })
  for (const count of counts) {
    const topic = `keys-${count}`
    const partitions = []
    for (let start = 0; start < keys.length; start += AT_ONCE) {
      const sends = keys.slice(start, start + AT_ONCE).map(key => producer.send({ messages: [{ topic, key }] }))
      partitions.push(...(await Promise.all(sends)).map(sent => sent.offsets[0].partition))
    }
    print({ profile, client: version('@platformatic/kafka'), call, count, partitions })
  }
  await producer.close()
}

print({
  hash: 'kafkajs_legacy',
  client: version('kafkajs'),
  call: "require('kafkajs/src/producer/partitioners/legacy/murmur2')",
  values: keys.map(key => (key === null ? null : legacyMurmur2(key)))
})
const { DefaultPartitioner, LegacyPartitioner } = kafkajs.Partitioners
askKafkajs('kafkajs', 'Partitioners.DefaultPartitioner', DefaultPartitioner)
askKafkajs('kafkajs-legacy', 'Partitioners.LegacyPartitioner', LegacyPartitioner)
await askPlatformatic('platformatic', 'Producer.send', undefined)
await askPlatformatic('platformatic-compatible', 'Producer.send, compatibilityPartitioner', compatibilityPartitioner)

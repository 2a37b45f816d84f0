// Really produces with two Node clients: PROFILE and SERVERS as arguments, records on stdin, a line each of topic,
// key and value (hex, or "-" for null). At a line "flush" all that was told is sent, and "done" comes back.
import { createInterface } from 'node:readline'
import { compatibilityPartitioner, Producer } from '@platformatic/kafka'
import kafkajs from 'kafkajs'

const [profile, servers] = process.argv.slice(2)
const { DefaultPartitioner, LegacyPartitioner } = kafkajs.Partitioners
const clients = {
  kafkajs: () => kafkajsClient(DefaultPartitioner),
  'kafkajs-legacy': () => kafkajsClient(LegacyPartitioner),
  platformatic: () => platformaticClient(undefined),
  'platformatic-compatible': () => platformaticClient(compatibilityPartitioner)
}

async function kafkajsClient (createPartitioner) {
  const kafka = new kafkajs.Kafka({ brokers: servers.split(','), logLevel: kafkajs.logLevel.ERROR })
  const producer = kafka.producer({ createPartitioner })
  await producer.connect()
  return {
    send (records) {
      const topicMessages = Object.entries(grouped(records))
        .map(([topic, messages]) => ({ topic, messages }))
      return producer.sendBatch({ topicMessages })
    },
    close: () => producer.disconnect()
  }
}

async function platformaticClient (partitioner) {
  const producer = new Producer({ clientId: profile, bootstrapBrokers: servers.split(','), partitioner })
  return { send: messages => producer.send({ messages }), close: () => producer.close() }
}

function grouped (records) {
  const topics = {}
  for (const each of records) (topics[each.topic] ??= []).push(each)
  return topics
}

function decoded (text) {
  return text === '-' ? null : Buffer.from(text, 'hex')
}

const client = await clients[profile]()
let records = []
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'flush') {
    await client.send(records)
    records = []
    console.log('done')
  } else {
    const [topic, key, value] = line.split(' ')
    records.push({ topic, key: decoded(key), value: decoded(value) })
  }
}
await client.close()

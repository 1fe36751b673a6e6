// kafkajs against the broker in the first argument. Prints one line per check, "ok NAME" or "FAILED NAME: REASON".
// kafkajs reads only through groups, so the fetches here go through the connection that its consumer uses.
'use strict'

const assert = require('node:assert/strict')
const { randomUUID } = require('node:crypto')
const kafkajs = require('kafkajs')

kafkajs.CompressionCodecs[kafkajs.CompressionTypes.Snappy] = require('kafkajs-snappy')

const bootstrap = process.argv[2]
const kafka = new kafkajs.Kafka({ brokers: [bootstrap], logLevel: kafkajs.logLevel.NOTHING })
const admin = kafka.admin()

const newName = () => `compat-kafkajs-${randomUUID().slice(0, 8)}`

async function newTopic(numPartitions = 1, configEntries = []) {
  const topic = newName()
  await admin.createTopics({ topics: [{ topic, numPartitions, configEntries }], waitForLeaders: true })
  return topic
}

async function write(topic, messages, { producer: options, ...sending } = {}) {
  const createPartitioner = kafkajs.Partitioners.DefaultPartitioner
  const producer = kafka.producer({ createPartitioner, ...options })
  await producer.connect()
  try {
    return await producer.send({ topic, messages, ...sending })
  } finally {
    await producer.disconnect()
  }
}

async function withCluster(use) {
  const isCreateCluster = symbol => symbol.description === 'private:Kafka:createCluster'
  const create = kafka[Object.getOwnPropertySymbols(kafka).find(isCreateCluster)]
  const cluster = create({})
  await cluster.connect()
  try {
    return await use(cluster)
  } finally {
    await cluster.disconnect()
  }
}

// One fetch of partition 0, decoded by kafkajs.
async function read(topic, { offset = 0, isolationLevel = 1, maxWaitTime = 1000 } = {}) {
  return withCluster(async cluster => {
    await cluster.addTargetTopic(topic)
    const { leader } = cluster.findTopicPartitionMetadata(topic)[0]
    const broker = await cluster.findBroker({ nodeId: leader })
    const partitions = [{ partition: 0, fetchOffset: offset, maxBytes: 1 << 20 }]
    const answer = await broker.fetch({ isolationLevel, maxWaitTime, topics: [{ topic, partitions }] })
    return answer.responses[0].partitions[0].messages
  })
}

const texts = messages => messages.map(message => message.value && message.value.toString())

async function refused(type, promise) {
  const failure = await promise.then(() => null, error => error)
  const found = failure && (failure.errors ? failure.errors[0].type : failure.type)
  assert.equal(found, type)
}

async function eventually(check) {
  const deadline = Date.now() + 20_000
  for (;;) {
    try {
      return await check()
    } catch (failure) {
      if (Date.now() > deadline) throw failure
    }
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

const { GZIP, Snappy, None } = kafkajs.CompressionTypes
const checks = {}

for (const acks of [0, 1, -1]) {
  checks[`producer writes with acks=${acks}`] = async () => {
    const topic = await newTopic()
    await write(topic, [{ value: 'a' }, { value: 'b' }], { acks })
    await eventually(async () => assert.deepEqual(texts(await read(topic)), ['a', 'b']))
  }
}

for (const [name, compression] of Object.entries({ none: None, gzip: GZIP, snappy: Snappy })) {
  checks[`producer compresses with ${name}`] = async () => {
    const topic = await newTopic()
    const values = Array.from({ length: 200 }, (_, n) => `value ${n}`)
    await write(topic, values.map(value => ({ value })), { compression })
    assert.deepEqual(texts(await read(topic)), values)
  }
}

checks['producer is idempotent'] = async () => {
  const topic = await newTopic()
  const [{ baseOffset }] = await write(topic, [{ value: 'a' }], { producer: { idempotent: true } })
  assert.equal(baseOffset, '0')
}

checks['producer keeps keys headers timestamps and nulls'] = async () => {
  const topic = await newTopic()
  const headers = { trace: 'abc' }
  await write(topic, [{ key: 'k', value: 'v', headers, timestamp: '1700000000123' }])
  await write(topic, [{ key: 'tombstone', value: null }])
  const [full] = await read(topic)
  assert.equal(`${full.key}=${full.value}`, 'k=v')
  assert.equal(full.headers.trace.toString(), 'abc')
  assert.equal(full.timestamp, '1700000000123')
  const later = await read(topic, { offset: 1 })
  assert.equal(later.at(-1).value, null)
}

checks['fetch starts at an offset'] = async () => {
  const topic = await newTopic()
  for (const value of ['a', 'b', 'c']) await write(topic, [{ value }])
  for (const isolationLevel of [0, 1]) {
    assert.deepEqual(texts(await read(topic, { offset: 1, isolationLevel })), ['b', 'c'])
  }
}

checks['fetch waits for new data'] = async () => {
  const topic = await newTopic()
  const waiting = read(topic, { maxWaitTime: 25_000 })
  await write(topic, [{ value: 'news' }])
  assert.deepEqual(texts(await waiting), ['news'])
}

checks['fetch out of range is refused'] = async () => {
  const topic = await newTopic()
  await refused('OFFSET_OUT_OF_RANGE', read(topic, { offset: 50 }))
}

checks['admin makes lists and deletes topics'] = async () => {
  const topic = await newTopic(3)
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  assert.equal(topics[0].partitions.length, 3)
  assert.ok((await admin.listTopics()).includes(topic))
  assert.equal(await admin.createTopics({ topics: [{ topic }] }), false)
  await admin.deleteTopics({ topics: [topic] })
  await eventually(async () => assert.ok(!(await admin.listTopics()).includes(topic)))
}

checks['admin is refused a bad topic'] = async () => {
  const bad = { topic: newName(), configEntries: [{ name: 'no.such.config', value: '1' }] }
  await refused('INVALID_CONFIG', admin.createTopics({ topics: [bad] }))
}

checks['admin adds partitions'] = async () => {
  const topic = await newTopic()
  await admin.createPartitions({ topicPartitions: [{ topic, count: 4 }] })
  await eventually(async () => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    assert.equal(topics[0].partitions.length, 4)
  })
}

checks['admin describes and alters configs'] = async () => {
  const topic = await newTopic()
  const type = kafkajs.ConfigResourceTypes.TOPIC
  const configEntries = [{ name: 'retention.ms', value: '4321' }]
  await admin.alterConfigs({ validateOnly: false, resources: [{ type, name: topic, configEntries }] })
  await eventually(async () => {
    const resources = [{ type, name: topic, configNames: ['retention.ms'] }]
    const { resources: found } = await admin.describeConfigs({ includeSynonyms: true, resources })
    assert.equal(found[0].configEntries[0].configValue, '4321')
  })
}

checks['admin lists offsets and deletes records'] = async () => {
  const topic = await newTopic()
  const messages = [1000, 2000, 3000].map(timestamp => ({ value: 'v', timestamp: `${timestamp}` }))
  await write(topic, messages)
  assert.deepEqual(await admin.fetchTopicOffsets(topic), [
    { partition: 0, offset: '3', high: '3', low: '0' },
  ])
  const [byTime] = await admin.fetchTopicOffsetsByTimestamp(topic, 1500)
  assert.equal(byTime.offset, '1')
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '2' }] })
  assert.equal((await admin.fetchTopicOffsets(topic))[0].low, '2')
}

checks['admin describes the cluster'] = async () => {
  const { brokers, controller, clusterId } = await admin.describeCluster()
  assert.deepEqual(brokers.map(({ host, port }) => `${host}:${port}`), [bootstrap])
  assert.equal(controller, brokers[0].nodeId)
  assert.equal(clusterId.length, 22)
}

async function main() {
  await admin.connect()
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check()
      console.log(`ok ${name}`)
    } catch (failure) {
      console.log(`FAILED ${name}: ${failure.stack.replaceAll('\n', ' | ')}`)
    }
  }
  await admin.disconnect()
}

main()

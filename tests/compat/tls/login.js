// kafkajs by TLS: login.js BOOTSTRAP TOPIC CA [CERTIFICATE KEY] writes a record and prints what it reads.
'use strict'

const { readFileSync } = require('node:fs')
const kafkajs = require('kafkajs')

const [bootstrap, topic, ca, cert, key] = process.argv.slice(2)
const ssl = { ca: [readFileSync(ca)] }
if (cert) {
  ssl.cert = readFileSync(cert)
  ssl.key = readFileSync(key)
}
const kafka = new kafkajs.Kafka({
  brokers: [bootstrap],
  ssl,
  logLevel: kafkajs.logLevel.NOTHING,
  retry: { retries: 2 },
})

async function main() {
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
  await producer.connect()
  await producer.send({ topic, messages: [{ value: 'from kafkajs' }] })
  await producer.disconnect()
  const consumer = kafka.consumer({ groupId: `login-${topic}` })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  const value = await new Promise(resolve => {
    consumer.run({ eachMessage: async ({ message }) => resolve(message.value.toString()) })
  })
  await consumer.disconnect()
  console.log(value)
}

main().catch(error => {
  console.error(String(error))
  process.exit(1)
})

// A broker for the tests of a Node project. It ends with this program, however that ends: its stdin closes then.
const { spawn } = require("node:child_process");
const readline = require("node:readline");
const { Kafka, logLevel } = require("kafkajs");

async function startBroker() {
  const options = ["serve", "--memory", "--port", "0", "--json", "--end-with-stdin", "--log-level", "error"];
  const broker = spawn("klamm", options, { stdio: ["pipe", "pipe", "inherit"] });
  for await (const line of readline.createInterface({ input: broker.stdout })) {
    return { ...JSON.parse(line), stop: () => broker.stdin.end() };
  }
  throw new Error("klamm did not start");
}

async function main() {
  const broker = await startBroker();
  const kafka = new Kafka({ brokers: [broker.address], logLevel: logLevel.ERROR });

  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic: "orders", messages: [{ value: "one" }] });
  await producer.disconnect();

  const consumer = kafka.consumer({ groupId: "readers" });
  await consumer.connect();
  await consumer.subscribe({ topics: ["orders"], fromBeginning: true });
  const value = await new Promise((resolve) =>
    consumer.run({ eachMessage: async ({ message }) => resolve(message.value.toString()) })
  );
  await consumer.disconnect();
  broker.stop();
  console.log(`read ${value} from broker ${broker.pid}`);
}

main();

// A lock of the Node client at the endpoints of argv[3...], by the name of argv[2]. Says whether it has it; then, on
// a line of its input, looks whether it still has it, and gives it back.
const readline = require('readline');
const { Etcd3, EtcdLockFailedError } = require('etcd3');

async function main(name, hosts) {
  const client = new Etcd3({ hosts });
  const lock = client.lock(name).ttl(4);
  try {
    await lock.acquire();
  } catch (error) {
    if (!(error instanceof EtcdLockFailedError)) throw error;
    console.log('taken');
    return;
  }
  console.log('locked');
  await new Promise((resolve) => readline.createInterface({ input: process.stdin }).once('line', resolve));
  const there = await client.get(name).exec();
  console.log(there.kvs.length === 1 ? 'held' : 'lost');
  await lock.release();
  console.log('released');
}

main(process.argv[2], process.argv.slice(3)).then(
  () => process.exit(0),
  (error) => { console.error(error); process.exit(1); });

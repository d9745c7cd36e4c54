// A lease of the Node client, which keeps it alive by itself, at the endpoints of argv. Says when it
// stands; on a line of its input it looks whether all is well.
const assert = require('assert');
const readline = require('readline');
const { Etcd3 } = require('etcd3');

async function main(hosts) {
  const client = new Etcd3({ hosts });
  let lost = null;
  const lease = client.lease(4);
  lease.on('lost', (error) => { lost = error; });
  await lease.put('key').value('value').exec();
  console.log('granted');
  await new Promise((resolve) => readline.createInterface({ input: process.stdin }).once('line', resolve));
  assert.strictEqual(lost, null);
  assert.strictEqual(await client.get('key').string(), 'value');
  await lease.revoke();
  assert.strictEqual(await client.get('key').string(), null);
  client.close();
}

main(process.argv.slice(2)).then(
  () => { console.log('all is well'); process.exit(0); },
  (error) => { console.error(error); process.exit(1); });

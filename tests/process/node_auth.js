// The Node client, unmodified, in the name of alice, against the server at argv[2].
const assert = require('assert');
const { Etcd3 } = require('etcd3');

async function main(endpoint) {
  const client = new Etcd3({ hosts: endpoint, auth: { username: 'alice', password: 'of alice' } });
  try {
    await client.put('a/node').value('one');
    assert.strictEqual(await client.get('a/node').string(), 'one');
    await assert.rejects(client.put('b').value('x').exec(), /permission denied/);
    await assert.rejects(client.get('b').string(), /permission denied/);
    const watcher = await client.watch().key('a/node').create();
    const seen = new Promise((resolve) => watcher.on('put', (kv) => resolve(kv.value.toString())));
    await client.put('a/node').value('two');
    assert.strictEqual(await seen, 'two');
    await watcher.cancel();
  } finally {
    client.close();
  }
  console.log('as expected');
}

main(process.argv[2]).catch((error) => {
  console.error(error);
  process.exit(1);
});

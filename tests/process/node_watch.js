// The Node client's watch of the prefix "w/" from the revision argv[2] on, at the endpoints that follow. Prints each
// event's key and ends with w/last.
const { Etcd3 } = require('etcd3');

async function main(revision, endpoints) {
  const client = new Etcd3({ hosts: endpoints });
  const watcher = await client.watch().prefix('w/').startRevision(revision).create();
  await new Promise((resolve) => {
    watcher.on('put', (kv) => {
      console.log(kv.key.toString());
      if (kv.key.toString() === 'w/last') resolve();
    });
  });
  await watcher.cancel();
  client.close();
}

main(process.argv[2], process.argv.slice(3)).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
